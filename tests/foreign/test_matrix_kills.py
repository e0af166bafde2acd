"""Kills of the Matrix channel, the daemon and Synapse, while people ask."""

import asyncio
import signal
import unittest

from real import KILLS, Judge, Seen, after, all_answered, question, seeded
from test_matrix import PEOPLE, MatrixTest

MARK = "(sent again; it may have arrived before)"


class KillTest(MatrixTest):
    async def test_kills_lose_nothing_and_double_nothing_unmarked(self) -> None:
        chance = seeded()
        self.judge = Judge()
        await self.begin()
        self.rooms = {name: await self.room(name) for name in PEOPLE}
        self.rooms["group"] = await self.room("ann", "bob")
        asking = [asyncio.create_task(self.ask_all(name)) for name in self.rooms]
        kills = {"program": 22, "daemon": 22, "both": 3, "synapse": 3}
        order = [kind for kind, count in kills.items() for _ in range(count)]
        chance.shuffle(order)
        # Each kind once, then at random.
        order = [*kills, *order]
        for number in range(KILLS):
            await after(lambda: len(self.server.server.log), chance, 60)
            await self.kill(order[number % len(order)])
        self.is_asking = False
        await asyncio.gather(*asking)
        await all_answered(self.client, self.judge, self.look_at_all)
        # A last question for each room: nothing of before is still on its way.
        for name in self.rooms:
            await self.ask(name)
        await all_answered(self.client, self.judge, self.look_at_all)
        print(f"Synapse: {KILLS} kills, {self.judge.summary()}", flush=True)
        self.assertEqual(self.judge.faults(), [])

    is_asking = True

    async def ask_all(self, name: str) -> None:
        """Ask as long as the kills go on, with a few open questions."""
        while self.is_asking:
            await self.look(name)
            if len(self.judge.chat(name).open) < 4:
                await self.ask(name)
            await asyncio.sleep(0.2)

    async def ask(self, name: str) -> None:
        person = self.people.get(name, self.bob)
        text = question(self.judge.next())
        more = {"m.mentions": {"user_ids": [self.bot.id]}} if name == "group" else {}
        await person.say(self.rooms[name], text, **more)

    async def look(self, name: str) -> None:
        """Read a room. The homeserver has the order of the questions."""
        person, chat = self.people.get(name, self.bob), self.judge.chat(name)
        events = await person.read(self.rooms[name])
        chat.asked = [
            int(each["content"]["body"].split()[-1])
            for each in events
            if each["sender"] == person.id
        ]
        texts = [each["content"]["body"] for each in events if each["sender"] == self.bot.id]
        chat.seen = [Seen(text.removeprefix(MARK).strip(), text.startswith(MARK)) for text in texts]

    async def look_at_all(self) -> None:
        for name in self.rooms:
            await self.look(name)

    async def kill(self, part: str) -> None:
        """Kill a part, and start it again."""
        if part == "synapse":
            await self.server.server.end()
            await self.server.start()
        if part in ("daemon", "both"):
            await asyncio.to_thread(self.home.kill)
        if part in ("program", "both"):
            await self.program.end(signal.SIGKILL)
        if part in ("daemon", "both"):
            await asyncio.to_thread(self.home.start)
        if part in ("program", "both"):
            await self.program.start()


if __name__ == "__main__":
    unittest.main()
