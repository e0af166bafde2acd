"""Messages of people: from lines of the server to messages for the daemon."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from .connection import Connection
from .formatting import strip
from .names import digest, encode, is_usable, key_of_msgid
from .people import person
from .settings import Settings
from .wire import Message

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")


@dataclass(frozen=True)
class Inbound:
    """A message for `Channel.publish`. `time` is the server's time; empty if unknown."""

    params: dict[str, Any]
    time: str
    nick: str


def millis(time: str) -> int | None:
    """Return a time of the server in milliseconds since 1970; `None` if it cannot be read."""
    if not _TIME.fullmatch(time):
        return None
    try:
        return int(datetime.fromisoformat(time).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def written(at: float) -> str:
    """Write seconds since 1970 as a time of the server."""
    moment = datetime.fromtimestamp(at, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


class Converter:
    """Converts the messages of one connection."""

    def __init__(
        self,
        settings: Settings,
        connection: Connection,
        is_mine: Callable[[str], bool],
        next_key: Callable[[], str],
    ) -> None:
        """`is_mine` recognises ids of the agent's own messages, `next_key` makes keys."""
        self._settings = settings
        self._connection = connection
        self._is_mine = is_mine
        self._next_key = next_key

    def convert(self, message: Message, is_old: bool) -> Inbound | None:
        """Return the message for the daemon; `None` if it is not one for the agent."""
        connection = self._connection
        # A NOTICE must never be answered (RFC 2812, 3.3.2), since it may come from a program.
        is_person = message.command == "PRIVMSG" and "!" in message.source
        if not is_person or connection.is_me(message.nick) or self._is_own(message):
            return None
        target, text = message.param(0), message.param(1)
        if text.startswith("\x01"):
            text = action(text, message.nick)
        text = strip(text).strip()
        is_group = connection.is_channel(target)
        if is_group:
            found = self._addressed(text, message)
        else:
            # Old messages may be to a nickname that the agent had then.
            found = text if is_old or connection.is_me(target) else ""
        who = person(message, self._settings.identity, connection.fold)
        chat = encode(connection.fold(target)) if is_group else who.chat
        if not found or not is_usable(chat) or len(who.sender.encode()) > 256:
            return None
        time = message.tags.get("time", "")
        written_at = millis(time)
        params = {
            "chat": f"external:{self._settings.account}:{chat}",
            "chat_kind": "group" if is_group else "private",
            "sender": who.sender,
            "sender_name": strip(message.nick)[:64],
            "is_bot": "bot" in message.tags or "draft/bot" in message.tags,
            "key": self._key(message, is_old),
            "text": found,
            "written_at": written_at,
        }
        return Inbound(
            params, time if written_at is not None else "", connection.fold(message.nick)
        )

    def _is_own(self, message: Message) -> bool:
        """Return `True` for a message that the agent has sent under another nickname."""
        account, own = message.tags.get("account", ""), self._settings.sasl_user
        is_own_account = bool(own) and self._connection.fold(account) == self._connection.fold(own)
        return is_own_account or self._is_mine(message.tags.get("msgid", ""))

    def _key(self, message: Message, is_old: bool) -> str:
        if msgid := message.tags.get("msgid", ""):
            return key_of_msgid(msgid)
        time = message.tags.get("time", "")
        if time and (is_old or self._connection.has_history):
            return "t" + digest(time, message.source, *message.params)
        return self._next_key()

    def _addressed(self, text: str, message: Message) -> str:
        """Return the text without the nickname in front; empty if it is not for the agent."""
        for nick in (self._connection.nick, self._settings.nick):
            length = len(nick)
            for start in (0, 1) if text.startswith("@") else (0,):
                name, rest = text[start : start + length], text[start + length :]
                if self._connection.fold(name) == self._connection.fold(nick) and rest[:1] in (
                    ":",
                    ",",
                ):
                    return rest[1:].strip()
        reply = message.tags.get("+draft/reply", "") or message.tags.get("+reply", "")
        is_reply = bool(reply) and self._is_mine(reply)
        return text if is_reply or not self._settings.mention else ""


def action(text: str, nick: str) -> str:
    """Return the text of a CTCP ACTION (`/me`). Other CTCP requests are not messages of people."""
    command, _, rest = text.strip("\x01").partition(" ")
    return f"* {nick} {rest}" if command == "ACTION" and rest.strip() else ""
