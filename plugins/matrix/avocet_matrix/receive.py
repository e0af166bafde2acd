"""The receive loop: `/sync` from the position that the daemon keeps, and the messages in it."""

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from avocet_client import AvocetError, Channel, ErrorCode

from . import ids
from .backoff import Backoff
from .events import Message, find_redacted, mapping, parse, parse_time, sequence
from .homeserver import POLL_SECONDS, TRANSIENT, Homeserver, MatrixError, path
from .rooms import Room, Rooms
from .send import NotTaken, Own, Refused, Sender, Unknown
from .settings import Settings
from .text import addresses, contains_name, is_command, without_address

log = logging.getLogger(__name__)

TIMELINE = 100
# Pages of 100 events that are read to close a gap in a room.
MOST_PAGES = 20
# Faults of the homeserver after which the new events of a room are skipped.
MOST_FAULTS = 8
# The least time between two positions without a message.
POSITION_SECONDS = 60.0
MOST_REMEMBERED = 2000
NO_NOISE: dict[str, Any] = {
    "presence": {"not_types": ["*"]},
    "account_data": {"not_types": ["*"]},
}
FILTER = {
    **NO_NOISE,
    "room": {
        "timeline": {"limit": TIMELINE, "lazy_load_members": True},
        "state": {"lazy_load_members": True},
        "ephemeral": {"not_types": ["*"]},
        "account_data": {"not_types": ["*"]},
    },
}
# The first request of a run is for invitations and, without a position, for the present one.
OVERVIEW = {
    **NO_NOISE,
    "room": {
        "timeline": {"limit": 1, "lazy_load_members": True},
        "state": {"not_types": ["*"]},
        "ephemeral": {"not_types": ["*"]},
        "account_data": {"not_types": ["*"]},
    },
}
ENCRYPTED_NOTICE = (
    "I cannot read encrypted messages. Please write to me in a room without encryption."
)
NOTICE_TYPE = "org.avocet.notice"


class PositionError(Exception):
    """The homeserver does not know the position."""


@dataclass
class Origin:
    """An earlier event that a message edits or replies to."""

    sender: str
    thread: str | None
    # The event that it edits.
    corrects: str | None = None


@dataclass
class Redaction:
    """A message that its author or a moderator has deleted."""

    target: str


class Receiver:
    """Publishes the messages of people in the order of each room."""

    def __init__(
        self,
        settings: Settings,
        server: Homeserver,
        channel: Channel,
        rooms: Rooms,
        own: Own,
        sender: Sender,
        user: str,
        name: str | None,
    ) -> None:
        """`name` is the display name of the agent."""
        self._settings = settings
        self._server = server
        self._channel = channel
        self._rooms = rooms
        self._own = own
        self._sender = sender
        self._user = user
        self._name = name
        self._cursors: dict[str, str] | None = None
        self._since = ""
        self._moved_at = 0.0
        # The newest event of each room that was taken.
        self._newest: dict[str, str] = {}
        self._origins: OrderedDict[str, Origin] = OrderedDict()
        self._joining: dict[str, asyncio.Task[None]] = {}
        self._refused_invites: set[str] = set()
        self._receipts: set[asyncio.Task[None]] = set()
        self._told: set[str] = set()

    async def run(self, from_now: bool = False) -> None:
        """Receive until it is cancelled. With `from_now`, skip all earlier messages."""
        overview = await self._sync(None, OVERVIEW, 0)
        self._since = self._channel.cursors.get("", "")
        if from_now or not self._since:
            self._since = _position(overview)
            await self._move(self._since)
            log.info("messages from now on are for the agent; earlier ones are skipped")
        self._cursors = self._channel.cursors
        self._take_invites(overview)
        while True:
            self._follow_daemon()
            batch = await self._sync(self._since, FILTER, POLL_SECONDS)
            self._take_invites(batch)
            await self._take(batch)

    async def stop(self) -> None:
        """End the work in the background."""
        for task in (*self._joining.values(), *self._receipts):
            task.cancel()

    async def _sync(
        self, since: str | None, filter_: dict[str, Any], seconds: float
    ) -> dict[str, Any]:
        try:
            batch = await self._server.until_answered(
                lambda: self._sync_once(since, filter_, seconds), "receive events"
            )
        except MatrixError as error:
            if error.ends_access or since is None:
                raise
            raise PositionError(
                f"the homeserver does not accept the position {since!r:.120}: {error}; start once "
                "with --from-now to skip to the present one"
            ) from error
        _position(batch)
        return mapping(batch)

    async def _sync_once(self, since: str | None, filter_: dict[str, Any], seconds: float) -> Any:
        """Wait for events, and report the outcome for `avocet status`."""
        try:
            batch = await self._server.sync(since, filter_, seconds)
        except (*TRANSIENT, MatrixError) as error:
            await self._channel.report_health(False, f"cannot receive events: {error}")
            raise
        await self._channel.report_health(True)
        return batch

    def _follow_daemon(self) -> None:
        """Go back to the daemon's position after a new connection: its log may be an older one."""
        if self._channel.cursors is not self._cursors:
            self._cursors = self._channel.cursors
            self._since = self._cursors.get("", self._since)
            self._newest.clear()

    # Invitations

    def _take_invites(self, batch: dict[str, Any]) -> None:
        for room, invite in mapping(mapping(batch.get("rooms")).get("invite")).items():
            if not ids.is_id("room", room) or room in self._joining:
                continue
            inviter = self._inviter(invite)
            if inviter is not None and self._settings.admits(inviter):
                self._joining[room] = asyncio.create_task(self._join(room, inviter))
            elif room not in self._refused_invites:
                self._refused_invites.add(room)
                log.info("ignoring the invitation to %s by %s; see invite_from", room, inviter)

    def _inviter(self, invite: Any) -> str | None:
        for event in sequence(mapping(mapping(invite).get("invite_state")).get("events")):
            event = mapping(event)
            is_mine = event.get("type") == "m.room.member" and event.get("state_key") == self._user
            sender = event.get("sender")
            if is_mine and mapping(event.get("content")).get("membership") == "invite":
                return sender if ids.is_id("user", sender) else None
        return None

    async def _join(self, room: str, inviter: str) -> None:
        via = ids.server_of(inviter)
        query = {"server_name": via, "via": via} if via else None
        try:
            await self._server.until_answered(
                lambda: self._server.once("POST", path("join", room), {}, query=query),
                f"join {room}",
            )
            log.info("joined %s, to which %s had invited", room, inviter)
        except MatrixError as error:
            log.warning("cannot join %s, to which %s had invited: %s", room, inviter, error)
        finally:
            self._joining.pop(room, None)

    # Messages

    async def _take(self, batch: dict[str, Any]) -> None:
        """Publish the messages of a batch, and take back deleted ones, in their order.

        The last message carries the position behind the batch.
        """
        position, rooms = _position(batch), mapping(batch.get("rooms"))
        for room_id in mapping(rooms.get("leave")):
            self._rooms.forget(room_id)
            self._newest.pop(room_id, None)
        found: list[tuple[Room, Message | Redaction]] = []
        newest: dict[str, str] = {}
        for room_id, joined in mapping(rooms.get("join")).items():
            if ids.is_id("room", room_id):
                found += await self._room(room_id, mapping(joined), newest)
        accepted: dict[str, str] = {}
        for number, (room, message) in enumerate(found, 1):
            end = position if number == len(found) else None
            if isinstance(message, Redaction):
                await self._withdraw(room, message, end)
            elif await self._publish(room, message, end):
                accepted[room.id] = message.event
        loop = asyncio.get_running_loop()
        if not found and rooms.get("join") and loop.time() - self._moved_at >= POSITION_SECONDS:
            await self._move(position)
        self._since = position
        self._newest |= newest
        for room_id, event in accepted.items():
            self._confirm(room_id, event)

    async def _room(
        self, room_id: str, joined: dict[str, Any], newest: dict[str, str]
    ) -> list[tuple[Room, Message | Redaction]]:
        """Return the messages of a room that are for the agent."""
        timeline = mapping(joined.get("timeline"))
        events = [mapping(event) for event in sequence(timeline.get("events"))]
        try:
            if timeline.get("limited") is True:
                events = await self._fill(room_id, timeline.get("prev_batch"), events)
            first = self._first(events)
            # A room that is read now has the present state already, and the events are older.
            was_known = self._rooms.known(room_id) is not None
            room = await self._server.until_answered(
                lambda: self._rooms.get(room_id), f"read the members of {room_id}", MOST_FAULTS
            )
        except MatrixError as error:
            if error.ends_access:
                raise
            log.warning("skipping new events of %s, which cannot be read: %s", room_id, error)
            return []
        for event in sequence(mapping(joined.get("state")).get("events")) if was_known else []:
            await self._event(room, mapping(event), True)
        found = []
        for number, event in enumerate(events):
            is_new = was_known if "state_key" in event else number >= first
            if is_new and (message := await self._event(room, event, False)) is not None:
                found.append((room, message))
        if events and ids.is_id("event", events[-1].get("event_id")):
            newest[room_id] = events[-1]["event_id"]
        return found

    async def _event(
        self, room: Room, event: dict[str, Any], is_state: bool
    ) -> Message | Redaction | None:
        """Apply an event of the state; return another one if it is for the agent.

        An event that no server sends must not end the program, which would get it again.
        """
        try:
            if is_state or "state_key" in event:
                room.apply(event)
                return None
            if (target := find_redacted(event)) is not None:
                return await self._redacted(room, event, target)
            return await self._wanted(room, event)
        except (MatrixError, AvocetError, *TRANSIENT):
            raise
        except Exception:
            log.exception("skipping an event of %s: %r", room.id, str(event)[:200])
            return None

    async def _fill(self, room_id: str, token: Any, events: list[Any]) -> list[Any]:
        """Return the events with those before them, back to the last one that was taken."""
        filled = await self._page(room_id, token, events, {"to": self._since})
        if self._first(filled) == 0 and any(self._is_entry(event) for event in filled):
            # The invitation to this new room is older than the position.
            return await self._page(room_id, token, events, {})
        return filled

    async def _page(
        self, room_id: str, token: Any, events: list[Any], end: dict[str, str]
    ) -> list[Any]:
        known = self._newest.get(room_id)
        for _ in range(MOST_PAGES):
            if not isinstance(token, str) or self._first(events) > 0:
                return events
            query = {"dir": "b", "from": token, "limit": str(TIMELINE), **end}
            page = await self._server.until_answered(
                lambda: self._server.once("GET", path("rooms", room_id, "messages"), query=query),
                f"read earlier events of {room_id}",
                MOST_FAULTS,
            )
            older = [mapping(event) for event in sequence(page.get("chunk"))]
            found = [event.get("event_id") for event in older]
            if known is not None and known in found:
                return older[: found.index(known)][::-1] + events
            events = older[::-1] + events
            # A page may be empty although others follow. The end has no token.
            token = page.get("end") if page.get("end") != token else None
        if token is not None and self._first(events) == 0:
            log.warning(
                "%s: more than %d events were missed; the oldest are skipped",
                room_id,
                MOST_PAGES * TIMELINE,
            )
        return events

    def _first(self, events: list[Any]) -> int:
        """Return the place behind the last invitation or entry of the agent; 0 if there is none.

        Older messages were not for the agent. Those between the invitation and the entry are.
        """
        for place in range(len(events) - 1, -1, -1):
            event = events[place]
            if event.get("type") != "m.room.member" or event.get("state_key") != self._user:
                continue
            if mapping(event.get("content")).get("membership") != "join":
                return place + 1
            unsigned = mapping(event.get("unsigned"))
            before = mapping(unsigned.get("prev_content")).get("membership")
            if (
                before is None
                and "replaces_state" not in unsigned
                or before in ("leave", "ban", "knock")
            ):
                return place + 1
        return 0

    def _is_entry(self, event: dict[str, Any]) -> bool:
        """Return `True` if the event is the entry of the agent after an invitation."""
        is_mine = event.get("type") == "m.room.member" and event.get("state_key") == self._user
        before = mapping(mapping(event.get("unsigned")).get("prev_content")).get("membership")
        membership = mapping(event.get("content")).get("membership")
        return is_mine and membership == "join" and before == "invite"

    async def _wanted(self, room: Room, event: dict[str, Any]) -> Message | None:
        """Return the message of an event if it is for the agent."""
        if event.get("sender") == self._user:
            if ids.is_id("event", event.get("event_id")):
                self._own.add(event["event_id"])
            return None
        if event.get("type") == "m.room.encrypted":
            await self._tell_encrypted(room)
            return None
        message = parse(event)
        if message is None:
            return None
        self._remember(message.event, Origin(message.sender, message.thread))
        if message.corrects is not None:
            origin = await self._origin(room.id, message.corrects)
            if origin is None or origin.sender != message.sender:
                return None
            message.thread = origin.thread
            self._remember(message.event, Origin(message.sender, origin.thread, message.corrects))
        return await self._addressed(room, message)

    async def _redacted(
        self, room: Room, event: dict[str, Any], target: str
    ) -> Message | Redaction | None:
        """Return what a redaction changes: it deletes a message, or takes back an edit of one."""
        if target in self._own:
            return None
        edit = self._origins.pop(target, None)
        if edit is None or edit.corrects is None or not ids.is_id("event", event.get("event_id")):
            return Redaction(target)
        left = [key for key, one in self._origins.items() if one.corrects == edit.corrects]
        for key in (*reversed(left), edit.corrects):
            found = await self._read_event(room.id, key)
            if found is None:
                log.warning("%s: cannot read the text before the deleted edit %s", room.id, target)
                return None
            # An event that was deleted, too, has no text.
            if (message := parse(found)) is not None:
                message.event, message.corrects = event["event_id"], edit.corrects
                message.thread, message.written_at = edit.thread, parse_time(event)
                return await self._addressed(room, message) or Redaction(edit.corrects)
        return Redaction(edit.corrects)

    async def _addressed(self, room: Room, message: Message) -> Message | None:
        """Return the message without the address of the agent; `None` if it is for others."""
        if (
            not room.is_private
            and self._settings.mention
            and not await self._is_addressed(room, message)
        ):
            return None
        message.text = without_address(message.text, self._names(room))
        return message if message.text.strip() or message.files else None

    def _names(self, room: Room) -> set[str]:
        return {self._user, self._name or "", room.members.get(self._user) or ""}

    async def _is_addressed(self, room: Room, message: Message) -> bool:
        found = self._names(room)
        if addresses(message.text, found) or is_command(message.text):
            return True
        if self._user in (message.mentions or ()):
            return True
        if message.mentions is None and contains_name(message.text, found):
            # Old clients only write the name.
            return True
        if message.reply_to is None:
            return False
        origin = await self._origin(room.id, message.reply_to)
        return origin is not None and origin.sender == self._user

    def _remember(self, event: str, origin: Origin) -> None:
        self._origins[event] = origin
        while len(self._origins) > MOST_REMEMBERED:
            self._origins.popitem(last=False)

    async def _origin(self, room: str, event: str) -> Origin | None:
        """Return an earlier event; `None` if it cannot be read."""
        if event in self._own:
            return Origin(self._user, None)
        if event not in self._origins:
            found = await self._read_event(room, event)
            if found is None:
                return None
            relates = mapping(mapping(found.get("content")).get("m.relates_to"))
            thread = relates.get("event_id") if relates.get("rel_type") == "m.thread" else None
            sender = found.get("sender")
            thread = thread if ids.is_id("event", thread) else None
            self._remember(event, Origin(sender if isinstance(sender, str) else "", thread))
        return self._origins.get(event)

    async def _read_event(self, room: str, event: str) -> dict[str, Any] | None:
        """Return an earlier event; `None` if the homeserver does not show it."""
        try:
            return await self._server.until_answered(
                lambda: self._server.once("GET", path("rooms", room, "event", event)),
                f"read an earlier message of {room}",
                MOST_FAULTS,
            )
        except MatrixError as error:
            if error.ends_access:
                raise
            return None

    async def _tell_encrypted(self, room: Room) -> None:
        """Say once in a room that encrypted messages cannot be read.

        The homeserver keeps this fact in the account data. If the program crashes before it is
        stored, the transaction id prevents a second notice.
        """
        room.is_encrypted = True
        if room.id in self._told:
            return
        self._told.add(room.id)
        log.warning("%s is encrypted; this channel cannot read its messages", room.id)
        fact = path("user", self._user, "rooms", room.id, "account_data", NOTICE_TYPE)
        transaction = "avocet-encrypted-" + hashlib.sha256(room.id.encode()).hexdigest()[:20]
        content = {"msgtype": "m.notice", "body": ENCRYPTED_NOTICE, "m.mentions": {}}
        try:
            try:
                await self._server.call("GET", fact)
            except MatrixError as error:
                if error.status != 404:
                    raise
                await self._sender.send(room.id, transaction, content)
                await self._server.call("PUT", fact, {"encrypted": True})
        except (*TRANSIENT, NotTaken, Refused, Unknown) as error:
            log.warning(
                "cannot say in %s that encrypted messages cannot be read: %s", room.id, error
            )
        except MatrixError as error:
            if error.ends_access:
                raise
            log.warning(
                "cannot say in %s that encrypted messages cannot be read: %s", room.id, error
            )

    async def _publish(self, room: Room, message: Message, position: str | None) -> bool:
        """Publish a message. Return `True` after the commit, and `False` if it was refused."""
        try:
            chat = ids.address(self._settings.account, room.id, message.thread)
            sender, key = ids.sender(message.sender), ids.encode(message.event)
            corrects = ids.encode(message.corrects) if message.corrects else None
        except ids.IdError as error:
            log.warning("skipping a message: %s", error)
            if position is not None:
                await self._move(position)
            return False
        more: dict[str, Any] = {
            "key": key,
            "chat_kind": "private" if room.is_private else "group",
            "sender_name": room.members.get(message.sender),
            "attachments": message.files,
            "written_at": message.written_at,
            "corrects": corrects,
        }
        refusal = await self._commit(chat, sender, message.text, position, more)
        if refusal is None:
            return True
        log.info(
            "%s: the message %s of %s is not accepted: %s", room.id, key, sender, refusal.message
        )
        if position is not None and refusal.code != ErrorCode.NOT_ALLOWED:
            # A message with unusable parameters has not moved the position.
            await self._move(position)
        return False

    async def _withdraw(self, room: Room, redaction: Redaction, position: str | None) -> None:
        """Take back a deleted message. One that was not for the agent changes nothing."""
        try:
            chat = ids.address(self._settings.account, room.id, None)
            key = ids.encode(redaction.target)
        except ids.IdError as error:
            log.warning("skipping a deletion: %s", error)
        else:
            await self._until_stored(
                lambda: self._channel.withdraw_message(chat, key), "take back a message"
            )
        if position is not None:
            await self._move(position)

    async def _move(self, position: str) -> None:
        """Store a position without a message."""
        await self._until_stored(
            lambda: self._channel.move_cursor(position), "store the position"
        )
        self._moved(position)

    async def _until_stored(self, store: Callable[[], Awaitable[None]], what: str) -> None:
        """Repeat a change of the daemon's log until the log can be written."""
        backoff = Backoff(5.0)
        while True:
            try:
                return await store()
            except AvocetError as error:
                if not error.is_transient:
                    raise
                pause = backoff.next()
                log.warning("cannot %s: %s; retrying in %.1f s", what, error, pause)
                await asyncio.sleep(pause)

    async def _commit(
        self, chat: str, sender: str, text: str, position: str | None, more: dict[str, Any]
    ) -> AvocetError | None:
        """Publish until the daemon has decided. Return its refusal; `None` after the commit."""
        cursor: Any = None if position is None else {"position": position}
        backoff = Backoff(5.0)
        while True:
            try:
                await self._channel.publish(chat, sender, text, cursor=cursor, **more)
            except AvocetError as error:
                if not error.is_transient:
                    self._moved(position)
                    return error
                pause = backoff.next()
                log.warning(
                    "cannot publish a message of %s: %s; retrying in %.1f s", chat, error, pause
                )
                await asyncio.sleep(pause)
            else:
                self._moved(position)
                return None

    def _moved(self, position: str | None) -> None:
        if position is not None:
            self._moved_at = asyncio.get_running_loop().time()

    def _confirm(self, room: str, event: str) -> None:
        """Show the author that the message was read. Only called after the commit."""
        task = asyncio.create_task(self._send_receipt(room, event))
        self._receipts.add(task)
        task.add_done_callback(self._receipts.discard)

    async def _send_receipt(self, room: str, event: str) -> None:
        try:
            await self._server.call("POST", path("rooms", room, "receipt", "m.read", event), {})
        except (*TRANSIENT, MatrixError) as error:
            log.debug("cannot send a read receipt to %s: %s", room, error)


def _position(batch: Any) -> str:
    position = mapping(batch).get("next_batch")
    if not isinstance(position, str) or not position:
        raise PositionError("the homeserver has sent events without a position (next_batch)")
    return position
