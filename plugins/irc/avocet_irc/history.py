"""Messages of the time without a connection, read with CHATHISTORY (IRCv3, draft)."""

import logging

from .connection import Connection
from .inbound import millis, written
from .wire import Message

log = logging.getLogger("avocet_irc")

# Clocks of the servers of a network differ. Messages of this time before the position are read
# again. The daemon recognises them by their keys.
OVERLAP_SECONDS = 10.0
MOST_PAGE = 100
_FUTURE = "2199-01-01T00:00:00.000Z"


async def read(connection: Connection, since: str, channels: list[str], most: int) -> list[Message]:
    """Return the messages since a time, of all channels and private chats, the oldest first."""
    at = millis(since)
    if at is None:
        log.warning("the position %r in the daemon is not a time; reading no old messages", since)
        return []
    start = written(at / 1000 - OVERLAP_SECONDS)
    limit = connection.support.get("CHATHISTORY", "")
    page = min(int(limit), MOST_PAGE) if limit.isdecimal() and int(limit) else MOST_PAGE
    found = await _targets(connection, start, page)
    names = {connection.fold(name): name for name in [*found, *channels]}
    messages: list[Message] = []
    for name in names.values():
        messages += await _of(connection, name, start, page, most - len(messages))
        if len(messages) >= most:
            log.error(
                "more than %d messages arrived meanwhile; the newer ones are lost (`history`)", most
            )
            break
    return sorted(messages, key=lambda message: message.tags.get("time", ""))


async def _targets(connection: Connection, start: str, page: int) -> list[str]:
    """Return the people who have written in private."""
    names: list[str] = []
    while True:
        params = (f"timestamp={start}", f"timestamp={_FUTURE}", str(page))
        rows = await connection.history("TARGETS", *params)
        rows = [
            row
            for row in rows
            if row.command == "CHATHISTORY" and row.param(0).upper() == "TARGETS"
        ]
        new = [row.param(1) for row in rows if row.param(1) not in names]
        names += [name for name in new if name and " " not in name]
        last = max((row.param(2) for row in rows), default="")
        if len(rows) < page or not new or last <= start:
            return [name for name in names if not connection.is_channel(name)]
        start = last


async def _of(connection: Connection, name: str, start: str, page: int, most: int) -> list[Message]:
    messages: list[Message] = []
    seen: set[tuple[str, ...]] = set()
    after = f"timestamp={start}"
    has_ids = "msgid" in connection.support.get("MSGREFTYPES", "msgid").split(",")
    while len(messages) < most:
        rows = await connection.history("AFTER", name, after, str(page))
        new = []
        for row in rows:
            mark = (row.tags.get("msgid", ""), row.tags.get("time", ""), row.source, *row.params)
            if mark not in seen:
                seen.add(mark)
                new.append(row)
        # In a private chat, the other rows are those of the agent, maybe under another nickname.
        is_group = connection.is_channel(name)
        of_people = [
            row for row in new if is_group or connection.fold(row.nick) == connection.fold(name)
        ]
        messages += [row for row in of_people if row.command == "PRIVMSG"]
        if len(rows) < page or not new:
            break
        msgid, at = rows[-1].tags.get("msgid", ""), millis(rows[-1].tags.get("time", ""))
        if msgid and has_ids:
            after = f"msgid={msgid}"
        elif at is not None:
            # The next page may have messages of the same millisecond.
            after = f"timestamp={written((at - 1) / 1000)}"
        else:
            break
    return messages[:most]
