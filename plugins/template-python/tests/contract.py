"""The fake platform for the contract of all channels."""

import asyncio
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "clients/python/tests")]

from contract_server import serve  # noqa: E402
from fake_platform import FakePlatform  # noqa: E402
from support import child_table, until  # noqa: E402


async def main() -> None:
    """Serve the platform."""
    platform = FakePlatform()
    port = await platform.start()
    command = ["-m", "avocet_template", "--port", str(port)]
    table = child_table("chat", command, plugin=HERE.parent, ports=[port])

    async def say(text: str) -> None:
        platform.write("ann", text)

    async def again() -> None:
        platform.write_again()

    def lose() -> None:
        platform.unconfirmed = 1

    async def ready() -> None:
        async def is_connected() -> bool | None:
            return platform.is_connected() or None

        await until(is_connected)

    await serve(
        f'{table}owners = ["ann"]\n',
        say=say,
        told=lambda: [answer["text"] for answer in platform.answers],
        ready=ready,
        again=again,
        lose=lose,
    )


asyncio.run(main())
