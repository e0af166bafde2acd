"""The SMTP client against the strict server, and the mails that it sends."""

import asyncio
import unittest
from typing import Any

from world import ANN, BOT, FakeSmtp, settings, smtp_config, tls

from avocet_email import smtp
from avocet_email.addresses import Chat
from avocet_email.compose import Answer, SentFile, Thread, compose, html_of, plain_body

CHAT = Chat(ANN, "0123456789abcdef")
MAIL = b"From: a@b.c\r\nTo: a@b.c\r\nDate: x\r\nMessage-ID: <x@y>\r\nSubject: x\r\n\r\n.\r\n..x\r\n"


def answer(text: str = "Hello", **more: Any) -> Answer:
    values: dict[str, Any] = {"styles": [], "choices": [], "is_repeat": False, "files": []}
    return Answer(nonce="n1", text=text, **(values | more))


class SmtpTest(unittest.IsolatedAsyncioTestCase):
    async def fake(self, security: str = "plain") -> FakeSmtp:
        fake = FakeSmtp(security, None if security == "plain" else tls())
        await fake.start()
        self.addAsyncCleanup(fake.stop)
        self.addCleanup(lambda: self.assertEqual(fake.faults, []))
        return fake

    async def send(self, fake: FakeSmtp, mail: bytes = MAIL, **more: Any) -> str:
        return await asyncio.to_thread(smtp.send, smtp_config(fake, **more), BOT, ANN, mail)

    async def test_send_delivers_the_mail_as_it_is_with_each_encryption(self) -> None:
        for security in ("tls", "starttls", "plain"):
            fake = await self.fake(security)
            self.assertEqual(await self.send(fake), "250 queued")
            self.assertEqual(fake.mails[0].raw, MAIL, security)

    async def test_send_refuses_a_server_without_the_encryption(self) -> None:
        for security in ("tls", "starttls"):
            fake = await self.fake(security)
            with self.assertRaisesRegex(smtp.NotSent, "certificate verify failed"):
                await self.send(fake, ca_file="")
        plain = await self.fake()
        with self.assertRaisesRegex(smtp.NotSent, "STARTTLS"):
            await self.send(plain, security="starttls")
        self.assertEqual(plain.mails, [])

    async def test_send_reports_what_is_known_of_the_outcome(self) -> None:
        table: list[tuple[str, str, type[Exception]]] = [
            ("EHLO", "", smtp.NotSent),
            ("AUTH", "535 wrong", smtp.NotSent),
            ("MAIL", "550 not you", smtp.NotSent),
            ("MAIL", "", smtp.NotSent),
            ("RCPT", "450 later", smtp.NotSent),
            ("RCPT", "550 unknown", smtp.Refused),
            ("DATA", "", smtp.NotSent),
            ("DATA", "554 no", smtp.Refused),
            ("end", "451 later", smtp.NotSent),
            ("end", "552 too large", smtp.Refused),
            ("end", "garbage", smtp.Unknown),
            ("end", "", smtp.Unknown),
            ("taken", "", smtp.Unknown),
        ]
        for step, reply, expected in table:
            fake = await self.fake()
            fake.script.append((step, reply))
            with self.subTest(step=step, reply=reply), self.assertRaises(expected):
                await self.send(fake)
        fake = await self.fake()
        fake.size = 10
        with self.assertRaisesRegex(smtp.Refused, "accepts 10"):
            await self.send(fake)
        await fake.stop()

    async def test_errors_never_contain_the_password(self) -> None:
        fake = await self.fake()
        with self.assertRaises(smtp.NotSent) as refused:
            await self.send(fake, password="s3cret")
        self.assertIn("check `smtp.username` and the password", str(refused.exception))
        self.assertNotIn("s3cret", repr(refused.exception) + repr(smtp_config(fake)))

    async def test_composed_mails_pass_the_strict_server(self) -> None:
        fake = await self.fake()
        long_id = f"<{'x' * 500}@example.org>"
        thread = Thread(
            long_id, [f"<{n}@example.org>" for n in range(40)], "AW: Re[2]: Zähl\x00 mal " * 20
        )
        texts = ["Hello", "Grüße 👋", "x" * 5000, ".\n..\nFrom x", "a\x0bb", "", "é" * 3000]
        files = [
            SentFile("pïc.png", "image/png", b"\x00\xff"),
            SentFile("a\r\nb", "text/plain", b"x"),
            SentFile("m.eml", "message/rfc822", b"Subject: x\n\ny"),
        ]
        for number, text in enumerate(texts):
            mail = compose(settings(name='Ävocet, "A"'), CHAT, thread, answer(text, files=files))
            await self.send(fake, mail)
            message = fake.mails[number].message
            self.assertEqual(message["In-Reply-To"], long_id)
            self.assertEqual(len(message["References"].split()), 12)
            if "\x0b" not in text:
                self.assertEqual(fake.mails[number].text, text)
            sent = list(message.iter_attachments())
            self.assertEqual(
                [part.get_payload(decode=True) for part in sent], [f.content for f in files]
            )
        self.assertTrue(str(message["Subject"]).startswith("Re: Zähl mal"))
        self.assertEqual(str(message["From"].addresses[0].display_name), 'Ävocet, "A"')


class ComposeTest(unittest.TestCase):
    def html(self, text: str, *styles: tuple[str, Any]) -> tuple[str, str]:
        """Return the plain and the HTML text. A style is that of the first occurrence of a part."""
        ranges = []
        for part, style in styles:
            start = text.encode().index(part.encode())
            ranges.append({"start": start, "end": start + len(part.encode()), "style": style})
        made = answer(text, styles=ranges)
        return plain_body(made).rstrip("\n"), html_of(text.encode(), ranges)

    def test_styles_become_html_and_plain_text(self) -> None:
        link = {"link": {"url": "https://x.org/?a&b"}}
        table = [
            (("ä <b>", ("<b>", "bold")), "ä <b>", "ä <strong>&lt;b&gt;</strong>"),
            (
                ("see it", ("it", link)),
                "see it <https://x.org/?a&b>",
                'see <a href="https://x.org/?a&amp;b">it</a>',
            ),
            (
                ("a b c", ("a b", "bold"), ("b c", "italic")),
                "a b c",
                "<strong>a <em>b</em></strong><em> c</em>",
            ),
            (("a\nq\nr", ("q\nr", "quote")), "a\n> q\n> r", "a\n<blockquote>q\nr</blockquote>"),
            (("x()", ("x()", {"pre": {"language": "c"}})), "x()", "<pre>x()</pre>"),
            (("x", ("x", "new-style")), "x", "x"),
        ]
        for given, plain, html in table:
            self.assertEqual(self.html(*given), (plain, html))

    def test_choices_and_the_mark_of_a_repetition_are_shown(self) -> None:
        made = answer(
            "Run it?",
            choices=[{"label": "Yes", "says": "yes"}, {"label": "No", "says": "no"}],
            is_repeat=True,
        )
        mail = compose(settings(), CHAT, None, made).decode()
        self.assertIn("(This message may have reached you before.)\r\n\r\nRun it?", mail)
        self.assertIn("Answer with a number:\r\n1. Yes\r\n2. No", mail)
        self.assertIn("Message-ID: <avocet.n1.0123456789abcdef@example.net>", mail)
        self.assertIn("Auto-Submitted: auto-generated", mail)


if __name__ == "__main__":
    unittest.main()
