"""Settings, ids, texts, files and the HTTP client."""

import asyncio
import tempfile
import unittest
from pathlib import Path
from typing import Any

from fakes import Parts
from harness import PLUGIN, FakeHomeserver

from avocet_matrix import ids, settings
from avocet_matrix.files import Files
from avocet_matrix.http import HttpClient, Interrupted, TooLong, Unreachable
from avocet_matrix.text import plain, to_html, without_address


class SettingsTest(unittest.TestCase):
    def load(self, text: str) -> settings.Settings:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "matrix.toml"
            path.write_text(text)
            return settings.load(path)

    def test_wrong_settings_are_named_with_their_correction(self) -> None:
        home = 'homeserver = "https://example.org"\n'
        cases = [
            ("", "the homeserver is missing"),
            ("homeserver = ", "not TOML"),
            ("homeserver = 7", "homeserver = 7 is not a text"),
            ('homeserver = "example.org"', "is not a URL"),
            ('homeserver = "https://example.org:x"', "is not a URL"),
            ('homeserver = "https://user:secret@example.org"', "is not a URL"),
            ('homeserver = "http://example.org"', "insecure_http"),
            (home + 'tokn = "x"', "unknown key 'tokn'"),
            (home + 'user = "avocet"', "is not a user id"),
            (home + 'invite_from = ["@ann"]', "'@ann' is neither"),
            (home + "invite_from = [7]", "7 is neither"),
            (home + "max_text = 99", "from 100 to 10000"),
            (home + "max_text = true", "is not a whole number"),
            (home + 'account = "a:b"', "is not the name of an account"),
        ]
        for text, reason in cases:
            with self.subTest(text), self.assertRaisesRegex(settings.SettingsError, reason):
                self.load(text)

    def test_example_names_all_settings_with_their_defaults(self) -> None:
        example = (PLUGIN / "config.example.toml").read_text()
        found = self.load(example)
        self.assertEqual(found.homeserver, "https://matrix.example.org")
        commented = [
            line.removeprefix("#")
            for line in example.splitlines()
            if line[:1] == "#" and " = " in line
        ]
        names = {line.split(" = ")[0] for line in commented} | {"homeserver"}
        self.assertEqual(names, set(settings._TYPES))
        self.load(
            example + "\n".join(line for line in commented if not line.startswith("homeserver"))
        )

    def test_invitations_are_admitted_by_user_or_server(self) -> None:
        found = settings.Settings("https://a", invite_from=("@ann:a.org", "b.org"))
        cases = {"@ann:a.org": True, "@bob:a.org": False, "@bob:b.org": True, "@bob:xb.org": False}
        for inviter, expected in cases.items():
            self.assertEqual(found.admits(inviter), expected, inviter)


class IdTest(unittest.TestCase):
    def test_ids_come_back_from_addresses(self) -> None:
        for room in (
            "!a:example.org",
            "!a/b:[::1]:8448",
            "!" + "x" * 43,
            "!..%2F..:a.org",
            "!a\\b:a.org",
        ):
            for thread in (None, "$abc", "$a/b:c.org", "$.."):
                address = ids.address("matrix", room, thread)
                self.assertEqual(ids.parse_address(address), (room, thread))
                self.assertFalse(any(part in address for part in ("/", "\\", "..")), address)

    def test_values_that_are_no_ids_are_refused(self) -> None:
        cases = [
            ("user", "@a b:c"),
            ("user", "@a"),
            ("user", "@a:b/c"),
            ("room", "!é:a"),
            ("room", "!"),
            ("event", 7),
        ]
        cases += [
            ("event", "$a\n"),
            ("file", "mxc://a/b/c"),
            ("file", "mxc://a/b?c"),
            ("server", "-a"),
            ("room", "!" + "x" * 300),
        ]
        for kind, value in cases:
            self.assertFalse(ids.is_id(kind, value), value)
        with self.assertRaises(ids.IdError):
            ids.address("matrix", "!" + "/" * 200, None)


class TextTest(unittest.TestCase):
    def test_html_is_nested_and_escaped(self) -> None:
        pre: Any = {"pre": {"language": 'x"><script>'}}
        cases: list[tuple[str, list[tuple[int, int, Any]], str]] = [
            ("<a>", [], "&lt;a&gt;"),
            ("abc", [(0, 2, "bold"), (1, 3, "italic")], "<strong>a<em>b</em></strong><em>c</em>"),
            ("a\nb", [(0, 3, pre)], "<pre><code>a\nb</code></pre>"),
            ("a", [(0, 1, {"link": {"url": "javascript:alert(1)"}})], "a"),
            ("a", [(0, 99, "bold")], "<strong>a</strong>"),
            ("a", [(5, 9, "bold"), (1, 0, "bold"), (0, 1, "unknown")], "a"),
            (
                "ab",
                [(0, 1, "quote"), (1, 2, "spoiler")],
                "<blockquote>a</blockquote><span data-mx-spoiler>b</span>",
            ),
        ]
        for text, ranges, expected in cases:
            styles = [{"start": start, "end": end, "style": style} for start, end, style in ranges]
            self.assertEqual(to_html(text, styles), expected)

    def test_names_are_removed_from_the_begin_only(self) -> None:
        names = {"Avocet", "@avocet:a.org", ""}
        cases = {
            "avocet: hi": "hi",
            "@Avocet hi": "hi",
            "@avocet:a.org, hi": "hi",
            "hi avocet": "hi avocet",
            "avocets": "avocets",
        }
        for text, expected in cases.items():
            self.assertEqual(without_address(text, names), expected)

    def test_plain_text_is_one_line_without_control_characters(self) -> None:
        self.assertEqual(plain("a\x1b[31m\nb\u202ec" + "d" * 99, 9), "a [31m b ")


class FilesTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.server = await self.enterAsyncContext(FakeHomeserver())

    async def test_file_is_downloaded_once_and_read_in_pieces(self) -> None:
        for has_new_media in (True, False):
            self.server.has_new_media = has_new_media
            self.server.requests.clear()
            files = Files(Parts(self.server).homeserver, 100)
            uri = self.server.keep(b"0123456789")
            pieces = [await files.read(uri, offset, 4) for offset in (0, 4, 8, 10)]
            self.assertEqual(pieces, [b"0123", b"4567", b"89", b""])
            self.assertEqual(
                sum("/download/" in one for one in self.server.requests), 1 if has_new_media else 2
            )
            files.close()

    async def test_file_that_is_gone_or_too_large_is_final(self) -> None:
        files = Files(Parts(self.server).homeserver, 3)
        cases = [
            (self.server.keep(b"0123"), "longer than 3"),
            ("mxc://a/b", "M_NOT_FOUND"),
            ("/etc/passwd", "not a file"),
        ]
        for reference, reason in cases:
            with self.assertRaisesRegex(FileNotFoundError, reason):
                await files.read(reference, 0, 4)


class HttpTest(unittest.IsolatedAsyncioTestCase):
    async def answer(self, response: bytes, limit: int = 10) -> Any:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(response)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            client = HttpClient(f"http://127.0.0.1:{port}")
            return await client.request("GET", "/", {}, timeout=30, limit=limit)
        finally:
            server.close()

    async def test_responses_are_read_in_all_framings(self) -> None:
        head = b"HTTP/1.1 200 OK\r\n"
        cases = [
            head + b"Content-Length: 2\r\n\r\nhi",
            head + b"\r\nhi",
            b"HTTP/1.1 100 Continue\r\n\r\n" + head + b"Content-Length: 2\r\n\r\nhi",
            head + b"transfer-encoding: Chunked\r\n\r\n1;x=y\r\nh\r\n1\r\ni\r\n0\r\nA: b\r\n\r\n",
        ]
        for response in cases:
            self.assertEqual((await self.answer(response)).body, b"hi")

    async def test_broken_responses_leave_the_outcome_open(self) -> None:
        head = b"HTTP/1.1 200 OK\r\n"
        cases = [
            b"",
            b"SSH-2.0-OpenSSH\r\n",
            b"HTTP/1.1 two OK\r\n\r\n",
            head + b"Content-Length: 5\r\n\r\nhi",
            head + b"Content-Length: -1\r\n\r\n",
            head + b"Content-Length: \xb2\r\n\r\n",
            head + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
            head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhi",
            head + b"A: b\r\n" * 101 + b"\r\n",
            head + b"A: " + b"b" * 70_000 + b"\r\n\r\n",
        ]
        for response in cases:
            with self.subTest(response[:60]), self.assertRaises(Interrupted):
                await self.answer(response)

    async def test_long_responses_are_refused(self) -> None:
        head = b"HTTP/1.1 200 OK\r\n"
        for rest in (
            b"Content-Length: 11\r\n\r\n",
            b"\r\n" + b"x" * 11,
            b"Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n",
        ):
            with self.assertRaises(TooLong):
                await self.answer(head + rest)

    async def test_closed_port_is_unreachable(self) -> None:
        with self.assertRaises(Unreachable):
            await HttpClient("http://127.0.0.1:1").request("GET", "/", {}, timeout=5, limit=1)


if __name__ == "__main__":
    unittest.main()
