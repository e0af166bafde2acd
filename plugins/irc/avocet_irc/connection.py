"""One connection to an IRC server: registration, capabilities, PING, batches, and sending."""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from avocet_client import network

from . import wire
from .bucket import Bucket
from .errors import Lost, Refused
from .registration import Registration
from .settings import CHANNEL_PREFIXES, Settings
from .wire import Message

T = TypeVar("T")

log = logging.getLogger("avocet_irc")

MAX_BATCHES = 32
MAX_BATCH_MESSAGES = 5000
# The address of the agent until the server has shown it: user and host as long as usual.
USUAL_ADDRESS_BYTES = 1 + 11 + 1 + 63

_SASL_FAILURES = {"902", "904", "905", "906", "908"}
_NICK_TAKEN = {"433", "436", "437"}
_JOIN_FAILURES = {
    "403",
    "405",
    "407",
    "437",
    "471",
    "473",
    "474",
    "475",
    "476",
    "477",
    "489",
    "520",
}
# Answers to a message that was not passed on.
_SEND_FAILURES = {
    *("263", "401", "402", "403", "404", "407", "408", "411", "412", "413", "414", "415"),
    *("417", "439", "442", "477", "486", "489", "531", "573", "707", "716"),
}


@dataclass
class Batch:
    """Messages that belong together, from `BATCH +name` to `BATCH -name`."""

    kind: str
    params: tuple[str, ...]
    parent: str
    messages: list[Message] = field(default_factory=list)


@dataclass
class Sending:
    """The lines of one delivery, and the server's reactions to them."""

    target: str
    faults: list[Message] = field(default_factory=list)
    msgids: list[str] = field(default_factory=list)


@dataclass
class Whois:
    """The answer to WHOIS: the person who has a nickname."""

    user: str = ""
    host: str = ""
    account: str = ""
    has_own_nick: bool = False
    is_here: bool = False


class Connection:
    """A connection. `connect` opens it and registers, and `run` reads until it ends."""

    def __init__(
        self,
        settings: Settings,
        on_message: Callable[[Message, bool], None],
        on_gone: Callable[[str], None],
    ) -> None:
        """`on_message` gets each message of a person, and `True` if it may be an old one.

        `on_gone` gets each nickname that may now belong to another person.
        """
        self._settings = settings
        self._emit = on_message
        self._forget = on_gone
        loop = asyncio.get_running_loop()
        self._now = loop.time
        self._bucket = Bucket(settings.burst, settings.seconds_per_line, self._now)
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._write_lock = asyncio.Lock()
        # Held for a request and its answer, so that answers without a name belong to one request.
        self.exclusive = asyncio.Lock()
        self._registration = Registration(settings, self._now_write)
        self.nick = settings.nick
        self.source = ""
        self.support: dict[str, str] = {"CASEMAPPING": "rfc1459", "CHANTYPES": CHANNEL_PREFIXES}
        self.server_time = ""
        self.joined: set[str] = set()
        self.has_joined = asyncio.Event()
        self.ready: asyncio.Future[None] = loop.create_future()
        self.ended: str | None = None
        self._error = ""
        self._batches: dict[str, Batch] = {}
        self._pongs: dict[str, asyncio.Future[None]] = {}
        self._numbers = 0
        self._sending: Sending | None = None
        self._whois: tuple[str, Whois] | None = None
        self._history: asyncio.Future[list[Message]] | None = None
        # The chat of the open request for old messages; `None` for the list of chats.
        self._history_target: str | None = None
        self._join_failures: dict[str, str] = {}

    async def connect(self) -> None:
        """Connect and begin to register. Raises `Lost`, or `Refused` for a bad `ca_file`."""
        settings = self._settings
        port = settings.port or (6697 if settings.tls else 6667)
        place = f"{settings.server}:{port}"
        try:
            context = (
                ssl.create_default_context(cafile=settings.ca_file or None)
                if settings.tls
                else None
            )
        except (OSError, ssl.SSLError) as error:
            raise Refused(f"cannot read `ca_file` {settings.ca_file}: {error}") from error
        try:
            async with asyncio.timeout(settings.timeout_seconds):
                self._reader, self._writer = await network.open_connection(
                    settings.server, port, ssl=context, limit=wire.MAX_READ_BYTES
                )
        except TimeoutError as error:
            raise Lost(
                f"cannot connect to {place}: no answer in {settings.timeout_seconds:g} s"
            ) from error
        except ssl.SSLCertVerificationError as error:
            raise Lost(
                f"cannot connect to {place}: its certificate is not valid: {error.verify_message}; "
                "check `server`, or name the certificate of a private network in `ca_file`"
            ) from error
        except ssl.SSLError as error:
            hint = "check `port`; ports without TLS need `tls = false`"
            raise Lost(f"cannot connect to {place} with TLS: {error.reason}; {hint}") from error
        except (OSError, UnicodeError) as error:
            raise Lost(f"cannot connect to {place}: {error}") from error
        self._registration.begin()

    async def run(self) -> None:
        """Read until the connection ends, with `Lost` or `Refused`."""
        try:
            async for line in self._lines():
                try:
                    message = wire.parse(line)
                except wire.BadLine as error:
                    if line.strip():
                        log.warning("ignoring a line of the server: %s", error)
                    continue
                self._take_safely(message)
        except (OSError, ssl.SSLError) as error:
            self._end(f"the connection failed: {error}")
        except (Lost, Refused) as error:
            self._end(str(error))
            raise
        finally:
            self._end("the connection was closed")
        raise Lost(self.ended or "the connection was closed")

    async def _lines(self) -> AsyncIterator[bytes]:
        assert self._reader is not None
        buffer, is_pinged, is_skipping = b"", False, False
        while True:
            settings = self._settings
            wait = (
                settings.ping_seconds
                if self._is_registered and not is_pinged
                else settings.timeout_seconds
            )
            try:
                async with asyncio.timeout(wait):
                    received = await self._reader.read(wire.MAX_READ_BYTES)
            except TimeoutError:
                if is_pinged or not self._is_registered:
                    raise Lost(f"the server sent nothing for {wait:g} s") from None
                is_pinged = True
                self._now_write(wire.line("PING", "avocet-alive"))
                continue
            if not received:
                raise Lost(self._error or "the server has closed the connection")
            is_pinged = False
            *lines, buffer = (buffer + received).split(b"\n")
            for line in lines:
                if not is_skipping and len(line) <= wire.MAX_READ_BYTES:
                    yield line
                is_skipping = False
            if len(buffer) > wire.MAX_READ_BYTES:
                log.warning(
                    "ignoring a line of the server that is longer than %d bytes",
                    wire.MAX_READ_BYTES,
                )
                buffer, is_skipping = b"", True

    def _end(self, reason: str) -> None:
        if self.ended is not None:
            return
        self.ended = reason
        waits = [self.ready, self._history, *self._pongs.values()]
        for wait in waits:
            if wait is not None and not wait.done():
                wait.set_exception(Lost(reason))
                # Reading it marks the exception as seen; a waiter still gets it.
                wait.exception()
        self.has_joined.set()
        if self._writer is not None:
            self._writer.close()

    async def quit(self, reason: str) -> None:
        """Say goodbye and end the connection."""
        if self.ended is None and self._writer is not None:
            with contextlib.suppress(OSError, TimeoutError, Lost):
                self._now_write(wire.line("QUIT", reason))
                async with asyncio.timeout(2):
                    await self._writer.drain()
        self._end(reason)

    def _now_write(self, line: bytes) -> None:
        """Send a line that cannot wait. Registration and PONG are not slowed down."""
        if self.ended is not None or self._writer is None:
            raise Lost(self.ended or "the connection is not open")
        self._bucket.take_now()
        self._writer.write(line)

    async def write(self, line: bytes) -> None:
        """Send a line when flood control allows it. Raises `Lost`."""
        async with self._write_lock:
            await self._bucket.take()
            if self.ended is not None or self._writer is None:
                raise Lost(self.ended or "the connection is not open")
            try:
                self._writer.write(line)
                async with asyncio.timeout(self._settings.timeout_seconds):
                    await self._writer.drain()
            except (OSError, TimeoutError) as error:
                self._end(f"cannot send: {error or 'the server does not read'}")
                raise Lost(self.ended) from error

    def write_spare(self, line: bytes) -> bool:
        """Send a line without importance, unless the bucket is half empty."""
        if self.ended is not None or not self._is_registered or not self._bucket.has_spare():
            return False
        with contextlib.suppress(Lost):
            self._now_write(line)
        return True

    async def barrier(self) -> None:
        """Wait until the server has processed all lines that were sent before. Raises `Lost`."""
        self._numbers += 1
        token = f"avocet-{self._numbers}"
        pong = self._pongs[token] = asyncio.get_running_loop().create_future()
        try:
            await self.write(wire.line("PING", token))
            await self._answer(pong, "PING")
        finally:
            self._pongs.pop(token, None)

    async def _answer(self, wait: asyncio.Future[T], what: str) -> T:
        try:
            async with asyncio.timeout(self._settings.timeout_seconds):
                return await wait
        except TimeoutError:
            self._end(f"no answer to {what} in {self._settings.timeout_seconds:g} s")
            raise Lost(self.ended) from None

    async def post(self, sending: Sending, lines: list[bytes], started: Callable[[], None]) -> None:
        """Send lines and wait until the server has processed them. Hold `exclusive`."""
        self._sending = sending
        try:
            for line in lines:
                started()
                await self.write(line)
            await self.barrier()
        finally:
            self._sending = None

    async def whois(self, nick: str) -> Whois:
        """Ask for the person who has a nickname. Hold `exclusive`."""
        found = Whois()
        self._whois = (self.fold(nick), found)
        try:
            await self.write(wire.line("WHOIS", nick))
            await self.barrier()
        finally:
            self._whois = None
        return found

    async def history(self, *params: str) -> list[Message]:
        """Make a request for old messages. Returns none if the server refuses."""
        async with self.exclusive:
            wait: asyncio.Future[list[Message]] = asyncio.get_running_loop().create_future()
            self._history = wait
            self._history_target = None if params[0] == "TARGETS" else self.fold(params[1])
            try:
                await self.write(wire.line("CHATHISTORY", *params))
                return await self._answer(wait, "CHATHISTORY")
            finally:
                self._history = None

    def join(self, channel: str, key: str) -> bytes:
        """Return the line that joins a channel."""
        return wire.line("JOIN", channel, *([key] if key else []))

    def fold(self, name: str) -> str:
        """Return the form of a name that is equal for equal names."""
        return wire.fold(name, self.support["CASEMAPPING"].lower())

    def is_channel(self, name: str) -> bool:
        """Return `True` for the name of a channel."""
        return name[:1] in tuple(self.support["CHANTYPES"])

    def is_me(self, nick: str) -> bool:
        """Return `True` for the nickname of the agent."""
        return self.fold(nick) == self.fold(self.nick)

    def room(self, command: str, target: str) -> int:
        """Return the bytes of a text, so that the line with the agent's address has 512 bytes."""
        source = (
            len(self.source.encode())
            if self.source
            else len(self.nick.encode()) + USUAL_ADDRESS_BYTES
        )
        return wire.MAX_LINE_BYTES - len(f": {command} {target} :\r\n".encode()) - source

    @property
    def caps(self) -> set[str]:
        """The capabilities that the server has granted."""
        return self._registration.caps

    @property
    def _is_registered(self) -> bool:
        return self._registration.is_registered

    @property
    def has_history(self) -> bool:
        """`True` if the server keeps old messages, with their ids and times."""
        needed = {"draft/chathistory", "batch", "server-time", "message-tags"}
        return needed <= self.caps and self._settings.history > 0

    def _take_safely(self, message: Message) -> None:
        try:
            self._take(message)
        except (Lost, Refused):
            raise
        except Exception:
            # A line that no server sends must not end the program.
            log.exception(
                "cannot handle %s of the server with %d parameters",
                message.command,
                len(message.params),
            )

    def _take(self, message: Message) -> None:
        if time := message.tags.get("time", ""):
            self.server_time = (
                max(self.server_time, time) if "batch" not in message.tags else self.server_time
            )
        if message.command != "BATCH" and (
            batch := self._batches.get(message.tags.get("batch", ""))
        ):
            if len(batch.messages) >= MAX_BATCH_MESSAGES:
                raise Lost(f"the server sent a batch of more than {MAX_BATCH_MESSAGES} messages")
            batch.messages.append(message)
            return
        name = message.command.lower()
        handler = getattr(self, f"_on_{name}", None) or getattr(
            self._registration, f"on_{name}", None
        )
        if handler is not None:
            handler(message)
        elif message.command in _SASL_FAILURES:
            self._registration.sasl_failed(message)
        elif message.command in _NICK_TAKEN and not self._is_registered:
            self._registration.next_nick(message)
        if message.command in _SEND_FAILURES or message.command == "FAIL":
            self._send_failed(message)
        if message.command in _JOIN_FAILURES:
            self._join_failed(message)

    def _on_ping(self, message: Message) -> None:
        self._now_write(wire.line("PONG", message.last))

    def _on_pong(self, message: Message) -> None:
        wait = self._pongs.get(message.last)
        if wait is not None and not wait.done():
            wait.set_result(None)

    def _on_error(self, message: Message) -> None:
        self._error = f"the server has closed the connection: {message.param(0)}"

    def _on_001(self, message: Message) -> None:
        if self._settings.sasl_user and not self._registration.is_logged_in:
            raise Lost("the server offers no login with SASL now; its services may be away")
        self.nick = message.param(0) or self.nick
        self._registration.is_registered = True

    def _on_005(self, message: Message) -> None:
        for token in message.params[1:-1]:
            name, _, value = token.partition("=")
            if name.startswith("-"):
                self.support.pop(name[1:], None)
            elif value or name not in ("CASEMAPPING", "CHANTYPES"):
                self.support[name] = value

    def _on_376(self, _: Message) -> None:
        if self._settings.identity == "account" and "account-tag" not in self.caps:
            raise Refused(
                "the server does not tell the accounts of people (account-tag); set `identity` to "
                '"nick" if it protects nicknames, otherwise to "host"'
            )
        if not self.ready.done():
            self.ready.set_result(None)

    _on_422 = _on_376

    def _on_396(self, message: Message) -> None:
        host = message.param(1)
        if self.source and host:
            user = self.source.split("!", 1)[-1].split("@", 1)[0]
            self.source = f"{self.nick}!{host}" if "@" in host else f"{self.nick}!{user}@{host}"

    def _on_chghost(self, message: Message) -> None:
        if self.is_me(message.nick):
            self.source = f"{self.nick}!{message.param(0)}@{message.param(1)}"

    def _on_join(self, message: Message) -> None:
        if self.is_me(message.nick):
            self._learn_source(message)
            channel = self.fold(message.param(0))
            if channel not in self.joined:
                log.info("joined %s", message.param(0))
            self.joined.add(channel)
            self._join_failures.pop(channel, None)
            self.has_joined.set()
            self.has_joined.clear()

    def _learn_source(self, message: Message) -> None:
        if "!" in message.source and "@" in message.source:
            self.source = message.source

    def _on_part(self, message: Message) -> None:
        if self.is_me(message.nick):
            self.joined.discard(self.fold(message.param(0)))

    def _on_kick(self, message: Message) -> None:
        if self.is_me(message.param(1)):
            log.warning(
                "%s has kicked the agent from %s: %s",
                message.nick,
                message.param(0),
                message.param(2),
            )
            self.joined.discard(self.fold(message.param(0)))

    def _on_nick(self, message: Message) -> None:
        if self.is_me(message.nick) and message.param(0):
            self.nick = message.param(0)
            self.source = (
                self.nick + self.source[self.source.find("!") :] if "!" in self.source else ""
            )
            log.info("the nickname is now %s", self.nick)
        else:
            self._forget(message.nick)
            self._forget(message.param(0))

    def _on_quit(self, message: Message) -> None:
        self._forget(message.nick)

    def _join_failed(self, message: Message) -> None:
        channel = self.fold(message.param(1))
        if self._is_registered and self.is_channel(channel) and channel not in self.joined:
            reason = message.last
            if self._sending is None and self._join_failures.get(channel) != reason:
                log.warning("cannot join %s: %s; trying again later", message.param(1), reason)
                self._join_failures[channel] = reason

    def _on_privmsg(self, message: Message) -> None:
        if self.is_me(message.nick):
            self._learn_source(message)
            sending, msgid = self._sending, message.tags.get("msgid", "")
            if (
                sending is not None
                and msgid
                and self.fold(message.param(0)) == self.fold(sending.target)
            ):
                sending.msgids.append(msgid)
        self._emit(message, False)

    _on_notice = _on_privmsg

    def _send_failed(self, message: Message) -> None:
        if message.command == "FAIL" and message.param(0) == "CHATHISTORY":
            log.warning(
                "the server refuses a request for old messages: %s", " ".join(message.params[1:])
            )
            if self._history is not None and not self._history.done():
                self._history.set_result([])
            return
        names = [self.fold(param) for param in message.params[:-1]]
        sending = self._sending
        if sending is not None:
            is_about = self.fold(sending.target) in names
            is_general = message.command in ("411", "412", "417", "263") or (
                message.command == "FAIL" and message.param(0) in ("PRIVMSG", "NOTICE", "*")
            )
            if is_about or is_general:
                sending.faults.append(message)

    def _whois_answer(self, message: Message) -> Whois | None:
        if self._whois and self.fold(message.param(1)) == self._whois[0]:
            return self._whois[1]
        return None

    def _on_311(self, message: Message) -> None:
        if self.is_me(message.param(1)) and len(message.params) >= 4:
            self.source = f"{self.nick}!{message.param(2)}@{message.param(3)}"
        if found := self._whois_answer(message):
            found.is_here, found.user, found.host = True, message.param(2), message.param(3)

    def _on_330(self, message: Message) -> None:
        if found := self._whois_answer(message):
            found.account = message.param(2)

    def _on_307(self, message: Message) -> None:
        if found := self._whois_answer(message):
            found.has_own_nick = True

    def _on_batch(self, message: Message) -> None:
        name = message.param(0)
        if name.startswith("+"):
            if len(self._batches) >= MAX_BATCHES:
                raise Lost(f"the server has opened more than {MAX_BATCHES} batches")
            batch = Batch(message.param(1), message.params[2:], message.tags.get("batch", ""))
            self._batches[name[1:]] = batch
        elif name[1:] in self._batches:
            self._batch_ended(self._batches.pop(name[1:]))

    def _batch_ended(self, batch: Batch) -> None:
        if (parent := self._batches.get(batch.parent)) is not None:
            parent.messages += batch.messages
        elif self._history is not None and self._is_answer(batch):
            if not self._history.done():
                self._history.set_result(batch.messages)
        else:
            for message in batch.messages:
                if message.command in ("PRIVMSG", "NOTICE"):
                    self._emit(message, True)
                elif message.command != "BATCH":
                    untagged = {
                        name: value for name, value in message.tags.items() if name != "batch"
                    }
                    self._take(Message(message.command, message.params, message.source, untagged))

    def _is_answer(self, batch: Batch) -> bool:
        """Return `True` for the answer to the open request. Other batches come unasked."""
        kind = batch.kind.removeprefix("draft/")
        if self._history_target is None:
            return kind == "chathistory-targets"
        return (
            kind == "chathistory" and self.fold("".join(batch.params[:1])) == self._history_target
        )
