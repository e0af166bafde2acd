"""Kills of the mail channel, the daemon, Dovecot and OpenSMTPD, while people ask."""

import asyncio
import unittest

from real import KILLS, Judge, Seen, after, all_answered, question, seeded, use

use("email")

from test_email import MailTest  # noqa: E402
from world import PEOPLE, PEOPLE_DAEMON, Program, mail  # noqa: E402

REPEATED = "(This message may have reached you before.)"


class KillTest(MailTest):
    config = PEOPLE_DAEMON
    settings = 'max_answers_per_hour = 10000\nchats = "correspondent"\n'

    async def test_kills_lose_nothing_and_double_nothing_unmarked(self) -> None:
        chance = seeded()
        self.judge = Judge()
        await self.begin()
        asking = [asyncio.create_task(self.ask_all(person)) for person in PEOPLE]
        kills = {"program": 20, "daemon": 20, "dovecot": 5, "smtpd": 5}
        order = [kind for kind, count in kills.items() for _ in range(count)]
        chance.shuffle(order)
        # Each kind once, then at random.
        order = [*kills, *order]
        for number in range(KILLS):
            await after(lambda: len(self.servers.smtpd.log), chance, 60)
            await self.kill(order[number % len(order)])
        self.is_asking = False
        await asyncio.gather(*asking)
        await all_answered(self.client, self.judge, self.look)
        # A last question for each person: nothing of before is still on its way.
        for person in PEOPLE:
            await self.ask(person)
        await all_answered(self.client, self.judge, self.look)
        # The order is that of the mailbox, because OpenSMTPD delivers side by side.
        inbox = [text for text, _ in await asyncio.to_thread(self.servers.inbox)]
        order_of = {text: place for place, text in reversed([*enumerate(inbox)])}
        for chat in self.judge.chats.values():
            chat.asked.sort(key=lambda number: order_of[question(number)])
        print(f"Dovecot and OpenSMTPD: {KILLS} kills, {self.judge.summary()}", flush=True)
        self.assertEqual(self.judge.faults(), [])

    is_asking = True

    async def ask_all(self, person: str) -> None:
        """Ask as long as the kills go on, with a few open questions."""
        while self.is_asking:
            await self.look()
            if len(self.judge.chat(person).open) < 4:
                await self.ask(person)
            await asyncio.sleep(0.2)

    async def ask(self, person: str) -> None:
        number = self.judge.next()
        raw = mail(question(number), sender=person, Message_ID=f"<{number}@x.org>")
        await self.servers.send(person, raw)
        self.judge.chat(person).asked.append(number)

    async def look(self) -> None:
        """Read the mailboxes of the people. A copy that OpenSMTPD made itself counts once."""
        for person in PEOPLE:
            mails = {mail.queue_id: mail.text for mail in self.servers.mails(person)}
            self.judge.chat(person).seen = [
                Seen(text.removeprefix(REPEATED).strip(), text.startswith(REPEATED))
                for text in mails.values()
            ]

    async def kill(self, part: str) -> None:
        """Kill a part, and start it again."""
        assert self.program is not None
        if part == "program":
            await asyncio.to_thread(self.end_program)
            self.program = Program(self.place)
        elif part == "daemon":
            await self.restart()
        elif part == "dovecot":
            await self.servers.dovecot.end()
            await self.servers.dovecot.start(self.servers.imaps)
        else:
            await self.servers.smtpd.end()
            await self.servers.smtpd.start(self.servers.smtp)


if __name__ == "__main__":
    unittest.main()
