"""Answers of the agent: from deliveries of the daemon to lines of IRC."""

import asyncio
import enum
import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol

from avocet_client import AvocetError, Delivery

from . import wire
from .connection import Connection, Sending
from .errors import Lost
from .filehost import UploadFailed, upload
from .formatting import lines
from .names import decode, msgid_of_key
from .people import is_same, nick_of
from .settings import Settings

log = logging.getLogger("avocet_irc")

REPEAT_MARK = "(sent again; it may have arrived before)"
# Deliveries whose outcome is remembered, for a daemon that asks again after its restart.
REMEMBERED = 1000
# Seconds for which a check of the person behind a nickname counts.
CHECKED_SECONDS = 60.0
# Seconds that a delivery waits for a connection.
WAIT_SECONDS = 10.0
# The kind of a spoken answer. Its text is sent as a separate message.
VOICE = "voice"
# Faults that may pass: the person is away, or the server is busy.
_PASSING = {"263", "401", "439", "442", "707"}


class Outcome(enum.Enum):
    """The knowledge about a delivery."""

    SENT = "sent"
    AGAIN = "again"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Sent:
    """The outcome of a delivery, with the server's id or the reason."""

    outcome: Outcome
    text: str = ""


class Network(Protocol):
    """The part of the bridge that deliveries need."""

    settings: Settings
    seen: dict[str, tuple[str, float]]

    async def connection(self, seconds: float) -> Connection | None:
        """Return the registered connection, or wait for one."""

    def wants(self, channel: str) -> bool:
        """Return `True` for a channel of the settings."""

    def remember(self, msgid: str) -> None:
        """Keep the id of a message of the agent."""


class Outbound:
    """Sends deliveries, each at most once while the program runs."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._sent: OrderedDict[str, asyncio.Future[Sent]] = OrderedDict()

    async def deliver(self, delivery: Delivery) -> None:
        """Send a delivery and answer it."""
        known = self._sent.get(delivery.nonce)
        if known is not None:
            # The daemon was restarted before it took the answer. The text is not sent again.
            sent = await asyncio.shield(known)
            if sent.outcome is Outcome.SENT:
                log.info(
                    "%s: delivery %s was sent before; answering again", delivery.chat, delivery.id
                )
                await answer(delivery, sent)
                return
        future = self._sent[delivery.nonce] = asyncio.get_running_loop().create_future()
        while len(self._sent) > REMEMBERED:
            self._sent.popitem(last=False)
        sent = Sent(Outcome.UNKNOWN, "the program ended")
        try:
            sent = await self._send(delivery)
        except AvocetError as error:
            sent = Sent(Outcome.AGAIN, f"cannot read a file from the daemon: {error}")
        except Exception as error:
            # Without an answer, the daemon would hold the chat until the program ends.
            log.exception("%s: delivery %s has failed", delivery.chat, delivery.id)
            sent = Sent(Outcome.UNKNOWN, f"a fault of the program: {type(error).__name__}")
        finally:
            future.set_result(sent)
        if sent.outcome is not Outcome.SENT:
            log.warning(
                "%s: delivery %s: %s: %s", delivery.chat, delivery.id, sent.outcome.value, sent.text
            )
        await answer(delivery, sent)

    async def _send(self, delivery: Delivery) -> Sent:
        try:
            chat = decode(delivery.chat.split(":", 2)[2])
        except (ValueError, IndexError) as error:
            return Sent(Outcome.REFUSED, f"{delivery.chat} is not a chat of IRC: {error}")
        network = self._network
        connection = await network.connection(WAIT_SECONDS)
        if connection is None:
            return Sent(Outcome.AGAIN, "there is no connection to the server")
        is_group = connection.is_channel(chat)
        target = chat if is_group else nick_of(chat)
        if not target or any(char in target for char in " ,\r\n\0") or target[0] in ":$":
            return Sent(Outcome.REFUSED, f"{target!r} is not a name on IRC")
        if is_group and (problem := await self._not_joined(connection, chat)):
            return problem
        notes = await self._with_files(delivery, connection)
        if isinstance(notes, Sent):
            return notes
        text = self._text(delivery, notes)
        written = self._lines(delivery, connection, target, text)
        if not written and only_voice(delivery):
            log.info("%s: delivery %s: this server takes no recordings", delivery.chat, delivery.id)
            return Sent(Outcome.SENT)
        if not written:
            return Sent(Outcome.REFUSED, "the message has no text that IRC can show")
        async with connection.exclusive:
            try:
                if not is_group and (problem := await self._other_person(connection, chat)):
                    return problem
            except Lost as error:
                return Sent(
                    Outcome.AGAIN, f"the connection was lost before the message was sent: {error}"
                )
            return await self._post(connection, target, written)

    async def _not_joined(self, connection: Connection, channel: str) -> Sent | None:
        if not self._network.wants(channel):
            return Sent(Outcome.REFUSED, f"the agent is not in {channel}; add it to `channels`")
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while (
                    connection.fold(channel) not in connection.joined and connection.ended is None
                ):
                    await connection.has_joined.wait()
        except TimeoutError:
            pass
        if connection.ended is not None or connection.fold(channel) not in connection.joined:
            return Sent(Outcome.AGAIN, f"the agent is not in {channel} now")
        return None

    async def _with_files(self, delivery: Delivery, connection: Connection) -> list[str] | Sent:
        """Upload files if the server takes them. Returns a line for each file."""
        notes = []
        host = connection.support.get("soju.im/FILEHOST", "") or connection.support.get(
            "draft/FILEHOST", ""
        )
        most = self._network.settings.max_file_megabytes * 1_000_000
        for number, file in enumerate(delivery.attachments):
            name, size = file["name"], file["bytes"]
            if not host and file["kind"] == VOICE:
                continue
            if not host:
                notes.append(
                    f"[the file {name} ({size} bytes) was not sent: this IRC server takes no files]"
                )
            elif size > most:
                notes.append(
                    f"[the file {name} ({size} bytes) was not sent: at most {most} bytes are sent]"
                )
            else:
                content = await delivery.read_file(number)
                try:
                    url = await asyncio.to_thread(
                        upload, host, file, content, self._network.settings
                    )
                except UploadFailed as error:
                    log.warning("%s: cannot upload %s: %s", delivery.chat, name, error)
                    if error.is_passing:
                        return Sent(Outcome.AGAIN, f"cannot upload {name}: {error}")
                    notes.append(f"[the file {name} ({size} bytes) was not sent: {error}]")
                else:
                    notes.append(f"{name}: {url}")
        has_text = bool(delivery.text.strip() or delivery.choices)
        if notes and not has_text and all(note.startswith("[") for note in notes):
            return Sent(Outcome.REFUSED, " ".join(note.strip("[]") for note in notes))
        return notes

    def _text(self, delivery: Delivery, notes: list[str]) -> str:
        parts = [delivery.text.rstrip()]
        parts += [
            f"{number}. {choice['label']}: {choice['says']}"
            for number, choice in enumerate(delivery.choices, 1)
        ]
        return "\n".join(part for part in [*parts, *notes] if part)

    def _lines(
        self, delivery: Delivery, connection: Connection, target: str, text: str
    ) -> list[bytes]:
        settings = self._network.settings
        command = settings.send_as.upper()
        room = max(connection.room(command, target), 40)
        is_plain = settings.formatting == "plain"
        cut = lines(text, delivery.styles, room, is_plain=is_plain)
        if delivery.repeat and cut:
            cut.insert(0, REPEAT_MARK)
        tags = {}
        msgid = msgid_of_key(delivery.reply_to or "")
        if msgid and "message-tags" in connection.caps:
            tags["+draft/reply"] = msgid
        return [wire.line(command, target, line, tags=tags) for line in cut]

    async def _other_person(self, connection: Connection, chat: str) -> Sent | None:
        """Return the reason if the nickname belongs to another person than that of the chat now."""
        settings, nick = self._network.settings, nick_of(chat)
        if settings.identity == "nick":
            return None
        checked = self._network.seen.get(nick)
        now = asyncio.get_running_loop().time()
        if checked is not None and checked[0] == chat and now - checked[1] < CHECKED_SECONDS:
            return None
        found = await connection.whois(nick)
        if not found.is_here:
            return Sent(Outcome.AGAIN, f"{nick} is not on IRC now, and IRC keeps no messages")
        if not is_same(chat, found, settings.identity, connection.fold):
            return Sent(Outcome.AGAIN, f"another person has the nickname {nick} now")
        self._network.seen[nick] = (chat, now)
        return None

    async def _post(self, connection: Connection, target: str, written: list[bytes]) -> Sent:
        sending, is_started = Sending(target), False

        def start() -> None:
            nonlocal is_started
            # Of a connection that is known to have ended, the server has received nothing.
            is_started = is_started or connection.ended is None

        try:
            await connection.post(sending, written, start)
        except Lost as error:
            if is_started:
                return Sent(
                    Outcome.UNKNOWN, f"the connection was lost while the message was sent: {error}"
                )
            return Sent(
                Outcome.AGAIN, f"the connection was lost before the message was sent: {error}"
            )
        if not sending.faults:
            for msgid in sending.msgids:
                self._network.remember(msgid)
            return Sent(Outcome.SENT, sending.msgids[0] if sending.msgids else "")
        fault = sending.faults[0]
        reason = f"the server refuses a message to {target}: {fault.last or fault.command}"
        if len(sending.faults) < len(written):
            return Sent(Outcome.UNKNOWN, f"{reason}; other lines may have arrived")
        is_away = fault.command in ("403", "404") and connection.is_channel(target)
        is_passing = fault.command in _PASSING or (
            is_away and connection.fold(target) not in connection.joined
        )
        return Sent(Outcome.AGAIN if is_passing else Outcome.REFUSED, reason)


async def answer(delivery: Delivery, sent: Sent) -> None:
    """Report an outcome to the daemon."""
    match sent.outcome:
        case Outcome.SENT:
            await delivery.confirm(platform_id(sent.text))
        case Outcome.AGAIN:
            await delivery.fail(sent.text)
        case Outcome.REFUSED:
            await delivery.refuse(sent.text)
        case Outcome.UNKNOWN:
            await delivery.unknown(sent.text)


def only_voice(delivery: Delivery) -> bool:
    """Return `True` for a message that is nothing but a spoken answer."""
    return bool(delivery.attachments) and all(
        file["kind"] == VOICE for file in delivery.attachments
    )


def platform_id(msgid: str) -> str | None:
    """Return the id of a message for the daemon; `None` if it has unusual characters."""
    is_usable = 0 < len(msgid) <= 200 and msgid.isascii() and msgid.isprintable()
    return (
        msgid if is_usable and not any(part in msgid for part in ("/", "\\", "..", ":")) else None
    )
