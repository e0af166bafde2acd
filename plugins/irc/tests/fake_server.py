"""A strict IRC server for tests. It refuses what real servers refuse, and notes each fault."""

import asyncio
import base64
import itertools
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

CAPS = {
    "message-tags": "",
    "server-time": "",
    "batch": "",
    "echo-message": "",
    "account-tag": "",
    "chghost": "",
    "draft/chathistory": "",
    "sasl": "PLAIN",
}
PATIENCE_SECONDS = 40
NICK = re.compile(r"[A-Za-z\[\]\\`_^{|}][A-Za-z0-9\[\]\\`_^{|}-]{0,19}")


@dataclass
class Said:
    """A message on the network."""

    source: str
    command: str
    target: str
    text: str
    time: str
    msgid: str
    account: str = ""
    tags: str = ""


@dataclass
class Person:
    """A person on the network."""

    user: str = "u"
    host: str = "home.example"
    account: str = ""


@dataclass
class Options:
    """The behaviour of the server."""

    caps: dict[str, str] = field(default_factory=lambda: dict(CAPS))
    password: str = ""
    accounts: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    host: str = "agent.example"
    longest_nick: int = 20
    support: str = "CASEMAPPING=rfc1459 CHANTYPES=# NICKLEN=20 BOT=B CHATHISTORY=50"
    page: int = 50
    is_silent: bool = False
    has_msgids: bool = True
    # Lines at once and seconds for each further line; `None` for no limit.
    flood: tuple[int, float] | None = None
    # Numerics that answer the next messages of the agent instead of passing them on.
    faults: list[str] = field(default_factory=list)


class FakeServer:
    """The network: one server, people without connections, and clients with them."""

    def __init__(self, options: Options | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.options = options or Options()
        self.port = 0
        self.people: dict[str, Person] = {}
        self.log: list[Said] = []
        self.received: list[Said] = []
        self.typing: list[str] = []
        self.faults: list[str] = []
        self.lines: list[str] = []
        self.clients: list[Session] = []
        self.connections = 0
        self.on_message: Callable[[Said], None] | None = None
        self._tls = tls
        self._changed = asyncio.Event()
        self._numbers = itertools.count(1)
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen on a free port, or after a stop on the same port."""
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, ssl=self._tls, limit=64 * 1024
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """End all connections and listen no longer."""
        assert self._server is not None
        self._server.close()
        self.cut()

    def cut(self) -> None:
        """End all connections at once."""
        for client in list(self.clients):
            client.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        client = Session(self, reader, writer)
        self.clients.append(client)
        try:
            await client.run()
        except (OSError, ValueError, asyncio.CancelledError):
            pass
        finally:
            self.clients.remove(client)
            client.abort()
            self.change()

    def change(self) -> None:
        """Wake `until`."""
        self._changed.set()

    async def until(self, is_so: Callable[[], object], what: str = "") -> None:
        """Wait until something is true of the server."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not is_so():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(
                f"not in {PATIENCE_SECONDS} s: {what}; received: {self.received}; "
                f"lines: {self.lines[-30:]}"
            ) from None

    def stamp(self) -> tuple[str, str]:
        """Return the time of the next message, which rises, and its id."""
        number = next(self._numbers)
        moment = datetime.now(UTC)
        if self.log and written(moment) <= self.log[-1].time:
            moment = datetime.fromisoformat(self.log[-1].time) + timedelta(milliseconds=1)
        return written(moment), f"id{number}~x" if self.options.has_msgids else ""

    def say(
        self, nick: str, target: str, text: str, command: str = "PRIVMSG", tags: str = ""
    ) -> Said:
        """A person writes to a channel or to a client."""
        person = self.people.setdefault(nick, Person())
        source = f"{nick}!{person.user}@{person.host}"
        said = Said(source, command, target, text, *self.stamp(), person.account, tags)
        self.log.append(said)
        self.pass_on(said)
        return said

    def pass_on(self, said: Said) -> None:
        """Send a message of a person to the clients that see its target."""
        target = said.target
        for client in self.clients:
            if client.is_registered and (
                fold(target) == fold(client.nick) or fold(target) in client.joined
            ):
                client.send_said(said)

    def person(self, nick: str) -> Person | None:
        """Return the person with this nickname."""
        return {fold(name): person for name, person in self.people.items()}.get(fold(nick))

    def texts(self, target: str) -> list[str]:
        """Return the texts of the agent in a chat."""
        return [said.text for said in self.received if fold(said.target) == fold(target)]


class Session:
    """A client's connection."""

    def __init__(
        self, server: FakeServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.server = server
        self.reader, self.writer = reader, writer
        self.nick = ""
        self.user = ""
        self.password = ""
        self.account = ""
        self.caps: set[str] = set()
        self.joined: set[str] = set()
        self.is_registered = False
        self._is_negotiating = False
        self._sasl = ""
        self._is_sasl = False
        self._batches = itertools.count(1)
        self._lines_left = 0.0
        self._last = 0.0

    @property
    def source(self) -> str:
        return f"{self.nick}!{self.user}@{self.server.options.host}"

    def abort(self) -> None:
        self.writer.transport.abort()

    def send(self, line: str) -> None:
        if not self.server.options.is_silent:
            self.writer.write(line.encode() + b"\r\n")

    def raw(self, line: bytes) -> None:
        self.writer.write(line)

    def number(self, number: str, text: str) -> None:
        self.send(f":irc.test {number} {self.nick or '*'} {text}")

    def send_said(self, said: Said, batch: str = "") -> None:
        tags = []
        if "message-tags" in self.caps and said.msgid:
            tags.append(f"msgid={said.msgid}")
        if "server-time" in self.caps:
            tags.append(f"time={said.time}")
        if "account-tag" in self.caps and said.account:
            tags.append(f"account={said.account}")
        if "message-tags" in self.caps and said.tags:
            tags.append(said.tags)
        if batch:
            tags.append(f"batch={batch}")
        prefix = f"@{';'.join(tags)} " if tags else ""
        self.send(f"{prefix}:{said.source} {said.command} {said.target} :{said.text}")

    def fault(self, text: str) -> None:
        self.server.faults.append(text)

    async def run(self) -> None:
        while line := await self.reader.readline():
            if not line.endswith(b"\r\n"):
                self.fault(f"a line without its end: {line[:80]!r}")
            if self._floods():
                self.send("ERROR :Excess Flood")
                self.fault("excess flood")
                await self.writer.drain()
                return
            self.take(line.rstrip(b"\r\n"))
            self.server.change()
            await self.writer.drain()

    def _floods(self) -> bool:
        if self.server.options.flood is None or not self.is_registered:
            return False
        burst, seconds = self.server.options.flood
        now = asyncio.get_running_loop().time()
        self._lines_left = (
            min(self._lines_left + (now - self._last) / seconds, burst) if self._last else burst
        )
        self._last = now
        self._lines_left -= 1
        # Half a line of slack, since the two programs read their clocks at different times.
        return self._lines_left < -0.5

    def take(self, line: bytes) -> None:
        tags = ""
        if line.startswith(b"@"):
            written_tags, _, line = line.partition(b" ")
            tags = written_tags[1:].decode()
            if "message-tags" not in self.caps:
                self.fault(f"tags without message-tags: {tags}")
                return
            if any(not name.startswith("+") and name != "label" for name in tags.split(";")):
                self.fault(f"tags that clients may not send: {tags}")
        if len(line) > 510:
            self.fault(f"a line of {len(line) + 2} bytes")
            self.number("417", ":Input line was too long")
            return
        try:
            text = line.decode()
        except UnicodeDecodeError:
            self.fault(f"a line that is not UTF-8: {line!r}")
            return
        if any(char in text for char in "\0\r"):
            self.fault(f"a line with NUL or CR: {text!r}")
        head, colon, last = text.partition(" :")
        words = head.split()
        params = words[1:] + ([last] if colon else [])
        self.server.lines.append(text)
        command = words[0].upper() if words else ""
        early = {"CAP", "PASS", "NICK", "USER", "AUTHENTICATE", "PING", "PONG", "QUIT"}
        if not self.is_registered and command not in early:
            self.fault(f"{command} before the registration")
            self.number("451", ":You have not registered")
            return
        handler = getattr(self, f"on_{command.lower()}", None)
        if handler is None:
            self.fault(f"an unknown command: {text}")
            self.number("421", f"{command} :Unknown command")
        elif command in ("PRIVMSG", "NOTICE", "TAGMSG"):
            handler(params, tags)
        else:
            handler(params)

    def on_cap(self, params: list[str]) -> None:
        verb = params[0].upper()
        if verb == "LS":
            self._is_negotiating = not self.is_registered
            written_caps = [
                f"{name}={value}" if value else name
                for name, value in self.server.options.caps.items()
            ]
            half = len(written_caps) // 2
            self.send(f":irc.test CAP * LS * :{' '.join(written_caps[:half])}")
            self.send(f":irc.test CAP * LS :{' '.join(written_caps[half:])}")
        elif verb == "REQ":
            names = params[1].split()
            if all(name in self.server.options.caps for name in names):
                self.caps |= set(names)
                self.send(f":irc.test CAP * ACK :{' '.join(names)}")
            else:
                self.send(f":irc.test CAP * NAK :{' '.join(names)}")
        elif verb == "END":
            self._is_negotiating = False
            self._register()
        else:
            self.fault(f"CAP {params}")

    def on_pass(self, params: list[str]) -> None:
        if self.nick or self.user:
            self.fault("PASS after NICK or USER")
        self.password = params[0]

    def on_nick(self, params: list[str]) -> None:
        nick = params[0]
        if not NICK.fullmatch(nick) or len(nick) > self.server.options.longest_nick:
            self.number("432", f"{nick} :Erroneous nickname")
            return
        others = {fold(client.nick) for client in self.server.clients if client is not self}
        if fold(nick) in others | {fold(name) for name in self.server.options.taken}:
            self.number("433", f"{nick} :Nickname is already in use")
            return
        if self.is_registered:
            self.send(f":{self.source} NICK :{nick}")
        self.nick = nick
        self._register()

    def on_user(self, params: list[str]) -> None:
        if len(params) != 4:
            self.fault(f"USER {params}")
        self.user = "~" + params[0][:9]
        self._register()

    def on_authenticate(self, params: list[str]) -> None:
        if "sasl" not in self.caps:
            self.fault("AUTHENTICATE without the capability")
        if not self._is_sasl:
            self._is_sasl = True
            if params[0] != "PLAIN":
                self.number("908", "PLAIN :are available SASL mechanisms")
            self.send("AUTHENTICATE +")
            return
        if len(params[0]) > 400:
            self.number("905", ":SASL message too long")
            return
        self._sasl += "" if params[0] == "+" else params[0]
        if len(params[0]) == 400:
            return
        _, user, password = base64.b64decode(self._sasl).decode().split("\0")
        if self.server.options.accounts.get(user) == password:
            self.account = user
            self.number("900", f"{self.nick}!u@h {user} :You are now logged in")
            self.number("903", ":SASL authentication successful")
        else:
            self.number("904", ":SASL authentication failed")

    def _register(self) -> None:
        if self.is_registered or self._is_negotiating or not (self.nick and self.user):
            return
        options = self.server.options
        if options.password and self.password != options.password:
            self.number("464", ":Password incorrect")
            self.send("ERROR :Closing link (bad password)")
            self.writer.close()
            return
        self.is_registered = True
        self.number("001", ":Welcome")
        self.number("005", f"{options.support} :are supported by this server")
        self.number("422", ":There is no message of the day")

    def on_ping(self, params: list[str]) -> None:
        self.send(f":irc.test PONG irc.test :{params[0]}")

    def on_pong(self, params: list[str]) -> None:
        pass

    def on_quit(self, params: list[str]) -> None:
        self.send("ERROR :Closing link (quit)")
        self.writer.close()

    def on_mode(self, params: list[str]) -> None:
        if params != [self.nick, "+B"]:
            self.fault(f"MODE {params}")

    def on_join(self, params: list[str]) -> None:
        name = params[0]
        if name == "#secret" and params[1:] != ["key"]:
            self.number("475", f"{name} :Cannot join channel (+k)")
            return
        if not name.startswith("#"):
            self.number("403", f"{name} :No such channel")
            return
        self.joined.add(fold(name))
        self.send(f":{self.source} JOIN {name}")
        self.number("366", f"{name} :End of /NAMES list")

    def on_whois(self, params: list[str]) -> None:
        nick = params[0]
        if fold(nick) == fold(self.nick):
            self.number("311", f"{nick} {self.user} {self.server.options.host} * :name")
        elif (person := self.server.person(nick)) is not None:
            self.number("311", f"{nick} {person.user} {person.host} * :name")
            if person.account:
                self.number("330", f"{nick} {person.account} :is logged in as")
        else:
            self.number("401", f"{nick} :No such nick")
        self.number("318", f"{nick} :End of /WHOIS list")

    def on_tagmsg(self, params: list[str], tags: str) -> None:
        if tags == "+typing=active":
            self.server.typing.append(params[0])
        else:
            self.fault(f"TAGMSG with {tags}")

    def on_privmsg(self, params: list[str], tags: str) -> None:
        self._message("PRIVMSG", params, tags)

    def on_notice(self, params: list[str], tags: str) -> None:
        self._message("NOTICE", params, tags)

    def _message(self, command: str, params: list[str], tags: str) -> None:
        options = self.server.options
        if len(params) != 2 or not params[1]:
            self.fault(f"{command} without a text: {params}")
            self.number("412", ":No text to send")
            return
        target, text = params
        relayed = f":{self.source} {command} {target} :{text}\r\n".encode()
        if len(relayed) > 512:
            self.fault(f"a message that is cut for others: {len(relayed)} bytes")
        if "\x01" in text:
            self.fault(f"a CTCP request: {text!r}")
        if options.faults:
            self.number(options.faults.pop(0), f"{target} :Not now")
            return
        if target.startswith("#"):
            if fold(target) not in self.joined:
                self.number("404", f"{target} :Cannot send to channel")
                return
        elif self.server.person(target) is None:
            self.number("401", f"{target} :No such nick")
            return
        said = Said(self.source, command, target, text, *self.server.stamp(), self.account, tags)
        self.server.log.append(said)
        self.server.received.append(said)
        if "echo-message" in self.caps:
            self.send_said(said)
        if self.server.on_message is not None:
            self.server.on_message(said)

    def on_chathistory(self, params: list[str]) -> None:
        if "draft/chathistory" not in self.caps:
            self.fault("CHATHISTORY without the capability")
        verb, limit = params[0].upper(), int(params[-1])
        if limit > self.server.options.page:
            self.send(f"FAIL CHATHISTORY INVALID_PARAMS {verb} {limit} :Too many")
            self.fault(f"CHATHISTORY with the limit {limit}")
            return
        if verb == "TARGETS":
            self._targets(params[1], params[2], limit)
        elif verb == "AFTER":
            self._after(params[1], params[2], limit)
        else:
            self.fault(f"CHATHISTORY {params}")

    def _partner(self, said: Said) -> str:
        return said.target if fold(said.target) != fold(self.nick) else said.source.split("!")[0]

    def _targets(self, start: str, end: str, limit: int) -> None:
        begin, until = start.removeprefix("timestamp="), end.removeprefix("timestamp=")
        last: dict[str, str] = {}
        for said in self.server.log:
            partner = self._partner(said)
            if partner.startswith("#") and fold(partner) not in self.joined:
                continue
            last[partner] = said.time
        rows = sorted((time, name) for name, time in last.items() if begin < time < until)[:limit]
        name = f"b{next(self._batches)}"
        self.send(f":irc.test BATCH +{name} draft/chathistory-targets")
        for time, target in rows:
            self.send(f"@batch={name} :irc.test CHATHISTORY TARGETS {target} {time}")
        self.send(f":irc.test BATCH -{name}")

    def _after(self, target: str, reference: str, limit: int) -> None:
        kind, _, value = reference.partition("=")
        if kind == "msgid" and "MSGREFTYPES=timestamp" in self.server.options.support:
            self.fault("CHATHISTORY with msgid")
        rows = [said for said in self.server.log if fold(self._partner(said)) == fold(target)]
        if kind == "msgid":
            places = [place for place, said in enumerate(rows) if said.msgid == value]
            rows = rows[places[0] + 1 :] if places else []
        else:
            rows = [said for said in rows if said.time > value]
        name = f"b{next(self._batches)}"
        self.send(f":irc.test BATCH +{name} chathistory {target}")
        for said in rows[:limit]:
            self.send_said(said, name)
        self.send(f":irc.test BATCH -{name}")


def written(moment: datetime) -> str:
    """Write a time as the tag does."""
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def fold(name: str) -> str:
    """Compare names as rfc1459 does."""
    return name.lower().translate(str.maketrans("[]\\~", "{}|^"))
