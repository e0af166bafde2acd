"""A strict IMAP server in memory. It answers BAD to everything that RFC 3501 does not allow."""

import asyncio
import re
import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes
from typing import Any

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
STRING = rb'(?:"(?:[^"\\\r\n]|\\["\\])*"|[^\s(){%*"\\]+)'


@dataclass
class StoredMail:
    """A mail in a folder."""

    uid: int
    raw: bytes
    arrived: datetime
    flags: set[str] = field(default_factory=set)

    @property
    def header(self) -> bytes:
        return self.raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"

    @property
    def internal_date(self) -> str:
        date = self.arrived
        return f"{date.day:2}-{MONTHS[date.month - 1]}-{date:%Y %H:%M:%S} +0000"


class StoredFolder:
    """A folder. UIDs only grow."""

    def __init__(self) -> None:
        self.validity = 7
        self.next = 1
        self.mails: list[StoredMail] = []

    def add(self, raw: bytes, arrived: datetime | None = None) -> StoredMail:
        assert b"\n" not in raw.replace(b"\r\n", b""), "a mail has CRLF"
        mail = StoredMail(self.next, raw, arrived or datetime.now(UTC))
        self.next += 1
        self.mails.append(mail)
        return mail

    def renumber(self, validity: int, first: int) -> None:
        """Give the folder another UIDVALIDITY and the mails other UIDs."""
        self.validity = validity
        for uid, mail in enumerate(self.mails, first):
            mail.uid = uid
        self.next = first + len(self.mails)


class Bad(Exception):
    """A command that the server refuses with BAD."""


class No(Exception):
    """A command that the server refuses with NO."""


class FakeImap:
    """The server. `security` is `tls`, `starttls` or `plain`."""

    def __init__(self, security: str = "plain", context: ssl.SSLContext | None = None) -> None:
        self.security = security
        self.context = context
        self.password = 'se cret"\\'
        self.capabilities = ["IDLE", "MOVE", "UIDPLUS"]
        self.folders = {"INBOX": StoredFolder()}
        self.sessions: set[Session] = set()
        self.logins = 0
        self.idles = 0
        # Set unless a test holds the answer to IDLE.
        self.accepts_idle = asyncio.Event()
        self.accepts_idle.set()
        self.noops = 0
        self.bad: list[str] = []
        self.greeting = b"* OK ready\r\n"
        # Bytes that an attacker adds behind the answer to STARTTLS.
        self.injected = b""
        # Counts down; the connection ends instead of the answer to this command.
        self.drop_at: bytes | None = None
        self.is_down = False

    async def start(self) -> None:
        tls = self.context if self.security == "tls" else None
        self.server = await asyncio.start_server(
            self._serve, "127.0.0.1", 0, ssl=tls, limit=1 << 16
        )
        self.port = self.server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self.server.close()
        self.drop()

    @property
    def inbox(self) -> StoredFolder:
        return self.folders["INBOX"]

    def drop(self) -> None:
        """End all connections."""
        for session in list(self.sessions):
            session.writer.close()

    def deliver(self, raw: bytes, arrived: datetime | None = None) -> StoredMail:
        """Put a mail into the inbox, and announce it."""
        mail = self.inbox.add(raw, arrived)
        for session in self.sessions:
            if session.folder is self.inbox and session.is_idle:
                session.write(f"* {len(self.inbox.mails)} EXISTS")
        return mail

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_down:
            writer.close()
            return
        session = Session(self, reader, writer)
        self.sessions.add(session)
        try:
            await session.run()
        except (OSError, EOFError, asyncio.CancelledError):
            # The end of a connection, or of the test.
            pass
        finally:
            self.sessions.discard(session)
            writer.close()


class Session:
    """One connection."""

    def __init__(self, server: FakeImap, reader: Any, writer: Any) -> None:
        self.server, self.reader, self.writer = server, reader, writer
        self.is_secure = server.security != "starttls"
        self.is_in = False
        self.folder: StoredFolder | None = None
        self.is_idle = False
        self.announced = 0

    def write(self, line: str | bytes) -> None:
        self.writer.write((line.encode() if isinstance(line, str) else line) + b"\r\n")

    async def run(self) -> None:
        self.writer.write(self.server.greeting)
        while True:
            tag, _, command = (await self.line()).partition(b" ")
            if not re.fullmatch(rb"[A-Za-z0-9]+", tag):
                self.server.bad.append(repr(tag))
                self.write("* BAD a tag is missing")
                continue
            if self.server.drop_at and command.upper().startswith(self.server.drop_at):
                self.server.drop_at = None
                return
            try:
                done = await self.answer(command, tag)
            except Bad as error:
                self.server.bad.append(f"{command!r}: {error}")
                done = f"BAD {error}"
            except No as error:
                done = f"NO {error}"
            if self.folder is not None and len(self.folder.mails) != self.announced:
                self.announced = len(self.folder.mails)
                self.write(f"* {self.announced} EXISTS")
            self.write(tag + b" " + done.encode())
            if command.upper() == b"LOGOUT":
                return
            if command.upper() == b"STARTTLS" and done.startswith("OK"):
                self.writer.write(self.server.injected)
                await self.writer.start_tls(self.server.context)
                self.is_secure = True

    async def line(self) -> bytes:
        """Return a command with its literals as quoted strings."""
        line = b""
        while True:
            piece: bytes = await self.reader.readuntil(b"\n")
            if not piece.endswith(b"\r\n"):
                raise EOFError("a bare line feed")
            line += piece[:-2]
            if not (length := re.search(rb" \{(\d+)\}$", line)):
                return line
            self.write("+ go on")
            content = await self.reader.readexactly(int(length[1]))
            escaped = re.sub(rb'(["\\])', rb"\\\1", content)
            line = line[: length.start()] + b' "' + escaped + b'"'

    async def answer(self, command: bytes, tag: bytes) -> str:
        name = command.split(b" ")[0].upper().decode("ascii", "replace")
        rest = command[len(name) + 1 :]
        if name == "CAPABILITY" and not rest:
            return self.capability()
        if name == "NOOP" and not rest:
            self.server.noops += 1
            return "OK"
        if name == "LOGOUT" and not rest:
            self.write("* BYE see you")
            return "OK"
        if name == "STARTTLS" and not rest and not self.is_secure:
            return "OK begin"
        if name == "LOGIN" and not self.is_in:
            return self.login(rest)
        if not self.is_in:
            raise Bad("log in first")
        if name in ("SELECT", "CREATE"):
            return self.select(unquoted(rest)) if name == "SELECT" else self.create(unquoted(rest))
        if name == "IDLE" and not rest and "IDLE" in self.server.capabilities:
            return await self.idle(tag)
        if name == "UID" and self.folder is not None:
            return self.uid(rest)
        raise Bad("an unknown command, or a wrong state")

    def capability(self) -> str:
        words = ["IMAP4rev1", *self.server.capabilities]
        if not self.is_secure:
            words += ["STARTTLS", "LOGINDISABLED"]
        self.write(f"* CAPABILITY {' '.join(words)}")
        return "OK done"

    def login(self, rest: bytes) -> str:
        if not self.is_secure:
            raise No("[PRIVACYREQUIRED] STARTTLS first")
        if not re.fullmatch(STRING + b" " + STRING, rest, re.DOTALL):
            raise Bad("LOGIN user password")
        user, password = (unquoted(found) for found in re.findall(STRING, rest, re.DOTALL))
        if (user, password) != ("bot@example.net", self.server.password):
            raise No("[AUTHENTICATIONFAILED] wrong name or password")
        self.is_in = True
        self.server.logins += 1
        return "OK welcome"

    def select(self, name: str) -> str:
        if name not in self.server.folders:
            raise No("[NONEXISTENT] no such folder")
        self.folder = self.server.folders[name]
        self.announced = len(self.folder.mails)
        self.write("* FLAGS (\\Seen \\Deleted)")
        self.write(f"* {self.announced} EXISTS")
        self.write("* 0 RECENT")
        self.write(f"* OK [UIDVALIDITY {self.folder.validity}] valid")
        self.write(f"* OK [UIDNEXT {self.folder.next}] next")
        return "OK [READ-WRITE] selected"

    def create(self, name: str) -> str:
        if name in self.server.folders:
            raise No("[ALREADYEXISTS] it exists")
        self.server.folders[name] = StoredFolder()
        return "OK created"

    async def idle(self, tag: bytes) -> str:
        self.server.idles += 1
        await self.server.accepts_idle.wait()
        self.write("+ idling")
        assert self.folder is not None
        if len(self.folder.mails) != self.announced:
            self.write(f"* {len(self.folder.mails)} EXISTS")
        self.is_idle = True
        line = await self.reader.readuntil(b"\r\n")
        self.is_idle = False
        self.announced = len(self.folder.mails)
        if line != b"DONE\r\n":
            raise Bad("only DONE ends IDLE")
        return "OK idle ends"

    def uid(self, rest: bytes) -> str:
        assert self.folder is not None
        name, _, arguments = rest.decode("ascii", "replace").partition(" ")
        if name == "SEARCH":
            found = " ".join(
                str(mail.uid) for mail in self.folder.mails if matches(arguments, mail, self.folder)
            )
            self.write(f"* SEARCH {found}".rstrip())
            return "OK"
        number, _, what = arguments.partition(" ")
        if not number.isdigit():
            raise Bad("this client names one UID")
        mail = next((mail for mail in self.folder.mails if mail.uid == int(number)), None)
        if name == "FETCH":
            return self.fetch(mail, what)
        if name == "STORE":
            return self.store(mail, what)
        if name in ("MOVE", "COPY") and (name == "COPY" or "MOVE" in self.server.capabilities):
            return self.move(mail, unquoted(what.encode()), name == "MOVE")
        if name == "EXPUNGE" and not what and "UIDPLUS" in self.server.capabilities:
            if mail is not None and "\\Deleted" in mail.flags:
                self.remove(mail)
            return "OK"
        raise Bad("an unknown UID command")

    def fetch(self, mail: StoredMail | None, what: str) -> str:
        if not (items := re.fullmatch(r"\(([^()]+)\)", what)):
            raise Bad("FETCH needs a list")
        if mail is None:
            return "OK"
        parts = [b""]
        for item in items[1].split():
            if item == "UID":
                parts.append(b"UID %d" % mail.uid)
            elif item == "INTERNALDATE":
                parts.append(f'INTERNALDATE "{mail.internal_date}"'.encode())
            elif item == "RFC822.SIZE":
                parts.append(b"RFC822.SIZE %d" % len(mail.raw))
            elif item in ("BODY.PEEK[]", "BODY.PEEK[HEADER]"):
                content = mail.raw if item.endswith("[]") else mail.header
                name = item.replace(".PEEK", "").encode()
                parts.append(b"%s {%d}\r\n%s" % (name, len(content), content))
            else:
                raise Bad(f"the item {item}")
        assert self.folder is not None
        place = self.folder.mails.index(mail) + 1
        self.write(b"* %d FETCH (%s)" % (place, b" ".join(parts[1:])))
        return "OK"

    def store(self, mail: StoredMail | None, what: str) -> str:
        found = re.fullmatch(r"\+FLAGS\.SILENT \((\\Seen|\\Deleted)\)", what)
        if not found:
            raise Bad("STORE")
        if mail is not None:
            mail.flags.add(found[1])
        return "OK"

    def move(self, mail: StoredMail | None, name: str, is_move: bool) -> str:
        if name not in self.server.folders:
            raise No("[TRYCREATE] no such folder")
        if mail is not None:
            self.server.folders[name].add(mail.raw, mail.arrived).flags |= mail.flags
            if is_move:
                self.remove(mail)
        return "OK"

    def remove(self, mail: StoredMail) -> None:
        assert self.folder is not None
        place = self.folder.mails.index(mail)
        del self.folder.mails[place]
        self.announced -= 1
        self.write(f"* {place + 1} EXPUNGE")


def unquoted(text: bytes) -> str:
    """Return the value of an argument."""
    if text.startswith(b'"'):
        text = re.sub(rb"\\(.)", rb"\1", text[1:-1], flags=re.DOTALL)
    return text.decode()


def matches(criteria: str, mail: StoredMail, folder: StoredFolder) -> bool:
    """Return `True` if a mail is in the result of SEARCH."""
    if criteria == "ALL":
        return True
    if found := re.fullmatch(r"UID (\d+):\*", criteria):
        # `*` is the last mail, so a range always has it.
        return mail.uid >= int(found[1]) or mail is folder.mails[-1]
    if found := re.fullmatch(r"SINCE (\d+)-(\w{3})-(\d{4})", criteria):
        day = datetime(int(found[3]), MONTHS.index(found[2]) + 1, int(found[1]), tzinfo=UTC)
        return mail.arrived >= day
    parsed = message_from_bytes(mail.header)
    if found := re.fullmatch(r'FROM "([^"]*)"', criteria):
        return found[1].lower() in str(parsed["From"]).lower()
    if found := re.fullmatch(r'HEADER Message-ID "([^"]*)"', criteria):
        return found[1] in str(parsed["Message-ID"])
    raise Bad(f"SEARCH {criteria}")
