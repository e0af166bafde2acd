"""The fake homeserver for the contract of all channels. Ann writes in a room with the bot."""

import asyncio
import sys
from pathlib import Path
from urllib.parse import urlsplit

from harness import ANN, BOT, PLUGIN, TOKEN, FakeHomeserver
from homeserver import Fault

from contract_server import serve
from support import child_table


async def main() -> None:
    """Serve the platform."""
    async with FakeHomeserver() as server:
        room = await server.create(ANN, BOT)
        port = urlsplit(server.url).port
        assert port is not None
        settings = Path(sys.argv[1]) / "matrix.toml"
        settings.write_text(f'homeserver = "{server.url}"\n')
        table = child_table(
            "matrix",
            ["-m", "avocet_matrix", "--config", str(settings)],
            plugin=PLUGIN,
            ports=[port],
            read=[settings],
            AVOCET_MATRIX_TOKEN=TOKEN,
        )

        async def say(text: str) -> None:
            await server.say(room, ANN, text)

        async def again() -> None:
            events = [event for _, event in server.rooms[room].events]
            await server.add(room, next(e for e in reversed(events) if e["sender"] == ANN))

        def typings() -> int:
            return sum("/typing/" in one for one in server.requests)

        async def ready() -> None:
            # The second request shows that the first position is stored.
            await server.wait(lambda: sum("/sync" in one for one in server.requests) >= 2)

        await serve(
            f'{table}owners = ["{ANN}"]\n',
            say=say,
            told=lambda: server.texts(room),
            ready=ready,
            again=again,
            lose=lambda: server.faults.append(Fault("/send/m.room.message/", "lose")),
            typings=typings,
        )


asyncio.run(main())
