"""Ids of Matrix, and their forms in the addresses and keys of Avocet.

An address of Avocet separates its parts by `:` and forbids `/`, so the ids are percent-encoded.
"""

import re
from typing import Any
from urllib.parse import quote, unquote

# The longest id of Avocet, and of Matrix, in bytes.
MAX_BYTES = 256
_SERVER = (
    r"(?:\[[0-9A-Fa-f:.]{2,45}\]|[0-9A-Za-z](?:[0-9A-Za-z.-]{0,228}[0-9A-Za-z])?)(?::[0-9]{1,5})?"
)
_FORMS = {
    "user": re.compile(rf"@[\x21-\x39\x3b-\x7e]*:{_SERVER}"),
    # Rooms of version 12 have no server name.
    "room": re.compile(r"![\x21-\x7e]{1,254}"),
    "event": re.compile(r"\$[\x21-\x7e]{1,254}"),
    "server": re.compile(_SERVER),
    "file": re.compile(rf"mxc://{_SERVER}/[0-9A-Za-z_-]{{1,255}}"),
}


class IdError(ValueError):
    """A value that is not an id of Matrix."""


def check(kind: str, value: Any) -> str:
    """Return the value if it is an id of this kind. Raise `IdError` otherwise."""
    if isinstance(value, str) and len(value) < MAX_BYTES and _FORMS[kind].fullmatch(value):
        return value
    raise IdError(f"{value!r:.80} is not a valid id: {kind}")


def is_id(kind: str, value: Any) -> bool:
    """Return `True` if the value is an id of this kind."""
    try:
        check(kind, value)
    except IdError:
        return False
    return True


def server_of(value: str) -> str | None:
    """Return the server name of a user or room; `None` if there is none."""
    _, colon, server = value.partition(":")
    return server if colon and is_id("server", server) else None


def encode(value: str, also_safe: str = "") -> str:
    """Return the id as a part of an address, or as a key."""
    encoded = quote(value, safe="!$@+=~" + also_safe).replace("..", "%2E%2E")
    if len(encoded) > MAX_BYTES:
        raise IdError(f"{value!r:.80} is too long for Avocet: {len(encoded)} bytes")
    return encoded


def sender(user: str) -> str:
    """Return the id of a person for Avocet: `@ann:example.org` stays unchanged."""
    return encode(user, ":")


def decode(kind: str, encoded: str) -> str:
    """Return the id of Matrix in a part of an address, or in a key."""
    return check(kind, unquote(encoded))


def address(account: str, room: str, thread: str | None) -> str:
    """Return the address of a room, or of a thread in it."""
    chat = f"external:{account}:{encode(room)}"
    found = chat if thread is None else f"{chat}:{encode(thread)}"
    if len(found) > MAX_BYTES:
        raise IdError(f"the address {found!r:.120} is too long for Avocet: {len(found)} bytes")
    return found


def parse_address(chat: str) -> tuple[str, str | None]:
    """Return the room and the thread of an address."""
    parts = chat.split(":")
    if len(parts) not in (3, 4):
        raise IdError(f"{chat!r:.120} is not external:ACCOUNT:ROOM or external:ACCOUNT:ROOM:THREAD")
    thread = decode("event", parts[3]) if len(parts) == 4 else None
    return decode("room", parts[2]), thread
