"""The program `avocet-template`."""

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Coroutine
from typing import Any

from avocet_client import AvocetError, Client

from .channel import deliver, receive
from .platform import Platform


async def serve(arguments: argparse.Namespace) -> None:
    """Serve the account until the daemon or a signal ends the program."""
    client = Client(arguments.socket, retry_seconds=float("inf"))
    platform = Platform(arguments.host, arguments.port)
    # This platform shows text only, so the daemon turns buttons and files into lines.
    channel = client.channel(arguments.account, max_text=2000, capabilities=[])
    this = asyncio.current_task()
    assert this is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, this.cancel)
    try:
        async with channel:
            await run_all(receive(platform, channel), deliver(platform, channel))
    except asyncio.CancelledError:
        logging.info("stopped by a signal")
    finally:
        await client.close()


async def run_all(*works: Coroutine[Any, Any, None]) -> None:
    """Run the parts of the program until the first one ends, and raise its error.

    A part that nothing waits for would fail in silence, and the program would go on without it.
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def main() -> int:
    """Run the program and return its status."""
    parser = argparse.ArgumentParser(prog="avocet-template", description="Be a channel of Avocet.")
    parser.add_argument("--host", default="127.0.0.1", help="the host of the chat server")
    parser.add_argument("--port", type=int, default=7000, help="its port")
    parser.add_argument("--socket", help="the socket of the daemon, if it does not start the program")
    parser.add_argument("--account", help="the account, if the daemon does not start the program")
    logging.basicConfig(level="INFO", stream=sys.stderr, format="%(levelname)s %(message)s")
    try:
        asyncio.run(serve(parser.parse_args()))
    except AvocetError as error:
        logging.error("the daemon refuses the program: %s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
