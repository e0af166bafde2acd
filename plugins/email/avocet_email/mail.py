"""Reads a mail: its author, thread, text and files."""

import binascii
import codecs
import email
import email.parser
import hashlib
import re
from dataclasses import dataclass, field
from email._policybase import Compat32
from email.message import Message
from typing import Any

from .addresses import Author, Chat, parse_author, thread_of
from .config import MEGABYTE, Config
from .headers import (
    bytes_text,
    cleaned,
    decoded,
    guessed,
    message_ids,
    raw_value,
    raw_values,
    timestamp,
)
from .html import html_text
from .text import FORWARDING, MAX_TEXT, OF_ANOTHER, Part, split_text, tidied
from .trust import automatic, unproven

MAX_PARTS = 200
MAX_FILES = 20
MAX_SUBJECT = 200
# Attached mails, and characters of each, that are read with the mail. They are files, too.
MAX_MAILS = 5
MAX_MAIL = 20_000
# Parts of each kind that are published.
MAX_QUOTES = 50


# The types of parts that are registered. Others, such as `plain/text`, are mistakes.
MAIN_TYPES = {
    *("application", "audio", "font", "image", "message", "model", "multipart", "text", "video"),
}
# The start of a part in a mail whose boundary is missing or another one.
LOST_BOUNDARY = re.compile(rb"^--([^\s]{1,200})[ \t]*\r?\n(?=content-[a-z-]+:)", re.I | re.M)
HTML_START = re.compile(r"\s*<(!doctype\s+html|html|body|div|p|table)\b", re.IGNORECASE)
BASE64 = re.compile(rb"[A-Za-z0-9+/]+={0,2}")


class MailPolicy(Compat32):
    """Reads headers with bytes outside of ASCII as text. The standard class makes U+FFFD of them."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        """Return the value of a header."""
        return guessed(value)


POLICY = MailPolicy()


class Skip(Exception):
    """The mail is not for the agent. The text is the reason."""


@dataclass
class MailFile:
    """An attachment."""

    name: str
    media_type: str
    content: bytes = field(repr=False)

    @property
    def kind(self) -> str:
        """The way in which a chat would show the file."""
        main = self.media_type.partition("/")[0]
        return main if main in ("image", "audio", "video") else "document"


@dataclass
class Envelope:
    """The headers of an accepted mail."""

    author: Author
    chat: Chat
    # The id that an answer refers to; empty if the mail has none.
    message_id: str
    references: list[str]
    subject: str
    # Identifies the mail within its chat.
    key: str
    # Milliseconds since 1970.
    written_at: int | None
    is_reply: bool
    # `True` for an answer to a mail of the agent.
    is_answer: bool = False


def parse(raw: bytes) -> Message:
    """Parse a mail. Raises `Skip` if that is impossible."""
    # A byte order mark or blank lines in front would make the headers a part of the text.
    raw = raw.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    try:
        return email.message_from_bytes(raw, policy=POLICY)
    except RecursionError:
        # Parts inside each other, a hundred times or more. The body is one text then.
        return email.parser.BytesHeaderParser(policy=POLICY).parsebytes(raw)
    except Exception as error:
        # The parser has faults.
        raise Skip(f"it cannot be parsed: {type(error).__name__}") from error


def read_envelope(message: Message, config: Config) -> Envelope:
    """Check and read the headers. Raises `Skip` if the mail must not reach the agent."""
    values = raw_values(message, "From")
    author = parse_author(values[0]) if len(values) == 1 else None
    if author is None:
        raise Skip("its From header does not have exactly one address in a usual form")
    ids = message_ids(raw_value(message, "Message-ID"))
    if author.address == config.address or any(
        own_thread(name, config) is not None for name in ids
    ):
        raise Skip("the agent has written it")
    if (sign := automatic(message, author)) is not None:
        raise Skip(f"a program has written it: {sign}")
    if (reason := unproven(message, author, config.authentication)) is not None:
        raise Skip(f"its sender {author.address} is not proven: {reason}")
    references = message_ids(raw_value(message, "References"))
    answered = message_ids(raw_value(message, "In-Reply-To"))
    references += [name for name in answered if name not in references]
    own_id = ids[0] if ids else ""
    # Without an id, the headers themselves are the key.
    unique = own_id or "\n".join(f"{name}: {value}" for name, value in message.raw_items())
    thread = ""
    if config.chats == "thread":
        thread = thread_name(references, unique, author.address, config)
    date = timestamp(raw_value(message, "Date"))
    return Envelope(
        author=author,
        chat=Chat(author.address, thread),
        message_id=own_id,
        references=references,
        subject=decoded(raw_value(message, "Subject"))[:MAX_SUBJECT],
        key="m" + hashlib.sha256(unique.encode("utf-8", "replace")).hexdigest()[:32],
        written_at=None if date is None or not 0 < date < 2**33 else int(date * 1000),
        is_reply=bool(references),
        is_answer=any(own_thread(name, config) is not None for name in answered),
    )


def thread_name(references: list[str], own_id: str, address: str, config: Config) -> str:
    """Return the thread of a mail; empty for the chat without a thread.

    The ids of the agent's own mails contain the thread, so that an answer to them stays in it.
    """
    for name in reversed(references):
        if (thread := own_thread(name, config)) is not None:
            return thread
    return thread_of(references[0] if references else own_id, address)


def own_id(nonce: str, thread: str, config: Config) -> str:
    """Return the message id of a delivery. A repeated delivery has the same one."""
    return f"<avocet.{nonce}.{thread or 'none'}@{config.domain}>"


def own_thread(name: str, config: Config) -> str | None:
    """Return the thread in a message id of the agent; `None` for ids of other programs."""
    pattern = rf"<avocet\.[0-9A-Za-z]{{1,20}}\.([0-9a-f]{{16}}|none)@{re.escape(config.domain)}>"
    found = re.fullmatch(pattern, name)
    return found and found[1].replace("none", "")


@dataclass
class MailContent:
    """The words of a mail, by their authors."""

    text: str
    forwarded: list[Part]
    quotes: list[Part]
    untrusted: list[Part]

    def published(self) -> dict[str, Any]:
        """Return the fields of `publish`, with at most `MAX_TEXT` characters."""
        left = MAX_TEXT
        fields: dict[str, Any] = {"text": cut(self.text, left)}
        left -= len(fields["text"])
        for kind in ("forwarded", "quotes", "untrusted"):
            found: list[dict[str, Any]] = []
            for author, text in getattr(self, kind)[:MAX_QUOTES]:
                found.append({"from": author, "text": cut(text, left)})
                left = max(0, left - len(text))
            if found:
                fields[kind] = found
        return fields


def cut(text: str, most: int) -> str:
    """Cut a text that is too long, and say so."""
    return text if len(text) <= most else text[:most] + "\n(The rest of the mail was cut.)"


def read_text(message: Message, envelope: Envelope, config: Config) -> MailContent:
    """Return the words for the agent. The first mail of a thread begins with its subject."""
    text, hidden = visible_text(message)
    subject = envelope.subject
    is_forward = FORWARDING.match(subject) is not None
    own, forwarded, quotes = split_text(
        text, config.quote_characters, is_forward=is_forward, is_answer=envelope.is_answer
    )
    forwarded = forwarded + attached_mails(message)
    content = MailContent(own, forwarded, quotes, [])
    # A command must stand at the beginning.
    if subject and not envelope.is_reply and not own.startswith("/"):
        if OF_ANOTHER.match(subject):
            author = "the subject, which another author may have written"
            content.untrusted.append(Part(author, subject))
        else:
            content.text = f"Subject: {subject}\n\n{own}".strip()
    if hidden:
        passages = "1 hidden passage was" if hidden == 1 else f"{hidden} hidden passages were"
        note = f"[{passages} left out]"
        if parts := content.forwarded or content.quotes:
            parts[-1] = parts[-1]._replace(text=f"{parts[-1].text}\n{note}")
        elif not own.startswith("/"):
            content.text = f"{content.text}\n{note}".strip()
    return content


def visible_text(message: Message) -> tuple[str, int]:
    """Return the text that a reader sees, and the number of passages that nobody sees.

    The plain text repeats the hidden words of the HTML, so it is read only if there are none.
    """
    plain, html, _ = parts(message)
    text = tidied("\n\n".join(plain)) if any(text.strip() for text in plain) else ""
    if not html:
        return text, 0
    shown = html_text("\n".join(html))
    is_same = any(part.get_content_type() == "multipart/alternative" for part in message.walk())
    if not text or shown.hidden and is_same and shown.text.strip():
        return tidied(shown.text), shown.hidden
    return text, 0


def attached_mails(message: Message) -> list[Part]:
    """Return the texts of mails that are attached whole."""
    found: list[Part] = []
    for part in parts(message)[2]:
        if part.get_content_type() != "message/rfc822" or len(found) >= MAX_MAILS:
            continue
        try:
            inner = parse(payload(part))
        except Skip:
            continue
        author = decoded(raw_value(inner, "From"))[:MAX_SUBJECT]
        text, hidden = visible_text(inner)
        subject = decoded(raw_value(inner, "Subject"))[:MAX_SUBJECT]
        note = f"\n[{hidden} hidden passages were left out]" if hidden else ""
        text = f"Subject: {subject}\n\n{text[:MAX_MAIL]}{note}"
        found.append(Part(author or None, text))
    return found


def read_files(message: Message, limit: int) -> list[MailFile]:
    """Return the attachments whose size together is at most `limit` bytes."""
    files, size = [], 0
    for part in parts(message)[2][:MAX_FILES]:
        content = payload(part)
        size += len(content)
        if size > limit:
            break
        files.append(MailFile(file_name(part), part.get_content_type(), content))
    return files


def parts(message: Message) -> tuple[list[str], list[str], list[Message]]:
    """Return the plain texts, the HTML texts and the files of a mail."""
    plain: list[str] = []
    html: list[str] = []
    files: list[Message] = []
    waiting: list[Message] = [message]
    for _ in range(MAX_PARTS):
        if not waiting:
            break
        part = waiting.pop()
        kind = kind_of(part)
        inner: Any = part.get_payload()
        if kind.startswith("multipart/"):
            inner = inner if isinstance(inner, list) else found_parts(part)
        if isinstance(inner, list) and inner and kind.startswith("multipart/"):
            waiting.extend(reversed(inner))
        elif is_file(part, kind):
            files.append(part)
        else:
            text = bytes_text(text_payload(part), charset_of(part))
            is_html = kind == "text/html" or not is_typed(part) and HTML_START.match(text)
            (html if is_html else plain).append(text)
    return plain, html, files


def kind_of(part: Message) -> str:
    """Return the media type of a part: plain text if it is missing or a mistake."""
    kind = part.get_content_type()
    return kind if kind.partition("/")[0] in MAIN_TYPES else "text/plain"


def is_typed(part: Message) -> bool:
    """Return `True` if a part says that it is plain text."""
    return "plain" in raw_value(part, "Content-Type").lower()


def charset_of(part: Message) -> str:
    """Return the charset that a part names."""
    try:
        return str(part.get_param("charset") or "utf-8")
    except Exception:
        # Malformed RFC 2231 parameters raise errors.
        return "utf-8"


def found_parts(part: Message) -> list[Message]:
    """Return the parts of a multipart that the parser took for text.

    Its boundary is missing, or is another one than in the body. Without any boundary, there are none.
    """
    content = payload(part)
    # A body that was not parsed, because its parts are too deep, has no defects.
    found = LOST_BOUNDARY.search(content) if part.defects else None
    if found is None or b'"' in found[1]:
        return []
    head = b'Content-Type: multipart/mixed; boundary="' + found[1] + b'"\r\n\r\n'
    try:
        inner: Any = parse(head + content).get_payload()
    except Skip:
        return []
    return inner if isinstance(inner, list) else []


def is_file(part: Message, kind: str) -> bool:
    """Return `True` for a part that is no text of the mail itself."""
    disposition = raw_value(part, "Content-Disposition").lower()
    # A multipart without parts is a text whose boundary is missing.
    is_text = kind in ("text/plain", "text/html") or kind.startswith("multipart/")
    return disposition.startswith("attachment") or not is_text or bool(raw_name(part))


def raw_name(part: Message) -> str:
    """Return the file name of a part; empty if it has none."""
    try:
        return part.get_filename() or ""
    except Exception:
        # Malformed RFC 2231 parameters raise errors.
        return "file"


def file_name(part: Message) -> str:
    """Return a name without directories and control characters. The end of a long one is kept."""
    kind = part.get_content_type()
    fallback = "message.eml" if kind == "message/rfc822" else "file"
    name = cleaned(decoded(raw_name(part))).replace("\\", "/").rpartition("/")[2]
    return name.strip(". ")[-100:] or fallback


def payload(part: Message) -> bytes:
    """Return the bytes of a part. If its encoding is broken, return the undecoded bytes."""
    try:
        content: Any = part.get_payload(decode=True)
        if content is None:
            inner: Any = part.get_payload()
            content = inner[0].as_bytes() if isinstance(inner, list) and inner else b""
        return bytes(content)
    except Exception:
        # The codecs of Python raise several kinds of errors for broken encodings.
        return undecoded(part)


def undecoded(part: Message) -> bytes:
    """Return the bytes of a part as they are in the mail."""
    content: Any = part.get_payload()
    return content.encode("utf-8", "surrogateescape") if isinstance(content, str) else b""


def text_payload(part: Message) -> bytes:
    """Return the bytes of a text. A text that is not in Base64, although it says so, stays."""
    if raw_value(part, "Content-Transfer-Encoding").lower() != "base64":
        return payload(part)
    raw = undecoded(part)
    lines = [line.strip() for line in raw.splitlines()]
    end = next(
        (n for n, line in enumerate(lines) if line and not BASE64.fullmatch(line)), len(lines)
    )
    # A mailing list may have added its own lines below.
    encoded, rest = b"".join(lines[:end]), b"\n".join(lines[end:]).strip()
    try:
        content = binascii.a2b_base64(encoded[: -1 if len(encoded) % 4 == 1 else None] + b"==")
        is_valid = bool(bytes(content).decode(charset_of(part)))
    except (ValueError, LookupError):
        is_valid = False
    # A few words without spaces are Base64, too, but of no text.
    if not encoded or not is_valid and encoded.isalpha():
        return raw
    return content + b"\n" + rest if rest else content


def too_large(size: int, config: Config) -> bool:
    """Return `True` for a mail that is not read."""
    return size > config.max_message_megabytes * MEGABYTE
