"""The mail channel against OpenSMTPD and Dovecot."""

import asyncio
import email
import email.policy
import json
import random
import unittest
from email.message import EmailMessage

from real import assert_no_faults, true, use

PLUGIN = use("email")

from support import DaemonTest, child_table, until  # noqa: E402
from world import (  # noqa: E402
    ANN,
    AUTHORITY,
    BOT,
    PASSWORD,
    PEOPLE,
    Program,
    mail,
    sends,
)

from mail_server import MailServers  # noqa: E402


class MailTest(DaemonTest):
    """A test with the daemon, both servers and the channel."""

    config = f'[channels.external.email]\nowners = ["{ANN}"]\nallow = {json.dumps(PEOPLE)}\n'
    settings = "max_answers_per_hour = 1000\n"
    imap_settings = ""

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.servers = MailServers(BOT, PASSWORD)
        self.addAsyncCleanup(self.servers.remove)
        await self.servers.start()
        self.place = self.home.path / "email.toml"
        self.place.write_text(
            f'address = "{BOT}"\nname = "Avocet"\nsocket = "{self.home.socket}"\n{self.settings}'
            '[authentication]\nauthserv_id = "mx.example.net"\n'
            f'[imap]\nhost = "localhost"\nport = {self.servers.imaps}\nca_file = "{AUTHORITY}"\n'
            f'password_env = "PASSWORD"\n{self.imap_settings}\n'
            f'[smtp]\nhost = "localhost"\nport = {self.servers.smtp}\n'
            'security = "plain"\nlogin = false\n'
        )
        self.program: Program | None = None
        self.log: list[str] = []
        self.addCleanup(self.end_program)

    def end_program(self) -> None:
        if self.program is not None:
            self.program.kill()
            self.log += self.program.log

    async def asyncTearDown(self) -> None:
        self.end_program()
        assert_no_faults([*self.log, *self.home.log])

    async def begin(self) -> None:
        """Start the channel and wait until it reads mail."""
        self.program = Program(self.place)
        await self.program.logs("reading INBOX")

    async def answers(self, count: int, address: str = ANN) -> list[str]:
        """Wait for this number of mails in a mailbox, and return their texts."""
        found = await true(
            lambda: len(mails := self.servers.mails(address)) >= count and mails, f"{count} mails"
        )
        return [mail.text for mail in found]


class ConversationTest(MailTest):
    async def test_servers_carry_a_thread_with_idle_and_flags(self) -> None:
        await self.begin()
        assert self.program is not None
        await self.program.logs("(IDLE)")
        await self.servers.send(ANN, mail("count to 3", Message_ID="<1@x.org>"))
        self.assertEqual(await self.answers(1), ["1, 2, 3."])
        [answer] = self.servers.mails(ANN)
        self.assertEqual(answer.message["In-Reply-To"], "<1@x.org>")
        reply = mail(
            "count to 2",
            Message_ID="<2@x.org>",
            In_Reply_To=str(answer.message["Message-ID"]),
            References=f"<1@x.org> {answer.message['Message-ID']}",
        )
        await self.servers.send(ANN, reply)
        self.assertEqual(await self.answers(2), ["1, 2, 3.", "1, 2."])
        sessions = {row["session"] for row in await self.client.sessions()}
        self.assertEqual(len(sessions), 1, sessions)
        await true(
            lambda: all("\\Seen" in flags for _, flags in self.servers.inbox()), "both are seen"
        )

    async def test_servers_carry_long_texts_and_lines_with_dots(self) -> None:
        await self.begin()
        lines = [f"{number} Größe 🦩 " * 20 for number in range(40)]
        text = "\n\n".join([".", "..", "From here", *lines, "."])
        await self.client.send(f"external:email:{ANN}", text)
        [answer] = await self.answers(1)
        self.assertEqual(answer.split(), text.split())

    async def test_files_pass_both_servers_in_both_directions(self) -> None:
        await self.begin()
        content = random.Random(1).randbytes(300_000)
        raw = mail("count to 1", Message_ID="<1@x.org>")
        message = email.message_from_bytes(raw, policy=email.policy.SMTP)
        assert isinstance(message, EmailMessage)
        message.add_attachment(
            content, maintype="application", subtype="x-data", filename="data.bin"
        )
        await self.servers.send(ANN, message.as_bytes())
        await self.answers(1)
        workspace = self.home.path / ".local/state/avocet/workspace"
        [saved] = [
            path for path in workspace.rglob("*") if path.is_file() and path.read_bytes() == content
        ]
        await self.servers.send(ANN, mail(sends([str(saved.relative_to(workspace))])))
        await true(
            lambda: any(list(each.message.iter_attachments()) for each in self.servers.mails(ANN)),
            "a mail with a file",
        )
        [file] = [
            part for each in self.servers.mails(ANN) for part in each.message.iter_attachments()
        ]
        self.assertEqual(file.get_content(), content)

    async def test_new_uidvalidity_of_dovecot_answers_nothing_twice(self) -> None:
        await self.begin()
        await self.servers.send(ANN, mail("count to 1", Message_ID="<1@x.org>"))
        await self.answers(1)
        # Without a receipt, the daemon sends the answer again.
        await until(self.nothing_pending)
        self.end_program()
        await self.servers.dovecot.end()
        self.servers.renumber()
        await self.servers.send(ANN, mail("count to 2", Message_ID="<2@x.org>"))
        await self.servers.dovecot.start(self.servers.imaps)
        await self.begin()
        assert self.program is not None
        await self.program.logs("UIDVALIDITY of the folder has changed")
        self.assertEqual(await self.answers(2), ["1.", "1, 2."])
        await self.servers.send(ANN, mail("count to 3", Message_ID="<3@x.org>"))
        self.assertEqual(await self.answers(3), ["1.", "1, 2.", "1, 2, 3."])


class MoveTest(MailTest):
    imap_settings = 'move_to = "Answered"'

    async def test_dovecot_moves_mail_that_was_taken(self) -> None:
        await self.begin()
        await self.servers.send(ANN, mail("count to 1", Message_ID="<1@x.org>"))
        await self.answers(1)
        box = self.servers.root / "mail/bot/Maildir"
        await true(lambda: [*box.glob(".Answered/cur/*")], "the mail is moved")
        self.assertEqual([*box.glob("new/*"), *box.glob("cur/*")], [])


class ChildTest(MailTest):
    async def test_child_in_its_sandbox_serves_both_servers(self) -> None:
        # A sandbox has no address for the name, and the certificate has no address.
        text = self.place.read_text().replace('"localhost"', '"127.0.0.1"')
        text = text.replace(f"port = {self.servers.imaps}", f"port = {self.servers.imap}")
        self.place.write_text(text.replace(f'ca_file = "{AUTHORITY}"', 'security = "plain"'))
        command = ["-m", "avocet_email", str(self.place)]
        ports = [self.servers.imap, self.servers.smtp]
        table = child_table(
            "email", command, plugin=PLUGIN, ports=ports, read=[self.place], PASSWORD=PASSWORD
        )
        await asyncio.to_thread(self.home.restart_with, f'{table}owners = ["{ANN}"]\n')
        await self.child_reads()
        await self.servers.send(ANN, mail("count to 3"))
        self.assertEqual(await self.answers(1), ["1, 2, 3."])

    async def child_reads(self) -> None:
        try:
            await true(lambda: any("reading INBOX" in line for line in self.home.log), "reading")
        except AssertionError:
            raise AssertionError("the child does not read:\n" + "".join(self.home.log)) from None


if __name__ == "__main__":
    unittest.main()
