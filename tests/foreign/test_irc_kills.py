"""Kills of the IRC channel, the daemon, the connection and ngircd, while people ask.

IRC servers keep no messages. The judge counts the questions that were sent to the channel. It
excuses a question only if the channel was killed before the commit of the daemon. The end of a
connection excuses none: the wire lets the channel read all that was sent to it.
"""

import asyncio
import contextlib
import signal
import unittest

from real import KILLS, Judge, Seen, after, all_answered, committed, question, seeded, true
from test_irc import NICK, IrcTest

MARK = "(sent again; it may have arrived before)"


class KillTest(IrcTest):
    def arguments(self) -> list[str]:
        return [*super().arguments(), "--burst=50", "--seconds-per-line=0"]

    async def test_kills_lose_nothing_and_double_nothing_unmarked(self) -> None:
        chance = seeded()
        self.judge = Judge()
        # All questions in the order of the wire.
        self.order: list[int] = []
        self.chats = {
            **{nick: (self.people[nick], NICK, "") for nick in self.people},
            "#room": (self.people["ann"], "#room", "avocet: "),
            "#den": (self.people["bob"], "#den", "avocet: "),
        }
        self.wire.on_line = self.passed
        for name, (person, _, _) in self.chats.items():
            self.judge.chat(name)
            person.on_message = None
        for nick, person in self.people.items():
            person.on_message = lambda target, text, nick=nick: self.got(nick, target, text)
        await self.program.start()
        await self.in_rooms()
        asking = asyncio.create_task(self.ask_all())
        kills = {"program": 15, "daemon": 15, "cut": 12, "oper": 4, "server": 4}
        order = [kind for kind, count in kills.items() for _ in range(count)]
        chance.shuffle(order)
        # Each kind once, then at random.
        order = [*kills, *order]
        for number in range(KILLS):
            await after(lambda: self.wire.lines, chance, 60)
            await self.kill(order[number % len(order)])
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
        await all_answered(self.client, self.judge)
        # A last question for each chat: nothing of before is still on its way.
        asked = {name: len(self.judge.chat(name).asked) for name in self.chats}
        for name in self.chats:
            self.ask(name)
        await true(
            lambda: all(len(self.judge.chat(name).asked) > count for name, count in asked.items()),
            "the last questions",
        )
        await all_answered(self.client, self.judge)
        print(f"ngircd: {KILLS} kills, {self.judge.summary()}", flush=True)
        self.assertEqual(self.judge.faults(), [])

    def passed(self, line: str) -> None:
        """Note a question that the channel's side of the wire has got."""
        _, is_message, text = line.partition(" :")
        target = line.split(" ")[2] if line.count(" ") > 2 else ""
        if " PRIVMSG " in line and is_message and "remember the number" in text:
            nick = line[1:].partition("!")[0]
            chat = self.judge.chat(target if target.startswith("#") else nick)
            chat.asked.append(int(text.split()[-1]))
            self.order.append(chat.asked[-1])

    def got(self, nick: str, target: str, text: str) -> None:
        """Note a text of the agent. The first person of a room reports it."""
        name = target if target.startswith("#") else nick
        if self.chats[name][0] is not self.people[nick]:
            return
        seen = self.judge.chat(name).seen
        is_marked = bool(seen) and seen[-1].text == MARK
        seen.append(Seen(text, is_marked))

    def ask(self, name: str) -> None:
        person, target, prefix = self.chats[name]
        person.say(target, prefix + question(self.judge.next()))

    async def ask_all(self) -> None:
        """Ask in all chats, with a few open questions in each."""
        while True:
            for name in self.chats:
                if len(self.judge.chat(name).open) < 3 and self.is_asking:
                    with contextlib.suppress(OSError):
                        self.ask(name)
            await asyncio.sleep(0.05)

    is_asking = True

    async def kill(self, part: str) -> None:
        """Kill a part, and start it again."""
        if part == "program":
            await self.program.end(signal.SIGKILL)
            self.wire.cut()
            await self.excuse()
            await self.program.start()
        elif part == "daemon":
            await asyncio.to_thread(self.home.kill)
            await asyncio.to_thread(self.home.start)
        elif part == "cut":
            self.wire.cut()
        elif part == "oper":
            self.people["cat"].write("OPER boss secret")
            self.people["cat"].write(f"KILL {NICK} :enough")
        else:
            await self.restart_server()

    async def excuse(self) -> None:
        """Excuse the questions that died with the channel: those behind the last committed one.

        The channel publishes one after the other, so that one before a committed one is lost.
        """
        known = await committed(self.client)
        last = max((place for place, each in enumerate(self.order, 1) if each in known), default=0)
        for chat in self.judge.chats.values():
            chat.excused |= set(chat.open) & set(self.order[last:])

    async def restart_server(self) -> None:
        """Kill the server. The people return before the channel, since rooms keep nothing."""
        self.wire.close()
        await true(
            lambda: all(NICK not in person.here["#room"] for person in self.people.values()),
            "the agent has left",
        )
        self.is_asking = False
        for person in self.people.values():
            await person.settled()
            await person.end()
        await self.server.server.end()
        await self.server.start()
        for person in self.people.values():
            await person.start()
        self.is_asking = True
        self.wire.open()


if __name__ == "__main__":
    unittest.main()
