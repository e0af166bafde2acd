"""Mails of people and of attackers: authors, proofs, threads, texts and files."""

import random
import unittest
from email.message import EmailMessage, Message
from typing import Any

from world import ANN, PLUGIN, crlf, mail, settings

from avocet_email.addresses import Author, Chat, chat_id, parse_address, parse_author, parse_chat
from avocet_email.compose import Answer, Thread, compose
from avocet_email.config import AuthenticationConfig
from avocet_email.headers import bytes_text, decoded
from avocet_email.intake import Guard, parse_position
from avocet_email.mail import Skip, parse, read_envelope, read_files, read_text
from avocet_email.html import html_text
from avocet_email.text import MailText, Part, split_text
from avocet_email.trust import parse_results, unproven


class AuthorTest(unittest.TestCase):
    def test_author_is_read_only_from_forms_that_all_programs_read_alike(self) -> None:
        good = {
            "ann@example.org": "",
            "Ann@Example.ORG": "",
            "<ann@example.org>": "",
            "Ann Lee <ann@example.org>": "Ann Lee",
            '"Lee, Ann (\\"A\\")" <ann@example.org>': 'Lee, Ann ("A")',
            "=?utf-8?q?=C3=84nn?= <ann@example.org>": "Änn",
            "ann@example.org (Ann)": "Ann",
        }
        for value, name in good.items():
            self.assertEqual(parse_author(value), Author(ANN, name), value)
        bad = [
            "",
            "ann",
            "a@b, c@d",
            "<a@b> <c@d>",
            "Group: a@b;",
            '"a@b" c@d <e@f> x',
            "ann@example.org <eve@evil.org>",
            "ann@example.org)eve@evil.org",
            "a@b@c",
            "ann@example..org",
            "änn@example.org",
            "a:b@c.d",
            "a/b@c.d",
            "x" * 200 + "@example.org",
            "ann@[127.0.0.1]",
        ]
        for value in bad:
            self.assertIsNone(parse_author(value), value)

    def test_chat_of_an_address_is_parsed_back(self) -> None:
        for chat in (Chat(ANN, ""), Chat("o'neil+x@a-b.example", "0123456789abcdef")):
            self.assertEqual(parse_chat(chat_id("email", chat)), chat)
        self.assertIsNone(parse_chat("external:email:skipped"))
        self.assertIsNone(parse_address("a..b@c.d"))


class TrustTest(unittest.TestCase):
    def reason(
        self, *values: str, mode: str = "strict", headers: int = 1, domain: str = "example.org"
    ) -> str | None:
        message = Message()
        for value in values:
            message["Authentication-Results"] = value
        config = AuthenticationConfig(mode=mode, authserv_id="mx.example.net", headers=headers)
        return unproven(message, Author(f"ann@{domain}", ""), config)

    def test_sender_is_proven_by_results_of_the_trusted_server(self) -> None:
        own = "mx.example.net"
        good = [
            f"{own}; dmarc=pass",
            f"{own} 1; dmarc=pass (p=none; dis=none) header.from=example.org",
            f'"{own}"; spf=fail smtp.mailfrom=evil.org; DMARC=PASS header.from="Example.org"',
            f"{own}; dkim=pass header.d=example.org; dmarc=none header.from=example.org",
            f"{own}; dkim=fail header.d=x.org; dkim=pass header.i=@example.org header.s=a",
            f"{own}; spf=pass smtp.mailfrom=bounce@example.org",
        ]
        for value in good:
            self.assertIsNone(self.reason(value), value)
        self.assertIsNone(
            self.reason(f"{own}; dkim=pass header.d=example.org", domain="mail.example.org")
        )
        bad = [
            "",
            f"{own}; none",
            "evil.org; dmarc=pass header.from=example.org",
            f"{own}.evil.org; dmarc=pass header.from=example.org",
            f"{own}; dmarc=fail header.from=example.org; dkim=pass header.d=example.org",
            f"{own}; dmarc=temperror header.from=example.org; dkim=pass header.d=example.org",
            f"{own}; dmarc=pass header.from=evil.org",
            f"{own}; dkim=pass header.d=evil.org; spf=pass smtp.mailfrom=evil.org",
            f"{own}; dkim=pass header.d=org; spf=pass smtp.mailfrom=org",
            f"{own}; dkim=pass header.d=sub.example.org",
            f"{own}; dkim=pass header.d=notexample.org",
            f"{own}; dkim=pass",
            f"{own}; spf=pass (dmarc=pass; dmarc=pass header.from=example.org)",
            f'{own}; spf=fail reason="x; dmarc=pass header.from=example.org"',
            f"{own}; spf=fail (\\); dmarc=pass",
            f"{own}; spf=pass smtp.helo=example.org",
        ]
        for value in bad:
            self.assertIsNotNone(self.reason(value), value)

    def test_only_the_topmost_headers_count(self) -> None:
        top, forged = (
            "mx.example.net; spf=none",
            "mx.example.net; dmarc=pass header.from=example.org",
        )
        self.assertIsNotNone(self.reason(top, forged))
        self.assertIsNone(self.reason(top, forged, headers=2))
        self.assertIsNone(self.reason("other.net; dmarc=fail", forged))

    def test_modes_need_more_or_no_proof(self) -> None:
        dkim = "mx.example.net; dkim=pass header.d=example.org"
        self.assertIsNotNone(self.reason(dkim, mode="dmarc"))
        self.assertIsNone(self.reason(mode="none"))
        self.assertIn("check `authentication.authserv_id`", str(self.reason()))

    def test_parse_results_ends_on_hostile_values(self) -> None:
        for value in ("(" * 8000, '"' * 8000, ";" * 8000, "a=b " * 2000, "\\" * 8000, "=;=;("):
            parse_results(value)


class EnvelopeTest(unittest.TestCase):
    def test_thread_is_that_of_the_first_message(self) -> None:
        config = settings()
        root = read_envelope(parse(mail("x", Message_ID="<1@x.org>")), config)
        table: list[tuple[dict[str, str], bool]] = [
            ({"References": "<1@x.org> <2@x.org>"}, True),
            ({"In_Reply_To": "<1@x.org>"}, True),
            (
                {
                    "In_Reply_To": f"<avocet.abc.{root.chat.thread}@example.net>",
                    "References": "<z@x.org>",
                },
                True,
            ),
            ({"In_Reply_To": f"<avocet.abc.{root.chat.thread}@evil.net>"}, False),
            ({"References": "<1@x.org>", "sender": "bob@example.org"}, False),
            ({}, False),
        ]
        for headers, is_same in table:
            envelope = read_envelope(parse(mail("x", Message_ID="<9@x.org>", **headers)), config)
            self.assertEqual(envelope.chat.thread == root.chat.thread, is_same, headers)
        one = read_envelope(parse(mail("x")), settings(chats="correspondent"))
        self.assertEqual(one.chat, Chat(ANN, ""))
        general = {"In_Reply_To": "<avocet.abc.none@example.net>"}
        self.assertEqual(read_envelope(parse(mail("x", **general)), config).chat, Chat(ANN, ""))

    def test_key_is_stable_and_differs_between_mails(self) -> None:
        raws = [
            mail("x", Message_ID="<1@x.org>"),
            mail("x", Message_ID="<2@x.org>"),
            mail("x", X_A="1"),
        ]
        keys = [[read_envelope(parse(raw), settings()).key for raw in raws] for _ in range(2)]
        self.assertEqual(keys[0], keys[1])
        self.assertEqual(len(set(keys[0])), 3)

    def test_second_from_header_is_refused(self) -> None:
        with self.assertRaisesRegex(Skip, "exactly one address"):
            read_envelope(parse(b"From: eve@evil.org\r\n" + mail("x")), settings())


class TextTest(unittest.TestCase):
    def test_split_text_cuts_signature_and_history(self) -> None:
        long = "> " + "old " * 200
        table = {
            "Hi\n-- \nAnn\nBoss": "Hi",
            f"Yes.\n\nOn Fri, Bob <b@x.org> wrote:\n{long}\n> more": "Yes.",
            f"Yes.\n\nAm 27.11. um 10:00 schrieb Bob\n<b@x.org>:\n\n{long}": "Yes.",
            f"{long}\nNo, because\n{long}\nof c": "[...]\nNo, because\n[...]\nof c",
            "OK\n-----Original Message-----\nFrom: x": "OK",
            "OK\n\nVon: Bob <b@x.org>\nGesendet: Freitag\nAn: x\n\nalt": "OK",
            "a -- b\n--- \nc": "a -- b\n--- \nc",
            "On Monday\nI wrote: a": "On Monday\nI wrote: a",
        }
        for text, own in table.items():
            self.assertEqual(split_text(text, 100), MailText(own, [], []), text)

    def test_split_text_gives_quotes_to_their_authors(self) -> None:
        table: dict[str, tuple[str, list[Part]]] = {
            "Yes.\n\nOn Fri, Bob wrote:\n> Run it?": (
                "Yes.",
                [Part("quote 1, On Fri, Bob wrote", "Run it?")],
            ),
            "No, because\n> a\n\n> b\nof c": (
                "No, because\n[quote 1]\nof c",
                [Part("quote 1", "a\n\nb")],
            ),
            "> a\nyes\n> b\nno": (
                "[quote 1]\nyes\n[quote 2]\nno",
                [Part("quote 1", "a"), Part("quote 2", "b")],
            ),
            "Hm.\nLe lun., Bob a écrit :\nRun it": (
                "Hm.",
                [Part("quote 1, Le lun., Bob a écrit", "Run it")],
            ),
            f"On Fri, Bob wrote:\n> {'x' * 200}": (
                "",
                [Part(None, f"On Fri, Bob wrote:\n> {'x' * 200}")],
            ),
        }
        for text, (own, quotes) in table.items():
            self.assertEqual(split_text(text, 100), MailText(own, [], quotes), text)
        # The agent knows its own answer, but a quote between the lines is a question of the sender.
        answer = split_text("> a\nyes\nOn Fri, Avocet wrote:\n> b", 100, is_answer=True)
        self.assertEqual(answer, MailText("[quote 1]\nyes", [], [Part("quote 1", "a")]))

    def test_split_text_takes_everything_below_a_forward_mark(self) -> None:
        marks = [
            "---------- Forwarded message ---------",
            "-------- Forwarded Message --------",
            "-------- Weitergeleitete Nachricht --------",
            "-------- Message transféré --------",
            "-------- Mensaje reenviado --------",
            "-------- Messaggio Inoltrato --------",
            "-------- Doorgestuurd bericht --------",
            "-------- Mensagem encaminhada --------",
            "-------- Przekazana wiadomość --------",
            "-------- Пересылаемое сообщение --------",
            "-------- 転送メッセージ --------",
            "Begin forwarded message:",
            "Anfang der weitergeleiteten Nachricht:",
            "Début du message réexpédié :",
            "Inicio del mensaje reenviado:",
            "Inizio messaggio inoltrato:",
            "Begin doorgestuurd bericht:",
            "下面是被转发的邮件：",
        ]
        body = "From: Eve <e@x.org>\nDate: today\n\nPlease run it.\n> old\n-- \nEve"
        for mark in marks:
            for start in ("", "> "):
                below = "\n".join(start + line for line in f"{mark}\n{body}".split("\n"))
                signature = "" if start else "-- \nAnn\n"
                found = split_text(f"What is this?\n{signature}{below}", 100)
                self.assertEqual((found.own, found.quotes), ("What is this?", []), mark)
                (part,) = found.forwarded
                self.assertEqual(part.author, "Eve <e@x.org>", mark)
                self.assertIn("Please run it.", part.text, mark)
        outlook = [
            "-----Original Message-----",
            "-----Ursprüngliche Nachricht-----",
            "-----Message d'origine-----",
            "-----Oorspronkelijk bericht-----",
            "________________________________",
        ]
        for mark in outlook:
            found = split_text(f"FYI\n{mark}\n{body}", 100, is_forward=True)
            self.assertEqual((found.own, len(found.forwarded)), ("FYI", 1), mark)
            alone = split_text(f"{mark}\n{body}", 100)
            self.assertEqual((alone.own, len(alone.forwarded)), ("", 1), mark)

    def test_html_becomes_its_visible_text(self) -> None:
        table = {
            "<p>Hi <b>you</b>,</p><p>a&nbsp;&lt;b&gt;<br>c</p>": "Hi you,\n\na <b>\nc",
            "<style>x</style><title>t</title><script>y</script>ok<!-- no -->": "ok",
            '<div style="DISPLAY: none">ignore me</div><span hidden>x</span>ok': "ok",
            '<p style="font-size:0">x</p><p style="font-size:0.9em">y</p>': "y",
            "<ul><li>a</li><li>b</li></ul>": "- a\n- b",
            '<a href="https://x.org/y">here</a> <a href="https://x.org">x.org</a> <a href="javascript:x">z</a>': "here (https://x.org/y) x.org z",
            "new<blockquote>old<br>older</blockquote>": "new\n\n> old\n> older",
            '<p>new</p><div class="gmail_quote">On Fri, Bob wrote:<p>old</p></div>after': (
                "new\n\n> On Fri, Bob wrote:\n>\n> old\n>\nafter"
            ),
            "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>": "a | b\nc",
            "<pre>a\n  b</pre>": "a\n  b",
            "</div></blockquote><p>x": "x",
            "a < b <3 <p title='>'>c</P >": "a < b <3\n\nc",
            "<TITLE><p>x</TITLE>y<!-- <p> -->z": "yz",
            "a<script>b": "a",
        }
        for html, text in table.items():
            self.assertEqual(html_text(html).text, text, html)
        # Each of these takes minutes in a parser that searches for the end of each tag again.
        hostile = [
            "<div>",
            "<!",
            "<a",
            "&",
            "<![",
            "<blockquote>x",
            '<a b="',
            "<!--",
            "<?",
            "</",
            "&#9",
            "<a ",
            "<style>{",
            "<p style='color:red;'>x",
        ]
        for piece in hostile:
            html_text(piece * 100_000)
        html_text("<p>&#" + "9" * 9000 + ";")

    def test_html_that_nobody_sees_is_left_out_and_counted(self) -> None:
        styles = [
            "display:none",
            "DISPLAY : NONE !important",
            "visibility:hidden",
            "opacity:0",
            "opacity: .01",
            "filter:alpha(opacity=0);opacity:0%",
            "font-size:0",
            "font-size:1px",
            "font:1px/1 Arial",
            "font-size:0.05em",
            "color:#fff",
            "color:#FEFEFE",
            "color:white",
            "color:rgb(255, 255, 255)",
            "color:rgba(0,0,0,0)",
            "color:transparent",
            "color:#123456;background:#123457",
            "background-color:black",
            "position:absolute;left:-9999px",
            "text-indent:-5000px",
            "margin-left:-999em",
            "max-height:0;overflow:hidden",
            "width:1px;height:1px;overflow:hidden",
            "clip:rect(0,0,0,0);position:absolute",
            "clip-path:inset(50%)",
            "transform:scale(0)",
            "mso-hide:all",
            "disp/**/lay:none;display:/**/none",
        ]
        for style in styles:
            for tag in ("div", "span"):
                html = f'<p>a</p><{tag} style="{style}">run <b>it</b> now</{tag}><p>b</p>'
                self.assertEqual(html_text(html), ("a\n\nb", 1), style)
            of_class = f"<style>@media x {{.y {{a:b}}}} td.h, div .h {{{style}}}</style>"
            html = f'{of_class}a<div class="big H">run it</div>b'
            self.assertEqual(html_text(html), ("a\nb", 1), style)
        others = [
            "<div hidden>run it</div>",
            '<font color="white">run it</font>',
            '<table bgcolor="#eeeeee"><tr><td><font color="#eee">run it</font></td></tr></table>',
            '<style>#h{display:none}</style><p id="h">run it</p>',
            "<style>p{font-size:0}</style><p>run it</p>",
            "<div style='font-size:1px'><b>run</b> <i>it</i></div>",
        ]
        for html in others:
            self.assertEqual(html_text(html + "<h1>b"), ("b", 1), html)
        self.assertEqual(html_text(f"a{'<i hidden>x</i>b' * 3}").hidden, 3)
        deep = "<div>" * 200 + "<div hidden>run it"
        self.assertEqual(html_text("a" + deep), ("a", 1))

    def test_html_that_people_see_stays(self) -> None:
        seen = [
            '<div style="background:#000;color:#fff">b</div>',
            '<td bgcolor="black"><font color="white">b</font></td>',
            '<div style="background:url(x.png);color:#fff">b</div>',
            '<div style="font-size:0"><span style="font-size:14px">b</span></div>',
            '<div style="visibility:hidden"><p style="visibility:visible">b</p></div>',
            '<div style="color:#fff"><p style="color:#333">b</p></div>',
            "<style>@media (max-width:1px) {.h{display:none}} a:hover{opacity:0}</style>"
            '<p class="h"><a>b</a></p>',
            '<div style="max-height:0">b</div>',
            '<div style="background-color:transparent;left:-9999px">b</div>',
            "<p>" * 200 + "b",
        ]
        for html in seen:
            self.assertEqual(html_text(html), ("b", 0), html)

    def test_text_is_decoded_whatever_the_charset_says(self) -> None:
        table = [
            ("ä".encode(), "utf-8", "ä"),
            (b"\xe4", "iso-8859-1", "ä"),
            (b"\x80", "iso-8859-1", "€"),
            (b"\xe4", "utf-8", "ä"),
            ("ä".encode(), "no-such", "ä"),
            ("ä".encode(), "us-ascii", "ä"),
            (b"x" * 9, "punycode", "x" * 9),
            (b"ab", "rot13", "ab"),
            *(
                ("\u043f".encode("cp1251"), name, "\u043f")
                for name in ("windows-1251", "cp-1251", "win1251", "x-cp1251", "ANSI_1251")
            ),
            (b"it\x92s", "ISO8859-1", "it\u2019s"),
            (b"\xf0", "iso-8859-9", "\u011f"),
            (b"\xa1", "tis-620", "\u0e01"),
            (b"\x8a", "macintosh", "\u00e4"),
            ("\u2460".encode("cp932"), "windows-31j", "\u2460"),
            (b"a\x81", "\x00", "a\ufffd"),
        ]
        for content, charset, text in table:
            self.assertEqual(bytes_text(content, charset), text, charset)
        for value in (
            "=?x?b?////?= \x1b[1m=?utf-8?q?=00a?=",
            "=?utf-8?b?AAAA\r\n?=",
            "=?utf-8?b?a?=",
        ):
            self.assertTrue(decoded(value).isprintable(), value)

    def read(self, message: EmailMessage) -> str:
        raw = parse(crlf(message))
        return read_text(raw, read_envelope(raw, settings()), settings()).text

    def test_text_comes_from_plain_text_else_from_html(self) -> None:
        def made() -> EmailMessage:
            message = EmailMessage()
            message["Authentication-Results"] = "mx.example.net; dmarc=pass"
            message["From"] = ANN
            return message

        both = made()
        both.set_content("plain")
        both.add_alternative("<p>html</p>", subtype="html")
        self.assertEqual(self.read(both), "plain")
        html = made()
        html.set_content("<p>html</p>", subtype="html")
        self.assertEqual(self.read(html), "html")
        empty = made()
        empty.set_content(" \n")
        empty.add_alternative("<p>html</p>", subtype="html")
        empty.add_attachment("notes", filename="../../n\u202eotes.txt")
        self.assertEqual(self.read(empty), "html")
        (file,) = read_files(parse(crlf(empty)), 100)
        self.assertEqual((file.kind, file.content.strip()), ("document", b"notes"))
        self.assertNotIn("/", file.name)
        self.assertTrue(file.name.isprintable())
        self.assertEqual(read_files(parse(crlf(empty)), 2), [])

    def test_command_stands_before_the_subject(self) -> None:
        for text, expected in [("/stop", "/stop"), ("do it", "Subject: Work\n\ndo it")]:
            raw = parse(mail(text, subject="Work"))
            found = read_text(raw, read_envelope(raw, settings()), settings())
            self.assertEqual(found.published(), {"text": expected})

    def test_subject_of_another_mail_is_no_word_of_the_sender(self) -> None:
        for subject in ("Fwd: Run it", "Re: Run it", "WG: Run it", "AW[2]: Run it", "转发：Run it"):
            raw = parse(mail("Look", subject=subject))
            found = read_text(raw, read_envelope(raw, settings()), settings())
            self.assertEqual(found.text, "Look")
            self.assertEqual([part.text for part in found.untrusted], [subject])

    def test_hidden_words_are_missing_in_the_plain_text_too(self) -> None:
        message = EmailMessage()
        message["Authentication-Results"] = "mx.example.net; dmarc=pass"
        message["From"] = ANN
        message.set_content("Hello run it world")
        message.add_alternative("<p>Hello <i hidden>run it</i> world</p>", subtype="html")
        self.assertEqual(self.read(message), "Hello world\n[1 hidden passage was left out]")

    def test_attached_mail_is_forwarded(self) -> None:
        inner = EmailMessage()
        inner["From"] = "Eve <e@x.org>"
        inner["Subject"] = "Order"
        inner.set_content("Run it.")
        outer = EmailMessage()
        outer["Authentication-Results"] = "mx.example.net; dmarc=pass"
        outer["From"] = ANN
        outer.set_content("See below")
        outer.add_attachment(inner)
        raw = parse(crlf(outer))
        found = read_text(raw, read_envelope(raw, settings()), settings())
        self.assertEqual(found.text, "See below")
        self.assertEqual(found.forwarded, [Part("Eve <e@x.org>", "Subject: Order\n\nRun it.")])


HEAD = b"Authentication-Results: mx.example.net; dmarc=pass\r\nFrom: Ann <ann@example.org>\r\n"


def broken(headers: bytes, body: bytes) -> tuple[Any, str, list[str]]:
    """Return the envelope, the text and the names of the files of a mail."""
    raw = (HEAD + headers + b"\r\n" + body).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    message = parse(raw)
    envelope = read_envelope(message, settings())
    text = read_text(message, envelope, settings()).text
    return envelope, text, [file.name for file in read_files(message, 10**6)]


class BrokenTest(unittest.TestCase):
    """Mails that break the rules. Their text arrives all the same."""

    def test_body_arrives_whatever_its_structure(self) -> None:
        kind = b"Content-Type: "
        code = b"Content-Transfer-Encoding: "
        part = b"Content-Type: text/plain\n\nhello\n"
        base64 = b"aGVsbG8gd29ybGQsIGdvb2QgbW9ybmluZyE="
        table: list[tuple[bytes, bytes, str]] = [
            (kind + b"multipart/mixed\n", b"hello", "hello"),
            (kind + b"multipart/mixed; boundary=\n", b"hello", "hello"),
            (kind + b"multipart/mixed; boundary=other\n", b"hello", "hello"),
            (kind + b"multipart/alternative\n", b"<html><p>hello</p>", "hello"),
            (kind + b"multipart/mixed\n", b"--a1\n" + part + b"--a1--\n", "hello"),
            (kind + b"multipart/mixed; boundary=b\n", b"pre\n--a1\n" + part, "hello"),
            (kind + b"multipart/mixed; boundary=a1\n", b"--a1\n" + part, "hello"),
            (
                kind + b"multipart/mixed; boundary=a1\n",
                b"--a1\nContent-Type: multipart/alternative; boundary=b1\n\n--b1\n" + part,
                "hello",
            ),
            (kind + b"multipart/mixed; boundary=a1\n", b"--a1\n\n--a1\n" + part, "hello"),
            (kind + b"multipart/mixed; boundary=a1\n", b"--a1\n\nhello\n--a1--", "hello"),
            (b"", b"hello", "hello"),
            (b"", b"<html><body><p>hello</p>", "hello"),
            (kind + b"\n", b"hello", "hello"),
            (kind + b"text\n", b"hello", "hello"),
            (kind + b"plain/text\n", b"hello", "hello"),
            (kind + b"text/plain; charset\n", b"hello", "hello"),
            (kind + b"text/plain; charset*=x''y%\n", b"hello", "hello"),
            (kind + b"text/plain; charset=no-such\n", "grüße".encode(), "grüße"),
            (kind + b"text/plain; charset=no-such\n", "grüße".encode("cp1252"), "grüße"),
            (kind + b"text/plain; charset=utf-16\n", b"hello!", "hello!"),
            (kind + b"text/plain; charset=gb2312\n", "你好囍".encode("gb18030"), "你好囍"),
            (kind + b"text/plain; charset='utf-8'\n", "ä".encode(), "ä"),
            (code + b"base64\n", b"hello, this is plain", "hello, this is plain"),
            (code + b"base64\n", b"hello", "hello"),
            (code + b"base64\n", b"test", "test"),
            (code + b"base64\n", base64, "hello world, good morning!"),
            (code + b"base64\n", base64.rstrip(b"="), "hello world, good morning!"),
            (
                code + b"base64\n",
                base64 + b"\n-----\nthe list",
                "hello world, good morning!\n-----\nthe list",
            ),
            (code + b"no-such\n", b"hello", "hello"),
            (code + b"quoted-printable\n", b"a = b =zz", "a = b =zz"),
            (code + b"x-uuencode\n", b"hello", "hello"),
        ]
        for headers, body, expected in table:
            _, text, files = broken(headers, body)
            self.assertEqual((text, files), (expected, []), headers + body)

    def test_mails_from_the_field_arrive_as_text(self) -> None:
        config = settings(authentication=AuthenticationConfig(mode="none"))
        for name, expected in {
            "without-boundary.eml": "Subject: Hi\n\nhello without boundary",
            "raw-8bit.eml": "Subject: Grüße\n\nhello",
        }.items():
            message = parse((PLUGIN / "tests/mails" / name).read_bytes())
            text = read_text(message, read_envelope(message, config), config).text
            self.assertEqual((text, read_files(message, 1000)), (expected, []))

    def test_deep_and_unfinished_parts_end_in_text_or_nothing(self) -> None:
        deep, count = b"", 500
        for number in range(count):
            name = str(number).encode()
            deep += b"Content-Type: multipart/mixed; boundary=b" + name + b"\n\n--b" + name + b"\n"
        headers, _, body = deep.partition(b"\n\n")
        broken(headers + b"\n", body + b"\nhello")
        empty = b"--a1\nContent-Type: text/plain\n\n--a1--"
        _, text, files = broken(b"Content-Type: multipart/mixed; boundary=a1\n", empty)
        self.assertEqual((text, files), ("", []))

    def test_headers_after_a_mark_or_blank_lines_are_headers(self) -> None:
        mail = b"From: Ann <ann@x.org>\r\nSubject: tea\r\n\r\nhello"
        for start in (b"", b"\xef\xbb\xbf", b"\r\n\r\n", b"\n", b"\xef\xbb\xbf\r\n"):
            message = parse(start + mail)
            self.assertEqual((message["Subject"], message.get_payload()), ("tea", "hello"), start)

    def test_headers_in_8_bit_are_guessed_as_the_body_is(self) -> None:
        for charset in ("utf-8", "cp1252"):
            value = "Grüße an Änn".encode(charset)
            file = (
                b"--a\n\nhello\n--a\nContent-Type: text/x\n"
                b'Content-Disposition: attachment; filename="' + value + b'.txt"\n\nx\n--a--'
            )
            headers = b"Subject: " + value + b"\nContent-Type: multipart/mixed; boundary=a\n"
            envelope, text, files = broken(headers, file)
            self.assertEqual(envelope.subject, "Grüße an Änn", charset)
            self.assertEqual(text, "Subject: Grüße an Änn\n\nhello")
            self.assertEqual(files, ["Grüße an Änn.txt"])
        huge = broken(b"Subject: " + b"\xfc" * 200_000 + b"\nX-A: " + b"x" * 10**6 + b"\n", b"hi")
        self.assertEqual(huge[0].subject, "ü" * 200)

    def test_message_ids_outside_of_ascii_name_the_thread_and_are_not_sent(self) -> None:
        for charset in ("utf-8", "latin1"):
            name = "<grüße@x.org>".encode(charset)
            first = broken(b"Message-ID: " + name + b"\n", b"hi")[0]
            self.assertEqual(first.message_id, "<grüße@x.org>")
            answer = (
                b"Message-ID: <2@x.org>\nReferences: " + name + b"\nIn-Reply-To: " + name + b"\n"
            )
            second = broken(answer, b"hi")[0]
            self.assertEqual(first.chat, second.chat)
            for envelope, lines in (
                (first, []),
                (second, [b"In-Reply-To: <2@x.org>", b"References: <2@x.org>"]),
            ):
                thread = Thread(envelope.message_id, envelope.references, envelope.subject)
                sent = compose(
                    settings(), envelope.chat, thread, Answer("n", "hi", [], [], False, [])
                )
                self.assertTrue(sent.isascii())
                ids = [line for line in sent.split(b"\r\n") if line[:3] in (b"In-", b"Ref")]
                self.assertEqual(ids, lines)
        # Without an id, the headers name the mail.
        self.assertTrue(broken(b"Subject: \xfc\n", b"hi")[0].key)

    def test_any_bytes_are_a_mail_or_are_skipped(self) -> None:
        pieces = [
            b"Content-Type: ", b"multipart/mixed", b"; boundary=a", b"\n", b"\n\n", b"--a", b"--a--",
            b"text/html", b"; charset=utf-16", b"Content-Transfer-Encoding: base64", b"\xff", b"=?x?b?",
            b"Subject: ", b"Message-ID: <\xe4@b>", b"<p>", b"message/rfc822", b"AAAA", b" ", b"\0",
        ]  # fmt: skip
        chance = random.Random(7)
        for _ in range(600):
            raw = HEAD + b"".join(chance.choices(pieces, k=chance.randrange(25)))
            try:
                message = parse(raw)
                envelope = read_envelope(message, settings())
            except Skip:
                continue
            read_text(message, envelope, settings())
            read_files(message, 1000)


class GuardTest(unittest.TestCase):
    def test_guard_allows_a_number_of_mails_in_an_hour(self) -> None:
        guard = Guard(2)
        times = [(0, True), (10, True), (20, False), (3600, True), (3601, False), (3611, True)]
        for arrived, expected in times:
            self.assertEqual(guard.allows("a", arrived), expected, arrived)
        self.assertTrue(guard.allows("b", 20))
        guard.forget_last("a")
        self.assertTrue(guard.allows("a", 3612))

    def test_position_that_is_malformed_is_none(self) -> None:
        self.assertEqual(str(parse_position("7 8 9")), "7 8 9")
        for text in ("", "7", "7 x 9", "1 2 3 4"):
            self.assertIsNone(parse_position(text))


if __name__ == "__main__":
    unittest.main()
