"""Lines of the IRC protocol: parsing, writing, and the comparison of names.

Sources: RFC 1459, RFC 2812, and "Message Tags" of IRCv3.
"""

from dataclasses import dataclass, field

# The longest line with its end, without tags (RFC 2812, 2.3).
MAX_LINE_BYTES = 512
# The longest part with tags that a server may send ("Message Tags", "Size limit").
MAX_TAG_BYTES = 8191
# A line of a server that is longer than this ends the connection.
MAX_READ_BYTES = 64 * 1024

_ESCAPES = {":": ";", "s": " ", "\\": "\\", "r": "\r", "n": "\n"}
_ASCII = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_STRICT = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ[]\\", "abcdefghijklmnopqrstuvwxyz{}|")
_RFC1459 = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ[]\\~", "abcdefghijklmnopqrstuvwxyz{}|^")
_CASEMAPPINGS = {
    "ascii": _ASCII,
    "rfc1459": _RFC1459,
    "rfc1459-strict": _STRICT,
    "strict-rfc1459": _STRICT,
}


class BadLine(ValueError):
    """A text that is not a line of the protocol."""


@dataclass(frozen=True)
class Message:
    """A line. `source` is the server or `nick!user@host`."""

    command: str
    params: tuple[str, ...] = ()
    source: str = ""
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def nick(self) -> str:
        """The nickname in the source, or the name of the server."""
        return self.source.split("!", 1)[0].split("@", 1)[0]

    @property
    def last(self) -> str:
        """The last parameter, which is the text of most lines; empty without parameters."""
        return self.params[-1] if self.params else ""

    def param(self, number: int) -> str:
        """Return a parameter; empty if the line has fewer."""
        return self.params[number] if number < len(self.params) else ""


def decode(line: bytes) -> str:
    """Return a line as text. Lines that are not UTF-8 are read as Windows-1252, as clients do."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


def parse(line: bytes) -> Message:
    """Parse a line without its end. Raises `BadLine`."""
    rest = decode(line.rstrip(b"\r\n").replace(b"\0", b""))
    tags: dict[str, str] = {}
    source = ""
    if rest.startswith("@"):
        written, _, rest = rest[1:].partition(" ")
        tags = _parse_tags(written)
        rest = rest.lstrip(" ")
    if rest.startswith(":"):
        source, _, rest = rest[1:].partition(" ")
    head, colon, last = rest.partition(" :")
    words = head.split(" ") if not rest.startswith(":") else []
    words = [word for word in words if word]
    if not words:
        raise BadLine(f"a line of {len(line)} bytes has no command: {line[:60]!r}")
    params = [*words[1:], last] if colon else words[1:]
    return Message(words[0].upper(), tuple(params), source, tags)


def _parse_tags(written: str) -> dict[str, str]:
    tags = {}
    for part in written.split(";"):
        name, _, value = part.partition("=")
        if name:
            tags[name] = _unescape(value)
    return tags


def _unescape(value: str) -> str:
    out, chars = [], iter(value)
    for char in chars:
        if char == "\\":
            # A lone backslash at the end is dropped ("Message Tags", "Escaping values").
            char = next(chars, "")
            char = _ESCAPES.get(char, char)
        out.append(char)
    return "".join(out)


def escape(value: str) -> str:
    """Return the value of a tag in its written form."""
    for char, written in (("\\", "\\\\"), (";", "\\:"), (" ", "\\s"), ("\r", "\\r"), ("\n", "\\n")):
        value = value.replace(char, written)
    return value


def line(command: str, *params: str, tags: dict[str, str] | None = None) -> bytes:
    """Write a line with its end. The last parameter may have spaces. Raises `BadLine`."""
    words = [command]
    for number, param in enumerate(params):
        is_last = number == len(params) - 1
        needs_colon = not param or " " in param or param.startswith(":")
        if needs_colon and not is_last:
            raise BadLine(f"{command}: the parameter {param!r} cannot be written here")
        # Texts always have the colon, so that a text never changes the form of its line.
        is_text = is_last and command in ("PRIVMSG", "NOTICE", "QUIT", "PING", "PONG", "USER")
        words.append(f":{param}" if is_text or needs_colon else param)
    text = " ".join(words)
    if any(char in text for char in "\r\n\0"):
        raise BadLine(f"{command}: a parameter contains the end of a line or NUL")
    body = text.encode("utf-8", "replace") + b"\r\n"
    if len(body) > MAX_LINE_BYTES:
        raise BadLine(
            f"{command}: the line has {len(body)} bytes; at most {MAX_LINE_BYTES} are allowed"
        )
    if not tags:
        return body
    written = ";".join(f"{name}={escape(value)}" if value else name for name, value in tags.items())
    return b"@" + written.encode() + b" " + body


def fold(name: str, casemapping: str) -> str:
    """Return the form of a name that is equal for equal names. The default is rfc1459."""
    if casemapping in ("precis", "rfc7613", "rfc8265"):
        return name.casefold()
    return name.translate(_CASEMAPPINGS.get(casemapping, _RFC1459))
