"""The parts without a server: lines, control codes, flood control, names, settings, uploads."""

import asyncio
import contextlib
import http.server
import io
import tempfile
import threading
import unittest
from pathlib import Path

import irc_support
from fake_server import Options

from avocet_irc import filehost, formatting, history, inbound, names, wire
from avocet_irc.bucket import Bucket
from avocet_irc.connection import Connection, Whois
from avocet_irc.outbound import platform_id
from avocet_irc.people import is_same, person
from avocet_irc.settings import Settings, SettingsError, from_command_line, load, parser, shown
from avocet_irc.wire import BadLine, Message


class WireTest(unittest.TestCase):
    def test_parse_reads_tags_source_command_and_parameters(self) -> None:
        for line, expected in [
            (b"PING :a b\r\n", Message("PING", ("a b",))),
            (b":irc 001 me :hi :there", Message("001", ("me", "hi :there"), "irc")),
            (b"@a=x\\:\\s\\\\\\r\\n\\q\\;b;+c= :n!u@h  privmsg  #x :", Message(
                "PRIVMSG", ("#x", ""), "n!u@h", {"a": "x; \\\r\nq", "b": "", "+c": ""})),
            ("@t=v :ü!u@h PRIVMSG #x :ä".encode(), Message(
                "PRIVMSG", ("#x", "ä"), "ü!u@h", {"t": "v"})),
            ("PRIVMSG #x :ä€".encode("cp1252"), Message("PRIVMSG", ("#x", "ä€"))),
            (b"PRIVMSG #x :a\0b", Message("PRIVMSG", ("#x", "ab"))),
        ]:  # fmt: skip
            self.assertEqual(wire.parse(line), expected, line)
        for line in (b"", b":", b":source", b"@tag", b"  ", b":a :b", b"\0\r\n"):
            with self.assertRaises(BadLine, msg=line):
                wire.parse(line)

    def test_line_refuses_texts_that_would_become_other_lines(self) -> None:
        self.assertEqual(wire.line("PRIVMSG", "#x", ":a"), b"PRIVMSG #x ::a\r\n")
        self.assertEqual(
            wire.line("TAGMSG", "x", tags={"+a": "b; c"}), b"@+a=b\\:\\sc TAGMSG x\r\n"
        )
        for params in [
            ("#x", "a\r\nQUIT"),
            ("#x", "a\nb"),
            ("#x", "a\0"),
            ("a b", "c"),
            ("", "c"),
            ("#x", "x" * 500),
        ]:
            with self.assertRaises(BadLine, msg=params):
                wire.line("PRIVMSG", *params)

    def test_fold_follows_the_casemapping(self) -> None:
        for mapping, expected in [
            ("ascii", "ab[]\\~ü"),
            ("rfc1459", "ab{}|^ü"),
            ("rfc1459-strict", "ab{}|~ü"),
            ("unknown", "ab{}|^ü"),
        ]:
            self.assertEqual(wire.fold("Ab[]\\~ü", mapping), expected, mapping)
        self.assertEqual(wire.fold("Ü", "precis"), "ü")


class FormattingTest(unittest.TestCase):
    def test_strip_removes_colours_and_controls(self) -> None:
        for text, expected in [
            ("\x0304,05red\x03 \x033x\x0312345", "red x345"),
            ("\x04FF0000x\x04 \x02b\x1di\x1fu\x1es\x11m\x16r\x0fo", "x biusmro"),
            ("\x1b[31mescape\x7f\x9b", "[31mescape"),
            ("\x03,5 a\tb", ",5 a\tb"),
        ]:
            self.assertEqual(formatting.strip(text), expected, text)

    def test_lines_fit_at_each_width_and_keep_all_words(self) -> None:
        text = "Größe 🦩🦩 e\u0301e\u0301 " * 10 + "x" * 100 + "\n\n  \nlast"
        styles = [
            {"start": 3, "end": 60, "style": "bold"},
            {"start": 30, "end": 90, "style": "italic"},
        ]
        for room in range(20, 200):
            cut = formatting.lines(text, styles, room)
            self.assertLessEqual(max(len(line.encode()) for line in cut), room)
            self.assertTrue(all(line.strip() for line in cut))
            plain = [formatting.strip(line) for line in cut]
            self.assertEqual("".join("".join(plain).split()), "".join(text.split()))
            self.assertFalse(any(line.startswith("\u0301") for line in plain), room)

    def test_lines_render_styles(self) -> None:
        def of(text: str, style: object, end: int = 1) -> list[str]:
            return formatting.lines(text, [{"start": 0, "end": end, "style": style}], 100)

        self.assertEqual(of("a b", "bold"), ["\x02a\x02 b"])
        self.assertEqual(of("a b", "strike"), ["\x1ea\x1e b"])
        self.assertEqual(of("a1", "spoiler"), ["\x0301,01a\x03\x02\x021"])
        self.assertEqual(of("a\nb c", {"pre": {"language": None}}, 5), ["\x11a", "\x11b c"])
        self.assertEqual(of("a\nb", "quote", 3), ["> a", "> b"])
        self.assertEqual(of("a b", {"link": {"url": "https://x.y/"}}), ["a <https://x.y/> b"])
        self.assertEqual(of("a", {"link": {"url": "mailto:a"}}), ["a"])
        self.assertEqual(of("\x01VERSION\x01\x03\r\0", "unknown"), ["VERSION"])
        self.assertEqual(
            formatting.lines("a", [{"start": 0, "end": 1, "style": "bold"}], 9, is_plain=True),
            ["a"],
        )


class BucketTest(unittest.IsolatedAsyncioTestCase):
    async def test_take_allows_a_burst_and_then_one_line_each_interval(self) -> None:
        time, sent = 0.0, []

        async def sleep(seconds: float) -> None:
            nonlocal time
            time += seconds

        bucket = Bucket(3, 2.0, lambda: time, sleep)
        self.assertTrue(bucket.has_spare())
        for _ in range(6):
            await bucket.take()
            sent.append(time)
        self.assertEqual(sent, [0, 0, 0, 2, 4, 6])
        self.assertFalse(bucket.has_spare())
        bucket.take_now()
        await bucket.take()
        self.assertEqual(time, 10)
        time = 100
        self.assertTrue(bucket.has_spare())


class NamesTest(unittest.TestCase):
    def test_encode_makes_ids_that_decode_reads_back(self) -> None:
        for name in ("#a", "#a:b/c\\d", "#..", "#....", "%41", "#ü%", "#\x1f\x7f", "#a.b"):
            encoded = names.encode(name)
            self.assertEqual(names.decode(encoded), name)
            self.assertFalse(any(part in encoded for part in (":", "/", "\\", "..")), encoded)
            self.assertTrue(encoded.isprintable(), encoded)
        for name in ("%41", "a:b", "%", "%3a", "%FF", ".."):
            with self.assertRaises(ValueError, msg=name):
                names.decode(name)

    def test_keys_are_ids_and_only_usual_message_ids_come_back(self) -> None:
        self.assertEqual(names.msgid_of_key(names.key_of_msgid("a-B_9")), "a-B_9")
        for msgid in ("../x", "a:b", "x" * 300, "ü", "a b"):
            key = names.key_of_msgid(msgid)
            self.assertRegex(key, "^h[0-9a-f]{40}$")
            self.assertIsNone(names.msgid_of_key(key))
        self.assertEqual(platform_id("a-b"), "a-b")
        for msgid in ("", "a/b", "a..b", "ü", "x" * 201):
            self.assertIsNone(platform_id(msgid))

    def test_person_has_the_id_that_others_cannot_take(self) -> None:
        def ids(identity: str, source: str = "Ann!u@h", **tags: str) -> tuple[str, str]:
            found = person(Message("PRIVMSG", (), source, tags), identity, str.lower)
            return found.sender, found.chat

        self.assertEqual(ids("account", account="Ann"), ("ann", "ann"))
        self.assertEqual(ids("account", account="Mallory"), ("mallory", "ann@mallory"))
        self.assertEqual(ids("account"), ("~ann!u@h", "ann@*"))
        self.assertEqual(ids("account", account="~ann!u@h"), ("~ann!u@h", "ann@*"))
        self.assertEqual(ids("account", account="client:ci"), ("client%3Aci", "ann@client%3Aci"))
        self.assertEqual(ids("nick", account="x"), ("ann", "ann"))
        self.assertEqual(ids("host"), ("ann!u@h", "ann!u@h"))
        for chat, found, expected in [
            ("ann", Whois(account="Ann"), True),
            ("ann", Whois(account="mallory"), False),
            ("ann", Whois(), False),
            ("ann", Whois(has_own_nick=True), True),
            ("ann@mallory", Whois(account="mallory"), True),
            ("ann@mallory", Whois(has_own_nick=True), False),
            ("ann@*", Whois(), True),
            ("ann@*", Whois(account="ann"), False),
        ]:
            self.assertEqual(is_same(chat, found, "account", str.lower), expected, (chat, found))
        self.assertTrue(is_same("ann!u@h", Whois(user="u", host="H"), "host", str.lower))
        self.assertFalse(is_same("ann!u@h", Whois(user="u", host="evil"), "host", str.lower))

    def test_times_of_the_server_are_read_and_others_are_not(self) -> None:
        self.assertEqual(inbound.millis("1970-01-01T00:00:01.5Z"), 1500)
        self.assertEqual(inbound.written(1.5), "1970-01-01T00:00:01.500Z")
        for time in ("", "now", "9999-99-99T99:99:99Z", "1970-01-01T00:00:00+00:00"):
            self.assertIsNone(inbound.millis(time))


class SettingsTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)

    def load(self, text: str, *flags: str, **environment: str) -> Settings:
        file = self.path / "config.toml"
        file.write_text(text)
        return load(parser().parse_args(["--config", str(file), *flags]), environment)

    def test_example_has_all_settings_with_their_defaults(self) -> None:
        text = (irc_support.PLUGIN / "config.example.toml").read_text()
        example = self.load(text)
        self.assertEqual((example.server, example.nick), ("irc.example.org", "avocet"))
        # Each setting stands there, at the beginning of a line or in a comment.
        everything = "\n".join(
            line.removeprefix("# ") if " = " in line else line for line in text.split("\n")
        )
        full = {
            line.split(" = ")[0]
            for line in everything.split("\n")
            if " = " in line and line[0] != "#"
        }
        self.assertEqual(full, {each.name for each in shown()})

    def test_readme_describes_all_settings(self) -> None:
        text = (irc_support.PLUGIN / "README.md").read_text()
        for each in shown():
            self.assertIn(f"| `{each.name}` |", text)

    def test_flags_override_the_file_and_secrets_come_from_files_or_the_environment(self) -> None:
        (self.path / "secret").write_text("s3cret\n")
        base = 'server = "a"\nnick = "b"\nsasl_user = "u"\n'
        base += f'sasl_password_file = "{self.path}/secret"\n'
        settings = self.load(
            base, "--nick=c", "--channels=#x", "--no-mention", AVOCET_IRC_TOKEN="t0ken"
        )
        self.assertEqual(
            (settings.nick, settings.channels, settings.mention), ("c", ("#x",), False)
        )
        self.assertEqual((settings.sasl_password, settings.token), ("s3cret", "t0ken"))
        self.assertNotIn("s3cret", repr(settings))

    def test_wrong_settings_are_refused_with_the_correction(self) -> None:
        base = 'server = "a"\nnick = "b"\n'
        for text, reason in [
            ("server", "cannot read the settings"),
            ('nick = "b"', "`server` is missing"),
            ('server = "a"', "`nick` is missing"),
            (base + "nik = 1", "did you mean `nick`"),
            (base + "port = true", "`port` is a whole number"),
            (base + "port = 70000", "greatest value is 65535"),
            (base + 'channels = "#x"', "`channels` is a list"),
            (base + 'channels = ["x"]', "neither `#name`"),
            (base + 'channels = ["#x\\r\\nQUIT"]', "neither `#name`"),
            (base + 'identity = "face"', "one of account, nick, host"),
            (base + "burst = 0", "the least value is 1"),
            (base + "ping_seconds = nan", "the least value is"),
            (base + "ping_seconds = inf", "the greatest value is"),
            (base + 'sasl_password = "x"', "may not stand in this file"),
            (base + 'sasl_user = "x"', "`sasl_password` is missing"),
            (
                base + 'sasl_user = "x"\nsasl_password_file = "/none"',
                "cannot read `sasl_password_file`",
            ),
            ('server = "a"\nnick = "a b"', "is not a nickname"),
            (base + 'user = "a b"', "`user`"),
            (base + 'real_name = "a\\nb"', "`real_name` contains"),
        ]:
            with self.assertRaisesRegex(SettingsError, reason, msg=text):
                self.load(text)

    def test_password_without_tls_is_refused_outside_of_this_machine(self) -> None:
        for server, is_good in [
            ("irc.example.org", False),
            ("127.0.0.1", True),
            ("::1", True),
            ("localhost", True),
        ]:
            text = f'server = "{server}"\nnick = "b"\ntls = false\n'
            refused = self.assertRaisesRegex(SettingsError, "plain text")
            with contextlib.nullcontext() if is_good else refused:
                self.load(text, AVOCET_IRC_SERVER_PASSWORD="x")

    def test_check_ends_after_the_check(self) -> None:
        self.assertTrue(from_command_line(["--server=a", "--nick=b", "--check"])[1])
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            from_command_line(["--burst=many"])


class ConnectionTest(unittest.IsolatedAsyncioTestCase):
    async def test_room_is_computed_from_the_address_that_the_server_shows(self) -> None:
        connection = Connection(
            Settings(server="a", nick="avocet"), lambda *_: None, lambda _: None
        )
        unknown = connection.room("PRIVMSG", "#x")
        connection._take(Message("001", ("avocet", "hi")))
        for line, source in [
            (b":avocet!~a@host JOIN #x", "avocet!~a@host"),
            (b":irc 396 avocet cloak.example :is now your host", "avocet!~a@cloak.example"),
            (b":avocet!~a@cloak.example CHGHOST b longer.example", "avocet!b@longer.example"),
            (b":avocet!b@longer.example NICK avo", "avo!b@longer.example"),
            (b":irc 311 avo avo u h * :x", "avo!u@h"),
        ]:
            connection._take(wire.parse(line))
            self.assertEqual(connection.source, source)
            full = (
                f":{source} PRIVMSG #x :".encode()
                + b"x" * connection.room("PRIVMSG", "#x")
                + b"\r\n"
            )
            self.assertEqual(len(full), 512)
        self.assertLess(unknown, connection.room("PRIVMSG", "#x"))

    async def test_position_that_is_no_time_reads_no_history(self) -> None:
        connection = Connection(Settings(server="a", nick="b"), lambda *_: None, lambda _: None)
        with self.assertLogs("avocet_irc", "WARNING"):
            self.assertEqual(await history.read(connection, "17", [], 10), [])


class FileHostTest(unittest.TestCase):
    def test_upload_goes_to_encrypted_or_local_places_only(self) -> None:
        settings = Settings(server="irc.example.org", nick="b")
        for host in ("http://example.org/up", "ftp://127.0.0.1/", "https://", "x", ""):
            with self.assertRaisesRegex(filehost.UploadFailed, "no https address", msg=host):
                filehost.upload(host, {"name": "a"}, b"", settings)


class Uploads(http.server.BaseHTTPRequestHandler):
    """A place for files that keeps what it gets in `taken`."""

    taken: list[tuple[str, str, bytes]] = []
    status = 201

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.taken.append(
            (self.headers["Content-Disposition"], self.headers.get("Authorization", ""), content)
        )
        self.send_response(self.status)
        self.send_header("Location", "/f/1.bin")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class FileTest(irc_support.IrcTest):
    """A file of the agent. People cannot send files over IRC; they send links."""

    def options(self) -> Options:
        self.uploads = http.server.HTTPServer(("127.0.0.1", 0), Uploads)
        Uploads.taken, Uploads.status = [], 201
        threading.Thread(target=self.uploads.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(self.uploads.server_close)
        self.addCleanup(self.uploads.shutdown)
        options = Options()
        self.host = f"http://127.0.0.1:{self.uploads.server_port}"
        return options

    async def send_file(self) -> None:
        workspace = self.home.path / ".local/state/avocet/workspace"
        await asyncio.to_thread(workspace.mkdir, parents=True, exist_ok=True)
        (workspace / "data.bin").write_bytes(bytes(range(256)))
        self.server.say("ann", "avocet", 'message {"files": ["data.bin"]}')

    async def test_file_is_uploaded_and_its_address_is_sent(self) -> None:
        self.server.options.support += f" soju.im/FILEHOST={self.host}/up"
        await self.started()
        await self.send_file()
        await self.server.until(
            lambda: f"data.bin: {self.host}/f/1.bin" in self.server.texts("ann"),
            "the address of the file",
        )
        self.assertEqual(
            Uploads.taken, [("attachment; filename*=UTF-8''data.bin", "", bytes(range(256)))]
        )

    async def test_file_without_a_place_for_files_becomes_a_failed_message(self) -> None:
        await self.started()
        await self.send_file()
        await self.server.until(
            lambda: any(
                "this IRC server takes no files" in text for text in self.server.texts("ann")
            ),
            "a notice",
        )


class Speech(http.server.BaseHTTPRequestHandler):
    """A speech server that sends the beginning of a recording."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"OggS")

    def log_message(self, *_: object) -> None:
        pass


class VoiceTest(irc_support.IrcTest):
    """A spoken answer."""

    async def asyncSetUp(self) -> None:
        speech = http.server.HTTPServer(("127.0.0.1", 0), Speech)
        threading.Thread(target=speech.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(speech.server_close)
        self.addCleanup(speech.shutdown)
        table = f'[speech]\nbase_url = "http://127.0.0.1:{speech.server_port}/v1"\nwhen = "on"\n'
        self.config = irc_support.CONFIG + table
        await super().asyncSetUp()

    async def test_recording_without_a_place_for_files_is_left_out(self) -> None:
        program = await self.started()
        self.server.say("ann", "avocet", "hello")
        await program.logs("this server takes no recordings")
        texts = self.server.texts("ann")
        self.assertTrue(texts)
        self.assertNotIn("voice.ogg", "".join(texts))


if __name__ == "__main__":
    unittest.main()
