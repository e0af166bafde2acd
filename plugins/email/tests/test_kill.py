"""Random kills of the program and of the daemon lose nothing and double nothing without a mark."""

import asyncio
import random
import unittest
from collections import Counter

from world import PEOPLE, PEOPLE_DAEMON, EmailTest, Program, mail, until

QUESTIONS = 40
KILLS = 10


class KillTest(EmailTest):
    config = PEOPLE_DAEMON
    settings = "max_answers_per_hour = 1000"

    async def test_ten_random_kills_lose_nothing_and_double_nothing_unmarked(self) -> None:
        seed = random.randrange(2**32)
        print(f"seed {seed}", flush=True)
        chance = random.Random(seed)
        for number in range(KILLS):
            for question in range(number, QUESTIONS, KILLS):
                sender = PEOPLE[question % len(PEOPLE)]
                self.imap.deliver(mail("count to 1", sender=sender, Message_ID=f"<{question}@x.org>"))
            # The random moment of the kill, not a wait for something.
            await asyncio.sleep(chance.uniform(0, 0.7))
            if chance.random() < 0.5:
                assert self.program is not None
                self.program.kill()
                self.program = Program(self.place)
            else:
                await self.restart()
        await until(self.all_answered)
        answers = Counter[str]()
        for sent in self.smtp.mails:
            if sent.text == "1.":
                answers[str(sent.message["In-Reply-To"])] += 1
        doubled = {name: count for name, count in answers.items() if count > 1}
        self.assertEqual(doubled, {}, f"seed {seed}")
        # Two kills may hit the same answer. The daemon then reports it instead of a third copy.
        reasons = {letter["reason"] for letter in await self.client.failed_messages()}
        self.assertLessEqual(reasons, {"unconfirmed"}, f"seed {seed}")

    async def all_answered(self) -> bool | None:
        found = {str(sent.message["In-Reply-To"]) for sent in self.smtp.mails}
        return len(found) == QUESTIONS or None


if __name__ == "__main__":
    unittest.main()
