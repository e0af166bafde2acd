"""The channel with a fake platform and the real daemon, in both ways to run it."""

import asyncio
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent), str(ROOT / "clients/python/tests")]

from fake_platform import FakePlatform  # noqa: E402
from support import PYTHON, SOURCES, Home, soon, until  # noqa: E402

PACKAGE = HERE.parent
RUN = [PYTHON, "-m", "avocet_template"]
PATHS = f"{PACKAGE}:{SOURCES}"


class ChannelTest(unittest.IsolatedAsyncioTestCase):
    """The tests of both ways; the class itself runs none."""

    def keys(self) -> str:
        """Return the keys of the account's table."""
        raise NotImplementedError

    async def begin(self) -> None:
        """Start the program, unless the daemon does."""

    async def asyncSetUp(self) -> None:
        if type(self) is ChannelTest:
            self.skipTest("its subclasses are the tests")
        self.platform = FakePlatform()
        self.port = await self.platform.start()
        self.addCleanup(self.platform.close)
        self.home = Home(self.keys())
        self.addCleanup(self.home.remove)
        await asyncio.to_thread(self.home.start)
        await self.begin()

    async def answers(self, number: int) -> list[str]:
        async def enough() -> list[str] | None:
            found = [answer["text"] for answer in self.platform.answers]
            return found if len(found) >= number else None

        return await until(enough)

    async def test_messages_are_answered_once_and_in_order(self) -> None:
        for number in (1, 2, 3):
            self.platform.write("ann", f"count to {number}")
        self.assertEqual(await self.answers(3), ["1.", "1, 2.", "1, 2, 3."])
        self.platform.write("eve", "count to 1", chat="eve")
        # The owner, who writes in another chat, gets a card at the same time.
        told = " ".join((await self.answers(5))[3:])
        self.assertIn("I have asked my owner", told)
        self.assertIn("wants to speak with me", told)

    async def test_a_restart_of_the_daemon_loses_and_repeats_nothing(self) -> None:
        self.platform.write("ann", "count to 1")
        await self.answers(1)
        await asyncio.to_thread(self.home.kill)
        self.platform.write("ann", "count to 2")
        await asyncio.to_thread(self.home.start)
        self.platform.write("ann", "count to 3")

        async def last() -> bool | None:
            return self.platform.answers[-1]["text"].endswith("1, 2, 3.") or None

        await until(last)
        # The kill may have come between the first answer and its confirmation.
        texts = [answer["text"] for answer in self.platform.answers]
        once = [text for text in texts if not text.startswith("(sent again) 1.")]
        self.assertEqual(once, ["1.", "1, 2.", "1, 2, 3."])


class ChildTest(ChannelTest):
    def keys(self) -> str:
        return f"""
            [channels.chat]
            owners = ["ann"]
            command = {[*RUN, "--port", str(self.port)]}
            env = {{ PYTHONPATH = "{PATHS}", PYTHONDONTWRITEBYTECODE = "1" }}
            read = ["{PACKAGE}", "{SOURCES}"]
            hosts = ["127.0.0.1:{self.port}"]
        """

    async def test_an_answer_without_confirmation_is_repeated_with_a_mark(self) -> None:
        self.platform.unconfirmed = 1
        self.platform.write("ann", "count to 1")
        self.assertEqual(await self.answers(2), ["1.", "(sent again) 1."])

    async def test_the_end_of_the_daemon_ends_the_program(self) -> None:
        self.platform.write("ann", "count to 1")
        await self.answers(1)
        await soon(asyncio.to_thread(self.home.stop))
        self.assertFalse([line for line in self.home.log if "still runs" in line])


class SocketTest(ChannelTest):
    def keys(self) -> str:
        return '[channels.external.chat]\nowners = ["ann"]\n'

    async def begin(self) -> None:
        command = [*RUN, "--port", str(self.port), "--account", "chat"]
        program = subprocess.Popen(
            [*command, "--socket", str(self.home.socket)],
            env={"PYTHONPATH": PATHS, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        self.addCleanup(program.wait)
        self.addCleanup(program.terminate)


if __name__ == "__main__":
    unittest.main()
