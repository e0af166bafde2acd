"""The program `avocet-irc`."""

import asyncio
import logging
import signal
import sys

from avocet_client import AvocetError, Client

from .bridge import Bridge
from .errors import Refused
from .settings import Settings, SettingsError, from_command_line

# The status of a program with wrong settings (sysexits.h); a service manager need not restart it.
EX_CONFIG = 78

log = logging.getLogger("avocet_irc")


class PlainFormatter(logging.Formatter):
    """Keeps each record on one line, without control characters that other people have sent."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line of a record, without the text of an exception."""
        text = super().formatMessage(record)
        return "".join(char if char.isprintable() else "?" for char in text)


async def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT."""
    # The only place that knows the way to the daemon.
    client = Client(
        settings.socket or None,
        client=settings.client or None,
        token=settings.token or None,
        # The bridge itself retries without a limit, and logs each attempt.
        retry_seconds=2,
    )
    bridge = Bridge(client, settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, bridge.stop)
    try:
        await bridge.run()
    finally:
        await client.close()


def main() -> int:
    """Run the program and return its status."""
    try:
        settings, is_check = from_command_line()
    except SettingsError as error:
        print(f"avocet-irc: {error}", file=sys.stderr)
        return EX_CONFIG
    if is_check:
        print("The settings are usable.")
        return 0
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=settings.log.upper(), handlers=[handler])
    try:
        asyncio.run(serve(settings))
    except Refused as error:
        log.error("%s: %s", settings.server, error)
        return EX_CONFIG
    except AvocetError as error:
        log.error("the daemon refuses this program: %s; check the tables in its config.toml", error)
        return EX_CONFIG
    return 0


if __name__ == "__main__":
    sys.exit(main())
