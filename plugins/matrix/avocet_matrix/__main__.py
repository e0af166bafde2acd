"""The program: `python3 -m avocet_matrix --config FILE`."""

import argparse
import asyncio
import contextlib
import logging
import signal
import sys
from pathlib import Path

from avocet_client import AvocetError, Client

from .files import Files
from .homeserver import Homeserver, MatrixError, path
from .http import HttpClient
from .login import LoginError, log_in, remedy
from .receive import PositionError, Receiver
from .rooms import MAX_NAME, Rooms
from .send import Own, Sender
from .settings import Settings, SettingsError, load, secret
from .text import plain, valid

log = logging.getLogger("avocet_matrix")

CLIENT_VARIABLE = "AVOCET_CLIENT_TOKEN"
# The time that running deliveries have after SIGTERM.
FINISH_SECONDS = 10.0
# A channel that starts before its daemon waits for this time.
DAEMON_SECONDS = 60.0


class Ended(Exception):
    """The program cannot continue."""


async def serve(
    settings: Settings, from_now: bool, stop: asyncio.Event, began: asyncio.Event
) -> None:
    """Serve the account until `stop` is set. Set `began` once `stop` has an effect."""
    server = Homeserver(HttpClient(settings.homeserver))
    token = secret(CLIENT_VARIABLE, settings.client_token_file)
    client = Client(
        settings.socket, client=settings.client, token=token, retry_seconds=DAEMON_SECONDS
    )
    try:
        user = await log_in(server, settings)
        await check_rights(client)
        await run_channel(settings, server, client, user, from_now, stop, began)
    except MatrixError as error:
        if error.ends_access:
            raise Ended(
                f"the homeserver does not accept the access token: {error}; {remedy(settings)}"
            ) from error
        raise Ended(f"the homeserver refuses a request that the channel needs: {error}") from error
    finally:
        await client.close()


async def check_rights(client: Client) -> None:
    """End with an error if the program may not publish: each message would be refused."""
    rights = await client.rights()
    methods = rights["methods"]
    if (
        rights["role"] not in ("channel", "operator")
        or methods is not None
        and "publish" not in methods
    ):
        raise Ended(
            f"the daemon does not let this program publish: its role is {rights['role']!r}; "
            'set role = "channel" in its table [gateway.clients.NAME]'
        )


async def run_channel(
    settings: Settings,
    server: Homeserver,
    client: Client,
    user: str,
    from_now: bool,
    stop: asyncio.Event,
    began: asyncio.Event,
) -> None:
    """Receive and send until `stop` is set, or until one of both fails."""
    rooms, own, failed = Rooms(server), Own(), asyncio.get_running_loop().create_future()

    def fail(error: Exception) -> None:
        if not failed.done():
            failed.set_exception(error)

    sender = Sender(server, rooms, own, user, fail)
    files = Files(server, settings.max_file_megabytes * 1024 * 1024)
    channel = client.channel(
        settings.account, max_text=settings.max_text, on_typing=sender.typing, read_file=files.read
    )
    name = await display_name(server, user)
    receiver = Receiver(settings, server, channel, rooms, own, sender, user, name)
    try:
        await channel.open()
        began.set()
        log.info(
            "serving external:%s as %s (%s)", settings.account, user, name or "no display name"
        )
        tasks = [
            asyncio.create_task(sender.run(channel)),
            asyncio.create_task(receiver.run(from_now)),
            asyncio.create_task(stop.wait()),
        ]
        await asyncio.wait([*tasks, failed], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await sender.finish(0 if failed.done() else FINISH_SECONDS)
        await receiver.stop()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        errors = [failed.exception()] if failed.done() else []
        errors += [result for result in results if isinstance(result, Exception)]
        if errors and errors[0] is not None:
            raise errors[0]
    finally:
        failed.cancel()
        files.close()
        await channel.close()


async def display_name(server: Homeserver, user: str) -> str | None:
    """Return the agent's name, which people write to mention it."""
    try:
        found = await server.until_answered(
            lambda: server.once("GET", path("profile", user, "displayname")),
            "read the display name",
        )
    except MatrixError as error:
        if error.ends_access:
            raise
        return None
    name = found.get("displayname")
    return plain(valid(name), MAX_NAME) or None if isinstance(name, str) else None


async def main() -> int:
    """Run the program and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="avocet-matrix", description="Serve a Matrix account as a channel of Avocet."
    )
    parser.add_argument(
        "--config", type=Path, required=True, help="read the settings from this file"
    )
    parser.add_argument("--from-now", action="store_true", help="skip the messages up to now")
    parser.add_argument("--verbose", action="store_true", help="log details")
    options = parser.parse_args()
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if options.verbose else logging.INFO,
        format="%(levelname)s %(message)s",
    )
    # The loop's own log has no news for people.
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    stop, began = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        serving = asyncio.create_task(serve(load(options.config), options.from_now, stop, began))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
        if stop.is_set():
            # Before the channel serves, it has nothing to finish.
            if began.is_set():
                await asyncio.wait([serving], timeout=FINISH_SECONDS + 5)
            serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving
    except (SettingsError, LoginError, PositionError, Ended, AvocetError) as error:
        log.error("%s", error)
        return 1
    log.info("stopped")
    return 0


def run() -> None:
    """Entry point of the installed command."""
    sys.exit(asyncio.run(main()))


if __name__ == "__main__":
    run()
