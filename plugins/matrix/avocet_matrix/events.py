"""Events of a room as messages of people. An event is hostile input: each field may be anything."""

from dataclasses import dataclass, field
from typing import Any

from . import ids
from .text import plain, valid, without_fallback

# Message types with a file, and their kinds in Avocet.
_FILES = {"m.image": "image", "m.audio": "audio", "m.video": "video", "m.file": "document"}
_TEXTS = ("m.text", "m.emote")
MAX_NAME = 200


@dataclass
class Message:
    """A message of a person, or the edit of one."""

    event: str
    sender: str
    text: str = ""
    files: list[dict[str, Any]] = field(default_factory=list)
    # The first event of the thread.
    thread: str | None = None
    # The event that this one replies to. In a thread, `None` for the fallback of old clients.
    reply_to: str | None = None
    # The event that this one edits.
    corrects: str | None = None
    # The users that the client says are mentioned; `None` from a client that does not say so.
    mentions: set[str] | None = None
    # Milliseconds since 1970.
    written_at: int | None = None


def mapping(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """Return the value if it is a list, otherwise an empty one."""
    return value if isinstance(value, list) else []


def parse(event: Any) -> Message | None:
    """Return the message of an event; `None` for any other event."""
    event = mapping(event)
    content = mapping(event.get("content"))
    sender, event_id = event.get("sender"), event.get("event_id")
    if not (ids.is_id("user", sender) and ids.is_id("event", event_id)) or "state_key" in event:
        return None
    message = Message(str(event_id), str(sender), written_at=parse_time(event))
    _relate(message, content)
    if message.corrects is not None:
        content = mapping(content.get("m.new_content"))
    message.mentions = _mentions(content)
    kind = content.get("msgtype")
    kind = kind if isinstance(kind, str) else ""
    if event.get("type") == "m.sticker":
        kind = "m.sticker"
    elif event.get("type") != "m.room.message":
        return None
    body = content.get("body")
    body = valid(body) if isinstance(body, str) else ""
    if kind in _TEXTS:
        message.text = without_fallback(body) if message.reply_to else body
        if kind == "m.emote":
            message.text = f"* {message.text}"
    elif kind in _FILES or kind == "m.sticker":
        _take_file(message, kind, content, body)
    return message if message.text.strip() or message.files else None


def find_redacted(event: Any) -> str | None:
    """Return the event that a redaction has deleted; `None` for any other event.

    Rooms of version 11 and later name it in the content.
    """
    event = mapping(event)
    if event.get("type") != "m.room.redaction" or "state_key" in event:
        return None
    named = (event.get("redacts"), mapping(event.get("content")).get("redacts"))
    return next((str(target) for target in named if ids.is_id("event", target)), None)


def _relate(message: Message, content: dict[str, Any]) -> None:
    relates = mapping(content.get("m.relates_to"))
    target, kind = relates.get("event_id"), relates.get("rel_type")
    replied = mapping(relates.get("m.in_reply_to")).get("event_id")
    replied = replied if ids.is_id("event", replied) else None
    if kind == "m.thread" and ids.is_id("event", target):
        message.thread = target
        replied = None if relates.get("is_falling_back") is True else replied
    elif kind == "m.replace" and ids.is_id("event", target):
        message.corrects = target
    message.reply_to = replied


def _mentions(content: dict[str, Any]) -> set[str] | None:
    mentions = content.get("m.mentions")
    if not isinstance(mentions, dict):
        return None
    return {user for user in sequence(mentions.get("user_ids")) if isinstance(user, str)}


def parse_time(event: dict[str, Any]) -> int | None:
    """Return the time of an event, in milliseconds since 1970; `None` if it has none."""
    value = event.get("origin_server_ts")
    is_time = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**52
    return value if is_time else None


def _take_file(message: Message, kind: str, content: dict[str, Any], body: str) -> None:
    uri = content.get("url")
    if not ids.is_id("file", uri):
        # A file of an encrypted room has no URL.
        return
    info = mapping(content.get("info"))
    name = content.get("filename")
    if isinstance(name, str) and name != body:
        # The body is a caption if there is a name beside it.
        message.text = body
    else:
        name = body
    is_voice = "org.matrix.msc3245.voice" in content or "m.voice" in content
    found: dict[str, Any] = {"reference": uri, "kind": _FILES.get(kind, "sticker")}
    if kind == "m.audio" and is_voice:
        found["kind"] = "voice"
    if name := plain(valid(name), MAX_NAME):
        found["name"] = name
    media_type, size = info.get("mimetype"), info.get("size")
    if is_media_type(media_type):
        found["media_type"] = media_type
    if isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**52:
        found["bytes"] = size
    message.files.append(found)


def is_media_type(value: Any) -> bool:
    """Return `True` for a media type such as `image/png`."""
    if not isinstance(value, str) or len(value) > 100 or value.count("/") != 1:
        return False
    return all(part and part.isascii() and _is_token(part) for part in value.split("/"))


def _is_token(part: str) -> bool:
    return all(char.isalnum() or char in "!#$&^_.+-" for char in part)
