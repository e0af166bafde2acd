"""The program as a child of the daemon, in its sandbox."""

import asyncio
import unittest

from irc_support import PLUGIN, IrcTest
from support import child_table


class ChildTest(IrcTest):
    async def test_child_reaches_its_server_through_the_sandbox(self) -> None:
        command = ["-m", "avocet_irc", *self.program().arguments]
        table = child_table("irc", command, plugin=PLUGIN, ports=[self.server.port])
        await asyncio.to_thread(self.home.restart_with, f'{table}owners = ["ann"]\n')
        await self.in_room()
        self.server.say("ann", "avocet", "count to 3")
        await self.says("ann", "1, 2, 3.")
        await asyncio.to_thread(self.home.stop)
        log = "".join(self.home.log)
        self.assertIn("joined #room", log)
        self.assertNotIn("still runs", log)


if __name__ == "__main__":
    unittest.main()
