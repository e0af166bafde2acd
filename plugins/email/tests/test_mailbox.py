"""Files and threads that are read again from the mailbox."""

import dataclasses
import unittest
from email.message import EmailMessage

from world import ANN, FakeImap, crlf, imap_config, mail, settings

from avocet_email.addresses import Chat
from avocet_email.mailbox import Mailbox, file_reference


class MailboxTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.fake = FakeImap()
        await self.fake.start()
        self.addAsyncCleanup(self.fake.stop)
        self.addCleanup(lambda: self.assertEqual(self.fake.bad, []))

    def mailbox(self) -> Mailbox:
        """Return a mailbox that has nothing in memory, as after a start."""
        imap = dataclasses.replace(imap_config(self.fake), move_to="Done")
        return Mailbox(settings(imap=imap, chats="correspondent"))

    async def test_file_is_found_before_and_after_its_mail_has_moved(self) -> None:
        message = EmailMessage()
        message["Message-ID"] = "<1@x.org>"
        message.add_attachment(b"0123456789", maintype="a", subtype="b", filename="f")
        done = self.fake.folders["Done"] = type(self.fake.inbox)()
        self.fake.deliver(mail("another"))
        stored = self.fake.deliver(crlf(message))
        reference = file_reference(7, stored.uid, "<1@x.org>", 0)
        self.assertEqual(await self.mailbox().read_file(reference, 2, 3), b"234")
        self.fake.inbox.mails.remove(stored)
        done.add(stored.raw)
        for validity in (7, 8):
            self.fake.inbox.validity = validity
            mailbox = self.mailbox()
            self.assertEqual(await mailbox.read_file(reference, 0, 99), b"0123456789")
            self.assertEqual(await mailbox.read_file(reference, 10, 99), b"")
        gone = [
            file_reference(7, stored.uid, "<1@x.org>", 1),
            file_reference(7, 99, "", 0),
            "x",
            "{}",
            "[1]",
        ]
        for name in gone:
            with self.assertRaises(FileNotFoundError):
                await self.mailbox().read_file(name, 0, 9)

    async def test_thread_is_the_newest_proven_mail_of_the_correspondent(self) -> None:
        done = self.fake.folders["Done"] = type(self.fake.inbox)()
        chat = Chat(ANN, "")
        self.assertIsNone(await self.mailbox().thread(chat))
        for number in (1, 2):
            done.add(mail("x", Message_ID=f"<{number}@x.org>", subject="Old"))
        done.add(mail("x", sender="bob@example.org", Message_ID="<3@x.org>"))
        done.add(mail("x", Message_ID="<4@x.org>", Authentication_Results="evil.org; dmarc=pass"))
        thread = await self.mailbox().thread(chat)
        assert thread is not None
        self.assertEqual((thread.message_id, thread.subject), ("<2@x.org>", "Old"))


if __name__ == "__main__":
    unittest.main()
