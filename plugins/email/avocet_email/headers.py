"""Headers of mail as text. Their content is hostile, so no function here fails."""

import email.header
import email.utils
import re
from datetime import UTC
from email.message import Message

MAX_HEADER = 8000
# Some programs write ids outside of ASCII.
MESSAGE_ID = re.compile(r"<[^\s\x00-\x20\x7f-\x9f<>]{1,900}>")
MAX_REFERENCES = 30


def raw_values(message: Message, name: str) -> list[str]:
    """Return all values of a header from top to bottom, each in one line."""
    found = [value for key, value in message.raw_items() if key.lower() == name.lower()]
    return [unfolded(str(value)) for value in found]


def raw_value(message: Message, name: str) -> str:
    """Return the first value of a header; empty if it is missing."""
    return next(iter(raw_values(message, name)), "")


def unfolded(value: str) -> str:
    """Return a header in one line."""
    return re.sub(r"[\r\n]+\s*", " ", guessed(value)[:MAX_HEADER]).strip()


def guessed(value: str) -> str:
    """Return a header whose bytes outside of ASCII are read as UTF-8, else as Windows-1252.

    A header may only have ASCII. Programs that write other bytes write those of their own charset.
    """
    if value.isascii():
        return value
    return bytes_text(value.encode("utf-8", "surrogateescape"), "utf-8")


def decoded(value: str) -> str:
    """Return a header with its encoded words (RFC 2047) as text, without control characters."""
    try:
        parts = email.header.decode_header(value)
        text = "".join(word_text(part, charset) for part, charset in parts)
    except Exception:
        # The standard library raises many kinds of errors for malformed words.
        text = value
    return cleaned(text)


def word_text(part: bytes | str, charset: str | None) -> str:
    """Return the text of one part of a header."""
    if isinstance(part, str):
        return part
    return bytes_text(part, charset or "utf-8")


# Charsets whose name stands for a larger one, by the name that programs write (WHATWG Encoding).
LARGER_CHARSETS = {
    "ascii": "utf_8",
    "us_ascii": "utf_8",
    "8859_1": "cp1252",
    "iso8859_1": "cp1252",
    "iso_8859_1": "cp1252",
    "latin1": "cp1252",
    "latin_1": "cp1252",
    "iso_8859_9": "cp1254",
    "iso_8859_11": "cp874",
    "tis_620": "cp874",
    "windows_874": "cp874",
    "iso_8859_8_i": "iso8859_8",
    "macintosh": "mac_roman",
    "x_mac_roman": "mac_roman",
    "gb2312": "gb18030",
    "gb_2312_80": "gb18030",
    "gbk": "gb18030",
    "x_gbk": "gb18030",
    "euc_kr": "cp949",
    "ks_c_5601_1987": "cp949",
    "shift_jis": "cp932",
    "sjis": "cp932",
    "windows_31j": "cp932",
    "x_sjis": "cp932",
}
# Names of the charsets of Windows: `cp-1251`, `win1251`, `x-cp1251`.
WINDOWS_CHARSET = re.compile(r"(?:x_)?(?:cp|win|windows|ansi)_?(125[0-8])")
# Codecs of Python that are no charsets of mail. Some of them are slow for long inputs.
NO_CHARSETS = {"punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined", "utf_7"}


def bytes_text(content: bytes, charset: str) -> str:
    """Decode bytes. A wrong or unknown charset is replaced by UTF-8 or Windows-1252."""
    name = charset.strip(" '\"").lower().replace("-", "_")
    named = LARGER_CHARSETS.get(name, name)
    if (windows := WINDOWS_CHARSET.fullmatch(name)) is not None:
        named = f"cp{windows[1]}"
    # A text in UTF-16 or UTF-32 has zero bytes.
    is_wide = named.startswith(("utf_16", "utf_32", "utf16", "utf32"))
    for choice in (named, "utf_8"):
        if choice in NO_CHARSETS or choice == named and is_wide and 0 not in content:
            continue
        try:
            return content.decode(choice)
        except (LookupError, ValueError):
            continue
    return content.decode("cp1252", "replace")


def cleaned(text: str) -> str:
    """Return text in one line, with a space in place of control characters."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return re.sub(r"\s+", " ", printable).strip()


def message_ids(value: str) -> list[str]:
    """Return the message ids in a header, in order."""
    found = MESSAGE_ID.findall(value)
    if len(found) > MAX_REFERENCES:
        # The first one names the thread, and the last ones its newest messages.
        return [found[0], *found[1 - MAX_REFERENCES :]]
    return found


def timestamp(value: str) -> float | None:
    """Return the seconds since 1970 of a `Date` header; `None` if it is malformed."""
    try:
        date = email.utils.parsedate_to_datetime(value)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except Exception:
        return None
