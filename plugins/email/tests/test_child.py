"""The program as a child of the daemon, in its sandbox."""

import asyncio
import unittest

from world import ANN, PASSWORD, PLUGIN, EmailTest, child_table, mail


class ChildTest(EmailTest):
    starts = False

    async def test_child_reaches_both_servers_through_the_sandbox(self) -> None:
        # A sandbox has no address for the name.
        self.place.write_text(self.place.read_text().replace('"localhost"', '"127.0.0.1"'))
        table = child_table(
            "email",
            ["-m", "avocet_email", str(self.place)],
            plugin=PLUGIN,
            ports=[self.imap.port, self.smtp.port],
            read=[self.place],
            PASSWORD=PASSWORD,
        )
        await asyncio.to_thread(self.home.restart_with, f'{table}owners = ["{ANN}"]\n')
        while not any("reading INBOX" in line for line in self.home.log):
            await asyncio.sleep(0.05)
        self.imap.deliver(mail("count to 3"))
        (answer,) = await self.mails(1)
        self.assertEqual(answer.text, "1, 2, 3.")
        await asyncio.to_thread(self.home.stop)
        self.assertNotIn("still runs", "".join(self.home.log))


if __name__ == "__main__":
    unittest.main()
