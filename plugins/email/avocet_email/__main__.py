"""The command `avocet-email`."""

import argparse
import asyncio
import signal
import sys

from avocet_client import AvocetError, Client

from . import __version__, log, smtp
from .config import Config, ConfigError, load
from .delivery import Deliverer
from .headers import raw_values
from .imap import ImapError
from .intake import Intake
from .log import log as lines
from .mail import Skip, parse
from .mailbox import Mailbox
from .trust import parse_results

# Characters of the longest mail. The daemon accepts no more.
MAX_TEXT = 100_000
DRAIN_SECONDS = 20.0


def main() -> int:
    """Run the program and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="avocet-email", description="Connect a mailbox to the Avocet daemon"
    )
    parser.add_argument("config", help="the configuration file")
    parser.add_argument(
        "--check", action="store_true", help="log in to both mail servers, print the result and end"
    )
    parser.add_argument("--version", action="version", version=__version__)
    arguments = parser.parse_args()
    try:
        config = load(arguments.config)
    except ConfigError as error:
        print(f"avocet-email: {error}", file=sys.stderr)
        return 2
    log.start(config.log)
    return asyncio.run(check(config) if arguments.check else run(config))


async def run(config: Config) -> int:
    """Serve the account until a signal arrives."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if config.authentication.mode == "none":
        lines.warning('authentication.mode is "none": every sender is believed, also forged ones')
    stopping = asyncio.create_task(stop.wait())
    serving = asyncio.create_task(serve(config, stop))
    await asyncio.wait({stopping, serving}, return_when=asyncio.FIRST_COMPLETED)
    if not serving.done() and not await ended(serving):
        serving.cancel()
        await asyncio.wait({serving})
    stopping.cancel()
    try:
        await serving
    except AvocetError as error:
        lines.error("the daemon has refused the program: %s", error)
        return 1
    except asyncio.CancelledError:
        pass
    lines.info("ended")
    return 0


async def ended(serving: "asyncio.Task[None]") -> bool:
    """Wait for the orderly end. Return `False` if it takes too long."""
    done, _ = await asyncio.wait({serving}, timeout=DRAIN_SECONDS + 2)
    return bool(done)


async def serve(config: Config, stop: asyncio.Event) -> None:
    """Connect to the daemon and serve the account. This is the only place that knows the daemon."""
    lines.info("connecting to the daemon; waiting until it runs")
    mailbox = Mailbox(config)
    client = Client(
        config.socket or None,
        client=config.client or None,
        token=config.token or None,
        retry_seconds=float("inf"),
    )
    channel = client.channel(config.account, max_text=MAX_TEXT, read_file=mailbox.read_file)
    intake, deliverer = Intake(config, channel, mailbox), Deliverer(config, channel, mailbox)
    stopping = asyncio.create_task(stop.wait())
    opening = asyncio.create_task(channel.open())
    receiving = delivering = None
    try:
        await asyncio.wait({opening, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not opening.done():
            return
        await opening
        lines.info("serving external:%s as %s", config.account, config.address)
        receiving = asyncio.create_task(intake.run())
        delivering = asyncio.create_task(deliverer.run())
        waits = {receiving, delivering, stopping}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for work in (receiving, delivering):
            if work.done():
                await work
    finally:
        # First the intake ends, then the deliveries that have begun, then the connection.
        opening.cancel()
        stopping.cancel()
        if receiving is not None:
            receiving.cancel()
            await asyncio.wait({receiving})
        await deliverer.drain(DRAIN_SECONDS)
        await channel.close()
        if delivering is not None:
            await asyncio.wait({delivering})
        await client.close()


async def check(config: Config) -> int:
    """Log in to both servers, and print what the newest mail says about its sender."""
    status = 0
    try:
        async with await Mailbox(config).connect() as imap:
            await imap.select(config.imap.folder)
            idle = "IDLE" if "IDLE" in imap.capabilities else "no IDLE, so the program polls"
            print(f"IMAP: ok ({config.imap.host}:{config.imap.port}, {config.imap.folder}, {idle})")
            found = await imap.search("ALL")
            values = await imap.fetch(found[-1], "UID", "BODY.PEEK[HEADER]") if found else None
        print(servers(bytes((values or {}).get("BODY[HEADER]", b""))))
    except (ImapError, Skip) as error:
        print(f"IMAP: {error}")
        status = 1
    try:
        (await asyncio.to_thread(smtp.connect, config.smtp)).close()
        print(f"SMTP: ok ({config.smtp.host}:{config.smtp.port})")
    except OSError as error:
        print(f"SMTP: {log.shown(error, 400)}")
        status = 1
    return status


def servers(header: bytes) -> str:
    """Return the servers whose results are in a mail."""
    values = raw_values(parse(header), "Authentication-Results")
    names = [log.shown(parse_results(value)[0]) for value in values]
    found = ", ".join(names) or "none"
    return f"Authentication-Results in the newest mail, from the top: {found}"


if __name__ == "__main__":
    sys.exit(main())
