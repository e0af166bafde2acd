"""The program as a child of the daemon, in its sandbox."""

import asyncio
import unittest
from urllib.parse import urlsplit

from harness import ANN, BOT, PLUGIN, READY, TOKEN, MatrixTest, until
from support import child_table


class ChildTest(MatrixTest):
    async def test_child_reaches_its_homeserver_through_the_sandbox(self) -> None:
        room = await self.server.create(ANN, BOT)
        port = urlsplit(self.server.url).port
        assert port is not None
        table = child_table(
            "matrix",
            ["-m", "avocet_matrix", "--config", str(self.program.config)],
            plugin=PLUGIN,
            ports=[port],
            read=[self.program.config],
            AVOCET_MATRIX_TOKEN=TOKEN,
        )
        await asyncio.to_thread(self.home.restart_with, f'{table}owners = ["{ANN}"]\n')

        async def serves() -> bool | None:
            return any(READY in line for line in self.home.log) or None

        await until(serves)
        await self.server.wait(lambda: sum("/sync" in one for one in self.server.requests) >= 2)
        await self.server.say(room, ANN, "count to 3")
        [reply] = await self.server.replies(room)
        self.assertEqual(reply["body"], "1, 2, 3.")
        await asyncio.to_thread(self.home.stop)
        self.assertNotIn("still runs", "".join(self.home.log))


if __name__ == "__main__":
    unittest.main()
