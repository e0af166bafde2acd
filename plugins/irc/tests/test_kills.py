"""Random kills of the program, of the daemon, and of the connection to the server."""

import asyncio
import os
import random
import signal
import unittest
from typing import Any

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
        await self.server.until(
            lambda: self.has_all(chats, asked), f"all answers to {asked} questions"
        )
        # The answer to a last question shows that no earlier answer is still on its way.
        self.ask(chats, asked + 1)
        await self.server.until(lambda: self.has_all(chats, asked + 1), "the last answers")
        # A later kill may hit the second copy of the first answer. A notice then names it.
        room = self.server.texts("#room")
        self.assertTrue(MARK in room or any(is_notice(text, 1) for text in room), f"{seed}: {room}")
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

    def has_all(self, chats: dict[str, Any], asked: int) -> bool:
        """Return `True` if each answer arrived, or a notice says that it may not have arrived.

        The daemon sends a text of unknown outcome at most twice, and two kills may hit both.
        """

        def has(texts: list[str], number: int) -> bool:
            return any(is_answer(text, number) or is_notice(text, number) for text in texts)

        texts = [self.server.texts(chat) for chat in chats]
        return all(has(each, number) for each in texts for number in range(1, asked + 1))

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
