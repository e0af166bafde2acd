"""A client for IMAP4rev1 (RFC 3501): IDLE (RFC 2177), MOVE (RFC 6851) and UIDPLUS (RFC 4315)."""

import asyncio
import contextlib
import re
import socket
from dataclasses import dataclass
from typing import Any, Self

from avocet_client import network

from .config import ImapConfig, Server
from .log import shown

# Bytes of the longest line without its literals.
MAX_LINE = 256 * 1024
# Headers and answers beside a mail itself.
MAX_OTHER = 1024 * 1024


class ImapError(Exception):
    """The server cannot be reached or breaks the protocol. The next connection may work."""


class ImapRefused(ImapError):
    """The server has answered NO or BAD."""


class Literal(bytes):
    """A string of a response that was sent with its length."""


@dataclass(frozen=True)
class Folder:
    """The result of SELECT."""

    validity: int
    # The UID that the next new mail will have.
    next: int


TOKEN = re.compile(
    rb"""\s*(?:(?P<paren>[()])|"(?P<quoted>(?:[^"\\]|\\.)*)"
    |(?P<atom>(?:[^\s()"\[]|\[[^\]]*\]?)+)|(?P<other>.))""",
    re.VERBOSE | re.DOTALL,
)


def parse(pieces: list[bytes]) -> list[Any]:
    """Parse a response of lines and literals into nested lists."""
    stack: list[list[Any]] = [[]]
    for piece in pieces:
        if isinstance(piece, Literal):
            stack[-1].append(piece)
            continue
        for found in TOKEN.finditer(piece):
            if found["paren"] == b"(":
                stack.append([])
            elif found["paren"] == b")":
                if len(stack) < 2:
                    raise ImapError("the server has sent an unmatched parenthesis")
                done = stack.pop()
                stack[-1].append(done)
            elif found["quoted"] is not None:
                stack[-1].append(re.sub(rb"\\(.)", rb"\1", found["quoted"]))
            elif found["atom"]:
                stack[-1].append(found["atom"])
    if len(stack) > 1:
        raise ImapError("the server has sent an unclosed parenthesis")
    return stack[0]


class Imap:
    """A connection to the server, after the login."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        config: ImapConfig,
        limit: int,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._config = config
        # Bytes of the longest mail.
        self._limit = limit + MAX_OTHER
        self._number = 0
        self._next: asyncio.Task[list[bytes]] | None = None
        self._is_idle = False
        self.capabilities: set[str] = set()
        self.is_news = False
        """`True` after the server has announced mail."""

    @classmethod
    async def connect(cls, config: ImapConfig, limit: int) -> Self:
        """Connect and log in. `limit` are the bytes of the longest mail."""
        imap = None
        try:
            async with asyncio.timeout(config.timeout_seconds):
                reader, writer, is_greeted = await streams(config)
                imap = cls(reader, writer, config, limit)
                await imap._begin(is_greeted)
            return imap
        except BaseException as error:
            if imap is not None:
                imap.close()
            if isinstance(error, TimeoutError):
                where = f"{config.host}:{config.port}"
                raise ImapError(f"{where} has not answered in {config.timeout_seconds} s") from None
            if isinstance(error, OSError):
                raise ImapError(
                    f"cannot connect to {config.host}:{config.port}: {error}"
                ) from error
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(ImapError, OSError):
            async with asyncio.timeout(1):
                if self._is_idle:
                    await self._write(b"DONE\r\n")
                await self.command("LOGOUT")
        self.close()

    def close(self) -> None:
        """End the connection."""
        if self._next is not None:
            self._next.cancel()
        self._writer.close()

    async def _begin(self, is_greeted: bool) -> None:
        if not is_greeted:
            greeting = b"".join(await self._response(None))
            if not greeting.upper().startswith(b"* OK"):
                raise ImapError(f"the server has refused the connection: {text_of(greeting)}")
        await self._read_capabilities()
        if "LOGINDISABLED" in self.capabilities:
            raise ImapRefused("the server refuses logins on this connection; set `imap.security`")
        try:
            password = self._config.password
            await self.command("LOGIN", string(self._config.username), string(password))
        except ImapRefused as error:
            raise ImapRefused(
                f"the server has refused the login of {self._config.username}: {error}; check "
                "`imap.username` and the password"
            ) from None
        # The capabilities may differ after the login.
        await self._read_capabilities()

    async def _read_capabilities(self) -> None:
        for line in await self.command("CAPABILITY"):
            if line[:2] == [b"*", b"CAPABILITY"]:
                self.capabilities = {text_of(word).upper() for word in line[2:]}

    async def command(self, *parts: str | bytes) -> list[list[Any]]:
        """Send a command and return the untagged responses. `Literal` parts become literals."""
        tag = await self._send(*parts)
        lines = []
        while True:
            line = await self._line()
            if line[0] == b"*":
                lines.append(line)
            elif line[0] == tag:
                self._check(line)
                return lines

    async def _send(self, *parts: str | bytes) -> bytes:
        self._number += 1
        tag = f"A{self._number}".encode()
        buffer = tag
        for part in parts:
            if isinstance(part, Literal):
                await self._write(buffer + b" {%d}\r\n" % len(part))
                await self._continuation(tag)
                buffer = bytes(part)
            else:
                buffer += b" " + (part.encode("ascii") if isinstance(part, str) else part)
        await self._write(buffer + b"\r\n")
        return tag

    async def _write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            async with asyncio.timeout(self._config.timeout_seconds):
                await self._writer.drain()
        except (OSError, TimeoutError) as error:
            raise ImapError(f"the connection was lost: {error}") from error

    async def _continuation(self, tag: bytes) -> None:
        while (line := await self._line())[0] != b"+":
            if line[0] == tag:
                self._check(line)
                raise ImapError("the server has ended a command before its data")

    def _check(self, line: list[Any]) -> None:
        if line[1:2] != [b"OK"]:
            raise ImapRefused(" ".join(text_of(word) for word in line[1:]))

    async def _line(self) -> list[Any]:
        """Return the next response, parsed."""
        pieces = await self._response(self._config.timeout_seconds)
        # A continuation and a status have free text.
        if pieces[0].startswith(b"+"):
            return [b"+"]
        words = pieces[0].split()
        if len(words) > 1 and words[1].upper() in (b"OK", b"NO", b"BAD", b"BYE", b"PREAUTH"):
            code = re.search(rb"\[([A-Z]+) (\d+)\]", pieces[0])
            line = [words[0], words[1].upper(), *([code[1], code[2]] if code else words[2:])]
        else:
            line = parse(pieces)
        if len(line) < 2:
            raise ImapError(f"the server has sent an unknown line: {text_of(pieces[0])}")
        if line[0] == b"*" and line[1] == b"BYE":
            raise ImapError(f"the server ends the connection: {text_of(pieces[0])}")
        if line[0] == b"*" and line[2:3] == [b"EXISTS"]:
            self.is_news = True
        return line

    async def _response(self, seconds: float | None) -> list[bytes]:
        """Return the next response. After a timeout, the reading continues in the next call."""
        if self._next is None:
            self._next = asyncio.create_task(self._read())
        done, _ = await asyncio.wait({self._next}, timeout=seconds)
        if not done:
            raise ImapError(f"the server has not answered in {seconds} s")
        task, self._next = self._next, None
        try:
            return task.result()
        except (OSError, EOFError) as error:
            raise ImapError(f"the connection was lost: {error}") from error

    async def _read(self) -> list[bytes]:
        """Read a line with its literals."""
        pieces: list[bytes] = []
        left = self._limit
        while True:
            try:
                line = (await self._reader.readuntil(b"\r\n"))[:-2]
            except asyncio.LimitOverrunError:
                raise ImapError(f"the server has sent a line over {MAX_LINE} bytes") from None
            length = re.search(rb"\{(\d{1,12})\}$", line)
            pieces.append(line[: length.start()] if length else line)
            left -= len(line)
            if length is None:
                return pieces
            left -= int(length[1])
            if left < 0:
                raise ImapError(f"the server has sent an answer over {self._limit} bytes")
            pieces.append(Literal(await self._reader.readexactly(int(length[1]))))

    async def select(self, folder: str) -> Folder:
        """Open a folder."""
        values = {}
        for line in await self.command("SELECT", string(folder)):
            if line[1] == b"OK" and len(line) == 4 and line[3].isdigit():
                values[line[2]] = int(line[3])
        if b"UIDVALIDITY" not in values or b"UIDNEXT" not in values:
            raise ImapError(
                f"the server gives no UIDVALIDITY or UIDNEXT for {folder}; it is needed"
            )
        return Folder(values[b"UIDVALIDITY"], values[b"UIDNEXT"])

    async def search(self, *criteria: str | bytes) -> list[int]:
        """Return the UIDs of mails, in ascending order."""
        lines = await self.command("UID", "SEARCH", *criteria)
        found = [line[2:] for line in lines if line[1] == b"SEARCH"]
        return sorted({int(word) for words in found for word in words if word.isdigit()})

    async def fetch(self, uid: int, *items: str) -> dict[str, Any] | None:
        """Return items of a mail by their names; `None` if the mail is gone."""
        for line in await self.command("UID", "FETCH", str(uid), f"({' '.join(items)})"):
            if line[2:3] == [b"FETCH"] and isinstance(line[-1], list):
                pairs = zip(line[-1][::2], line[-1][1::2], strict=False)
                values = {text_of(name).upper(): value for name, value in pairs}
                if values.get("UID") == str(uid).encode():
                    return values
        return None

    async def mark_seen(self, uid: int) -> None:
        """Set the flag `\\Seen`."""
        await self.command("UID", "STORE", str(uid), "+FLAGS.SILENT", "(\\Seen)")

    async def move(self, uid: int, folder: str) -> None:
        """Move a mail to another folder."""
        if "MOVE" in self.capabilities:
            await self.command("UID", "MOVE", str(uid), string(folder))
            return
        await self.command("UID", "COPY", str(uid), string(folder))
        await self.command("UID", "STORE", str(uid), "+FLAGS.SILENT", "(\\Deleted)")
        # EXPUNGE without a UID would remove mails that other programs have marked.
        if "UIDPLUS" in self.capabilities:
            await self.command("UID", "EXPUNGE", str(uid))

    async def wait(self) -> None:
        """Wait for new mail, at most until IDLE must be renewed."""
        if "IDLE" not in self.capabilities:
            await asyncio.sleep(self._config.poll_seconds)
            await self.command("NOOP")
            return
        # Any await may be cancelled. With this flag, `__aexit__` then sends DONE first.
        self._is_idle = True
        tag = await self._send("IDLE")
        try:
            await self._continuation(tag)
        except ImapError:
            self._is_idle = False
            raise
        end = asyncio.get_running_loop().time() + self._config.idle_seconds
        while not self.is_news:
            left = end - asyncio.get_running_loop().time()
            if left <= 0 or not await self._arrives(left):
                break
            await self._line()
        self._is_idle = False
        await self._write(b"DONE\r\n")
        while (line := await self._line())[0] != tag:
            pass
        self._check(line)

    async def _arrives(self, seconds: float) -> bool:
        """Return `True` as soon as a response has arrived."""
        if self._next is None:
            self._next = asyncio.create_task(self._read())
        return bool((await asyncio.wait({self._next}, timeout=seconds))[0])


def string(text: str) -> bytes:
    """Return an argument of a command."""
    data = text.encode()
    if not data.isascii() or len(data) > 500:
        return Literal(data)
    if re.search(rb"[\x00-\x1f\x7f]", data):
        raise ImapRefused("a user name, password or folder contains a control character; remove it")
    return b'"' + re.sub(rb'(["\\])', rb"\\\1", data) + b'"'


def text_of(data: Any) -> str:
    """Return a word of the server for messages."""
    return shown(data.decode("utf-8", "replace") if isinstance(data, bytes) else data)


async def streams(config: Server) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bool]:
    """Connect with the configured encryption. The last value is `True` if the greeting was read."""
    where = (config.host, config.port)
    if config.security != "starttls":
        context = config.tls() if config.security == "tls" else None
        reader, writer = await network.open_connection(*where, ssl=context, limit=MAX_LINE)
        keep_alive(writer.get_extra_info("socket"))
        return reader, writer, False
    loop = asyncio.get_running_loop()
    plain = await asyncio.to_thread(network.create_connection, where, config.timeout_seconds)
    try:
        plain.setblocking(False)
        keep_alive(plain)
        # Read byte by byte, so that no text from before the encryption counts as one after it.
        await raw_line(plain)
        await loop.sock_sendall(plain, b"S1 STARTTLS\r\n")
        while (line := await raw_line(plain)).startswith(b"*"):
            pass
        if not line.upper().startswith(b"S1 OK"):
            raise ImapError(f"the server offers no STARTTLS: {text_of(line)}")
        reader, writer = await asyncio.open_connection(
            sock=plain, ssl=config.tls(), server_hostname=config.host, limit=MAX_LINE
        )
    except BaseException:
        plain.close()
        raise
    return reader, writer, True


async def raw_line(plain: socket.socket) -> bytes:
    """Read a line of a socket, and no byte behind it."""
    line = b""
    while not line.endswith(b"\r\n"):
        byte = await asyncio.get_running_loop().sock_recv(plain, 1)
        if not byte or len(line) > 8000:
            raise ImapError("the server has ended the connection before STARTTLS")
        line += byte
    return line


def keep_alive(connection: Any) -> None:
    """Let the system find out that a silent server is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
