"""Random kills of the program, of the daemon, and of the connection to the server."""

import asyncio
import os
import random
import signal
import unittest
from typing import Any

from fake_server import PATIENCE_SECONDS
from irc_support import IrcTest

MARK = "(sent again; it may have arrived before)"
KILLS = 10


def is_answer(text: str, number: int) -> bool:
    """Return `True` for the answer to `remember the number NUMBER`, which comes at once."""
    return text.startswith("remembered ") and text.endswith(f": the number {number}")


def is_notice(text: str, number: int) -> bool:
    """Return `True` for the notice that the answer may not have arrived."""
    return f": the number {number}”" in text


class KillTest(IrcTest):
    async def test_ten_random_kills_lose_nothing_and_double_nothing_unmarked(self) -> None:
        seed = int(os.environ.get("AVOCET_SEED", random.randrange(10**6)))
        print(f"seed of the kills: AVOCET_SEED={seed}")
        chance = random.Random(seed)
        # Frequent PINGs, so that lines also come while all chats wait.
        self.program_under_test = await self.started(ping_seconds=0.1)
        chats = {"ann": ("ann", "avocet"), "bob": ("bob", "avocet"), "#room": ("cat", "#room")}
        # The first answer in the channel arrives, and its confirmation does not.
        self.server.on_message = lambda said: self.server.cut() if said.target == "#room" else None
        self.ask(chats, asked := 1)
        await self.server.until(lambda: self.server.texts("#room"), "the first answer")
        self.server.on_message = None
        for _ in range(KILLS):
            self.ask(chats, asked := asked + 1)
            lines = len(self.server.lines) + chance.randrange(1, 20)
            await self.server.until(
                lambda lines=lines: len(self.server.lines) >= lines, "some lines"
            )
            while_away = chance.random() < 0.5
            asked += while_away
            await self.kill(
                chance.choice(["program", "daemon", "connection"]),
                chats,
                asked if while_away else 0,
            )
        await self.wait_for_all(chats, asked)
        # The answer to a last question shows that no earlier answer is still on its way.
        self.ask(chats, asked + 1)
        await self.wait_for_all(chats, asked + 1)
        # Later kills may hit the second copy of the first answer, and the notice that then names it.
        room = self.server.texts("#room")
        failed = [one["text"] for one in await self.client.failed_messages(limit=500)]
        is_named = any(is_notice(text, 1) for text in room + failed)
        self.assertTrue(MARK in room or is_named, f"{seed}: {room}; failed: {failed}")
        for chat in chats:
            texts = self.server.texts(chat)
            for number in range(1, asked + 2):
                places = [place for place, text in enumerate(texts) if is_answer(text, number)]
                unmarked = [place for place in places if place == 0 or texts[place - 1] != MARK]
                self.assertLessEqual(len(unmarked), 1, f"seed {seed}: {chat}: {texts}")

    def ask(self, chats: dict[str, tuple[str, str]], number: int) -> None:
        for nick, target in chats.values():
            prefix = "avocet: " if target.startswith("#") else ""
            self.server.say(nick, target, f"{prefix}remember the number {number}")

    async def wait_for_all(self, chats: dict[str, Any], asked: int) -> None:
        """Wait until each answer arrived, or a notice says that it may not have arrived.

        The daemon sends a text of unknown outcome at most twice, and two kills may hit both. Two more
        may hit the notice. It is then a failed message, which `avocet dead list` shows.
        """
        missing: list[tuple[str, int]] = []
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while missing := await self.missing(chats, asked):
                    # The program sends a PING each 0.1 s.
                    lines = len(self.server.lines)
                    await self.server.until(lambda lines=lines: len(self.server.lines) > lines)
        except TimeoutError:
            texts = {chat: self.server.texts(chat) for chat in chats}
            raise AssertionError(f"missing: {missing}; received: {texts}") from None

    async def missing(self, chats: dict[str, Any], asked: int) -> list[tuple[str, int]]:
        """Return the chats and numbers without an answer and without a notice."""
        failed = await self.client.failed_messages(limit=500)

        def is_told(chat: str, number: int) -> bool:
            arrived = self.server.texts(chat)
            notices = [one["text"] for one in failed if one["chat"].endswith(f":{chat}")]
            return any(is_answer(text, number) for text in arrived) or any(
                is_notice(text, number) for text in arrived + notices
            )

        numbers = range(1, asked + 1)
        return [(chat, one) for chat in chats for one in numbers if not is_told(chat, one)]

    async def kill(self, part: str, chats: dict[str, tuple[str, str]], number: int) -> None:
        """Kill a part, ask a question if there is a number, and start the part again."""
        if part == "program":
            await self.program_under_test.end(signal.SIGKILL)
        elif part == "daemon":
            await asyncio.to_thread(self.home.kill)
        else:
            self.server.cut()
        if number:
            self.ask(chats, number)
        if part == "program":
            await self.program_under_test.start()
        elif part == "daemon":
            await asyncio.to_thread(self.home.start)


if __name__ == "__main__":
    unittest.main()
