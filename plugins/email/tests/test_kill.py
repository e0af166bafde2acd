"""Random kills of the program and of the daemon lose nothing and double nothing without a mark."""

import asyncio
import os
import random
import unittest
from collections import Counter, defaultdict

from world import PEOPLE, PEOPLE_DAEMON, EmailTest, Program, mail, until

QUESTIONS = 40
KILLS = 10
REPEATED = "(This message may have reached you before.)"


class KillTest(EmailTest):
    config = PEOPLE_DAEMON
    settings = "max_answers_per_hour = 1000"

    async def test_ten_random_kills_lose_nothing_and_double_nothing_unmarked(self) -> None:
        seed = int(os.environ.get("AVOCET_SEED", random.randrange(10**6)))
        print(f"seed of the kills: AVOCET_SEED={seed}", flush=True)
        chance = random.Random(seed)
        for number in range(KILLS):
            for question in range(number, QUESTIONS, KILLS):
                sender = PEOPLE[question % len(PEOPLE)]
                self.ask(question, sender)
            # The random moment of the kill, not a wait for something.
            await asyncio.sleep(chance.uniform(0, 0.7))
            if chance.random() < 0.5:
                assert self.program is not None
                self.program.kill()
                self.program = Program(self.place)
            else:
                await self.restart()
        # The server takes one of the answers and loses another one, without a result for either.
        # This is here because the daemon repeats an answer of unknown outcome after 15 seconds.
        self.smtp.script.extend([("taken", ""), ("end", "")])
        for number, sender in enumerate(PEOPLE):
            self.ask(QUESTIONS + number, sender)
        await until(self.all_answered)
        plain, ids = Counter[str](), defaultdict[str, set[str]](set)
        for sent in self.smtp.mails:
            if sent.text in ("1.", f"{REPEATED}\n\n1."):
                question = str(sent.message["In-Reply-To"])
                plain[question] += sent.text == "1."
                ids[question].add(str(sent.message["Message-ID"]))
        self.assertEqual([name for name, count in plain.items() if count > 1], [], f"seed {seed}")
        self.assertEqual([names for names in ids.values() if len(names) > 1], [], f"seed {seed}")
        self.assertTrue(any(REPEATED in sent.text for sent in self.smtp.mails), f"seed {seed}")
        # Several kills may hit the same answer or turn. The daemon then gives up, and the person
        # gets a mail that says so.
        reasons = {letter["reason"] for letter in await self.client.failed_messages()}
        self.assertLessEqual(reasons, {"unconfirmed", "dropped"}, f"seed {seed}")

    def ask(self, question: int, sender: str) -> None:
        raw = mail("count to 1", sender=sender, Message_ID=f"<{question}@x.org>")
        self.imap.deliver(raw)

    async def all_answered(self) -> bool | None:
        found = {str(sent.message["In-Reply-To"]) for sent in self.smtp.mails}
        return len(found) == QUESTIONS + len(PEOPLE) or None


if __name__ == "__main__":
    unittest.main()
