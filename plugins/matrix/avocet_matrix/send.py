"""Deliveries of the agent as events of a room.

The transaction id of an event is made from the nonce of its delivery. The homeserver keeps the
transactions of a device for a time that the specification leaves open. A repeated request within
this time returns the id of the first event, and makes no second one. Later it makes another one.
Therefore a repeated delivery has both: the same transaction id, and a mark in its text.
"""

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from avocet_client import AvocetError, Channel, Delivery

from . import ids
from .backoff import Backoff
from .events import is_media_type
from .homeserver import Homeserver, MatrixError, is_transient, path
from .http import Interrupted, Unreachable
from .rooms import Rooms
from .text import REPEAT_MARK, plain, to_html

log = logging.getLogger(__name__)

# The time for attempts to send one event. The daemon gives a delivery 60 s or more.
ATTEMPT_SECONDS = 15.0
# The largest content of an event. The limit of the whole event is 65,536 bytes.
MAX_CONTENT_BYTES = 60_000
MOST_RUNNING = 16
MOST_REMEMBERED = 2000
TYPING_MILLISECONDS = 20_000
# The least time between two typing notices in a room.
TYPING_PAUSE_SECONDS = 8.0
MESSAGE_TYPES = {"image": "m.image", "audio": "m.audio", "voice": "m.audio", "video": "m.video"}


class Refused(Exception):
    """The message can never be delivered."""


class NotTaken(Exception):
    """The homeserver does not have the message. It may take it later."""


class Unknown(Exception):
    """The homeserver may have the message."""


class Own(OrderedDict[str, None]):
    """The last events of the agent itself."""

    def add(self, event: str) -> None:
        """Remember an event."""
        self[event] = None
        while len(self) > MOST_REMEMBERED:
            self.popitem(last=False)


class Sender:
    """Sends the deliveries of the daemon, one at a time in each room."""

    def __init__(
        self,
        server: Homeserver,
        rooms: Rooms,
        own: Own,
        user: str,
        fatal: Callable[[Exception], None],
    ) -> None:
        """`fatal` is called with an error after which nothing can be sent."""
        self._server = server
        self._rooms = rooms
        self._own = own
        self._user = user
        self._fatal = fatal
        self._tasks: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(MOST_RUNNING)
        self._locks: dict[str, asyncio.Lock] = {}
        self._typed: dict[str, float] = {}
        self._max_upload: int | None = None
        self._is_limit_known = False

    async def run(self, channel: Channel) -> None:
        """Deliver until the channel is closed."""
        async for delivery in channel:
            await self._places.acquire()
            self._start(self._deliver(delivery), self._places.release)

    async def finish(self, seconds: float) -> None:
        """Wait for running deliveries, then cancel the rest."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in self._tasks:
            task.cancel()

    def typing(self, chat: str) -> None:
        """Show that the agent works on an answer."""
        try:
            room, _ = ids.parse_address(chat)
        except ids.IdError:
            return
        now = asyncio.get_running_loop().time()
        if now - self._typed.get(room, -TYPING_PAUSE_SECONDS) >= TYPING_PAUSE_SECONDS:
            self._typed[room] = now
            self._start(self._set_typing(room, {"typing": True, "timeout": TYPING_MILLISECONDS}))

    def _start(self, work: Any, then: Callable[[], None] | None = None) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if then is not None:
            task.add_done_callback(lambda _: then())

    async def _set_typing(self, room: str, body: dict[str, Any]) -> None:
        try:
            await self._server.once("PUT", path("rooms", room, "typing", self._user), body)
        except (Unreachable, Interrupted, MatrixError) as error:
            log.debug("cannot show typing in %s: %s", room, error)

    async def _deliver(self, delivery: Delivery) -> None:
        try:
            room, thread = ids.parse_address(delivery.chat)
        except ids.IdError as error:
            await delivery.refuse(str(error))
            return
        lock = self._locks.setdefault(room, asyncio.Lock())
        async with lock:
            await self._answer(delivery, room, thread)

    async def _answer(self, delivery: Delivery, room: str, thread: str | None) -> None:
        """Send a delivery and report its outcome."""
        try:
            event = await self._post(delivery, room, thread)
        except Refused as error:
            log.warning("delivery %s to %s is refused for good: %s", delivery.id, room, error)
            await delivery.refuse(str(error))
        except NotTaken as error:
            log.warning(
                "cannot send delivery %s to %s: %s; the daemon repeats it later",
                delivery.id,
                room,
                error,
            )
            await delivery.fail(str(error))
        except Exception as error:
            # An error of the program itself is no promise about the homeserver.
            log.warning("the outcome of delivery %s to %s is unknown: %s", delivery.id, room, error)
            await delivery.unknown(str(error))
        else:
            await delivery.confirm(ids.encode(event))
            if self._typed.pop(room, None) is not None:
                self._start(self._set_typing(room, {"typing": False}))

    async def _post(self, delivery: Delivery, room: str, thread: str | None) -> str:
        await self._check(room)
        relation = relates_to(thread, delivery.reply_to)
        uploads = [
            await self._upload(delivery, number) for number in range(len(delivery.attachments))
        ]
        contents = [text_content(delivery)] if has_text(delivery) else []
        if delivery.repeat and not contents and uploads:
            # The body beside a file name is a caption.
            uploads[0]["body"] = REPEAT_MARK
        sent = []
        for number, content in enumerate(contents + uploads):
            content |= {"m.mentions": {}} | ({"m.relates_to": relation} if relation else {})
            # The text has the name `t`, and files have their number.
            place = "t" if number < len(contents) else str(number - len(contents))
            transaction = f"avocet-{delivery.nonce}-{place}"
            try:
                sent.append(await self.send(room, transaction, content))
            except NotTaken as error:
                # The first events of the delivery were taken, so that a repetition needs its mark.
                raise (Unknown(str(error)) if sent else error) from error
        if not sent:
            raise Refused("the message is empty")
        return sent[0]

    async def _check(self, room_id: str) -> None:
        """Refuse a room that cannot be read, so that no answer lands there without encryption."""
        try:
            room = await self._rooms.get(room_id)
        except (Unreachable, Interrupted) as error:
            raise NotTaken(str(error)) from error
        except MatrixError as error:
            self._judge(error)
            raise
        if room.is_encrypted:
            raise Refused(f"{room_id} is encrypted, and this channel sends without encryption")

    async def send(self, room: str, transaction: str, content: dict[str, Any]) -> str:
        """Send an event and return its id. Repetitions of a transaction are the same event."""
        target = path("rooms", room, "send", "m.room.message", transaction)
        loop, backoff, may_be_there = asyncio.get_running_loop(), Backoff(4.0), False
        end = loop.time() + ATTEMPT_SECONDS
        while True:
            try:
                sent = (
                    await self._server.call("PUT", target, content, timeout=ATTEMPT_SECONDS)
                ).get("event_id")
                if not ids.is_id("event", sent):
                    raise Unknown(f"the homeserver reports {sent!r:.80} as the id of the event")
                self._own.add(str(sent))
                return str(sent)
            except Unreachable as error:
                last: Exception = error
            except Interrupted as error:
                last, may_be_there = error, True
            except MatrixError as error:
                if not is_transient(error):
                    self._judge(error)
                last, may_be_there = error, may_be_there or error.status >= 500
            if loop.time() >= end or isinstance(last, MatrixError) and last.is_rate_limit:
                break
            await backoff.pause()
        raise (Unknown if may_be_there else NotTaken)(str(last)) from last

    def _judge(self, error: MatrixError) -> None:
        """Raise the meaning of an error for a delivery."""
        if error.ends_access:
            self._fatal(error)
            raise NotTaken(str(error)) from error
        if error.is_transient:
            raise NotTaken(str(error)) from error
        raise Refused(str(error)) from error

    async def _upload(self, delivery: Delivery, number: int) -> dict[str, Any]:
        """Upload a file and return the content of its event. Nothing is visible in the room yet."""
        file = delivery.attachments[number]
        name = plain(file["name"], 200) or "file"
        media_type = file.get("media_type")
        media_type = media_type if is_media_type(media_type) else "application/octet-stream"
        try:
            limit = await self._upload_limit()
            if limit is not None and file["bytes"] > limit:
                raise Refused(
                    f"{name} has {file['bytes']} bytes; the homeserver takes files up to {limit}"
                )
            content = await delivery.read_file(number)
            uri = await self._server.upload(name, str(media_type), content)
        except (Unreachable, Interrupted, AvocetError) as error:
            raise NotTaken(str(error)) from error
        except MatrixError as error:
            self._judge(error)
            raise
        if not ids.is_id("file", uri):
            raise NotTaken(f"the homeserver reports {uri!r:.80} as the address of the file {name}")
        kind = MESSAGE_TYPES.get(file["kind"], "m.file")
        info = {"mimetype": media_type, "size": len(content)}
        return {"msgtype": kind, "body": name, "filename": name, "url": uri, "info": info}

    async def _upload_limit(self) -> int | None:
        if not self._is_limit_known:
            self._max_upload = await self._server.max_upload()
            self._is_limit_known = True
        return self._max_upload


def has_text(delivery: Delivery) -> bool:
    """Return `True` if the delivery needs an event of text."""
    return bool(delivery.text.strip() or delivery.choices)


def text_content(delivery: Delivery) -> dict[str, Any]:
    """Return the text of a delivery, with HTML if it has styles."""
    above = f"{REPEAT_MARK}\n" if delivery.repeat else ""
    below = "".join(
        f"\n{number}. {choice['label']}: {choice['says']}"
        for number, choice in enumerate(delivery.choices, 1)
    )
    content = {"msgtype": "m.text", "body": above + delivery.text + below}
    if not delivery.styles:
        return content
    html = to_html(above, []) + to_html(delivery.text, list(delivery.styles)) + to_html(below, [])
    rich = {**content, "format": "org.matrix.custom.html", "formatted_body": html}
    is_small = len(json.dumps(rich, ensure_ascii=False).encode()) <= MAX_CONTENT_BYTES
    return rich if is_small else content


def relates_to(thread: str | None, reply_to: str | None) -> dict[str, Any]:
    """Return the relation of a message to its thread and to the message that it answers."""
    replied = None
    if reply_to is not None:
        try:
            replied = ids.decode("event", reply_to)
        except ids.IdError as error:
            log.warning("sending without a reference to the message: %s", error)
    if thread is None:
        return {"m.in_reply_to": {"event_id": replied}} if replied else {}
    # Clients without threads show the message as a reply.
    fallback = {
        "is_falling_back": replied is None,
        "m.in_reply_to": {"event_id": replied or thread},
    }
    return {"rel_type": "m.thread", "event_id": thread, **fallback}
