"""The IMAP client against the strict server."""

import asyncio
import unittest

from world import FakeImap, imap_config, mail, tls, true

from avocet_email.imap import Imap, ImapError, ImapRefused, Literal, parse, string

LIMIT = 1024 * 1024


class ImapTest(unittest.IsolatedAsyncioTestCase):
    async def fake(self, security: str = "plain") -> FakeImap:
        fake = FakeImap(security, None if security == "plain" else tls())
        await fake.start()
        self.addAsyncCleanup(fake.stop)
        self.addCleanup(lambda: self.assertEqual(fake.bad, []))
        return fake

    async def connect(self, fake: FakeImap, **settings: object) -> Imap:
        imap = await Imap.connect(imap_config(fake, **settings), LIMIT)
        self.addCleanup(imap.close)
        return imap

    async def test_connect_logs_in_with_each_encryption(self) -> None:
        for security in ("tls", "starttls", "plain"):
            fake = await self.fake(security)
            imap = await self.connect(fake)
            self.assertEqual((await imap.select("INBOX")).next, 1, security)
            self.assertEqual(fake.logins, 1)

    async def test_connect_refuses_a_certificate_of_an_unknown_authority(self) -> None:
        for security in ("tls", "starttls"):
            with self.assertRaisesRegex(ImapError, "certificate verify failed"):
                await self.connect(await self.fake(security), ca_file="")

    async def test_starttls_ignores_no_text_that_was_added_before_the_encryption(self) -> None:
        fake = await self.fake("starttls")
        fake.injected = b"* OK injected\r\n"
        with self.assertRaises(ImapError):
            await self.connect(fake)
        self.assertEqual(fake.logins, 0)

    async def test_login_with_other_characters_is_sent_as_a_literal(self) -> None:
        fake = await self.fake()
        fake.password = "pässword"
        await self.connect(fake, password="pässword")
        with self.assertRaisesRegex(ImapRefused, "check `imap.username`"):
            await self.connect(fake, password="other")

    async def test_connect_reports_a_server_that_refuses(self) -> None:
        fake = await self.fake()
        fake.greeting = b"* BYE too busy\x1b[31m\r\n"
        with self.assertRaisesRegex(ImapError, "too busy\N{REPLACEMENT CHARACTER}"):
            await self.connect(fake)
        fake.server.close()
        await fake.server.wait_closed()
        with self.assertRaisesRegex(ImapError, f"cannot connect to localhost:{fake.port}"):
            await self.connect(fake)

    async def test_wait_ends_with_new_mail_and_renews_idle(self) -> None:
        fake = await self.fake()
        imap = await self.connect(fake, idle_seconds=0)
        await imap.select("INBOX")
        imap.is_news = False
        await imap.wait()
        await imap.wait()
        self.assertEqual((fake.idles, imap.is_news), (2, False))
        imap = await self.connect(fake)
        await imap.select("INBOX")
        imap.is_news = False
        waiting = asyncio.create_task(imap.wait())
        await true(lambda: fake.idles == 3)
        fake.deliver(mail("x"))
        await waiting
        self.assertTrue(imap.is_news)

    async def test_wait_without_idle_polls(self) -> None:
        fake = await self.fake()
        fake.capabilities = []
        imap = await self.connect(fake, poll_seconds=0)
        await imap.select("INBOX")
        imap.is_news = False
        fake.deliver(mail("x"))
        await imap.wait()
        self.assertEqual((fake.noops, imap.is_news), (1, True))

    async def test_fetch_returns_the_mail_as_it_is_and_refuses_an_endless_one(self) -> None:
        fake = await self.fake()
        raw = b'Subject: ("x" {3}\r\n\r\n)) A1 OK\r\n* BYE\r\n'
        fake.deliver(raw)
        fake.deliver(b"X: y\r\n\r\n" + b"z" * 3 * LIMIT)
        imap = await self.connect(fake)
        await imap.select("INBOX")
        found = await imap.fetch(1, "UID", "INTERNALDATE", "RFC822.SIZE", "BODY.PEEK[]")
        assert found is not None
        self.assertEqual((found["BODY[]"], found["RFC822.SIZE"]), (raw, str(len(raw)).encode()))
        self.assertEqual(await imap.search("UID", "2:*"), [2])
        self.assertIsNone(await imap.fetch(3, "UID"))
        with self.assertRaisesRegex(ImapError, "over 2097152 bytes"):
            await imap.fetch(2, "UID", "BODY.PEEK[]")

    async def test_move_leaves_one_copy_with_each_set_of_capabilities(self) -> None:
        for capabilities, left in [(["MOVE"], 0), (["UIDPLUS"], 0), ([], 1)]:
            fake = await self.fake()
            fake.capabilities = capabilities
            fake.deliver(mail("x"))
            imap = await self.connect(fake)
            await imap.command("CREATE", string("Done"))
            await imap.select("INBOX")
            await imap.move(1, "Done")
            counts = (len(fake.inbox.mails), len(fake.folders["Done"].mails))
            self.assertEqual(counts, (left, 1), capabilities)
            with self.assertRaises(ImapRefused):
                await imap.select("Missing")


class ParseTest(unittest.TestCase):
    def test_parse_reads_lists_quotes_and_literals(self) -> None:
        table = [
            ([b"* 3 EXISTS"], [b"*", b"3", b"EXISTS"]),
            (
                [b'* 1 FETCH (UID 2 X "a\\"b" BODY[] ', Literal(b"(x"), b")"],
                [b"*", b"1", b"FETCH", [b"UID", b"2", b"X", b'a"b', b"BODY[]", b"(x"]],
            ),
            (
                [b"* LIST (\\A \\B) NIL [x y] \xff"],
                [b"*", b"LIST", [b"\\A", b"\\B"], b"NIL", b"[x y]", b"\xff"],
            ),
            ([b'* "open'], [b"*", b"open"]),
        ]
        for pieces, expected in table:
            self.assertEqual(parse(pieces), expected)
        for broken in (b"(", b")", b"(()", b"(" * 100_000):
            with self.assertRaises(ImapError):
                parse([broken])

    def test_string_refuses_control_characters(self) -> None:
        self.assertEqual(string('a"b\\'), b'"a\\"b\\\\"')
        self.assertIsInstance(string("ä"), Literal)
        with self.assertRaises(ImapRefused):
            string("a\r\nA2 LOGOUT")


if __name__ == "__main__":
    unittest.main()
