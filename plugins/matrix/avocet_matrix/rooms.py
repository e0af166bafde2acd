"""The rooms of the agent: members, encryption, and the readers of the history."""

from dataclasses import dataclass, field
from typing import Any

from . import ids
from .events import mapping, sequence
from .homeserver import Homeserver, MatrixError, path
from .text import plain, valid

MAX_NAME = 100
# Members of a private room: the person and the agent.
PRIVATE_MEMBERS = 2


@dataclass
class Room:
    """The present state of a room: the parts that the channel needs."""

    id: str
    # Names of the users that are in the room or invited.
    members: dict[str, str | None] = field(default_factory=dict)
    is_encrypted: bool = False
    is_public: bool = False
    """`True` if people outside of the room can read it."""

    @property
    def is_private(self) -> bool:
        """`True` if only one person and the agent read the room."""
        return len(self.members) <= PRIVATE_MEMBERS and not self.is_public

    def apply(self, event: Any) -> None:
        """Take a state event."""
        event = mapping(event)
        kind, key, content = (
            event.get("type"),
            event.get("state_key"),
            mapping(event.get("content")),
        )
        if kind == "m.room.member" and ids.is_id("user", key):
            if content.get("membership") in ("join", "invite"):
                self.members[str(key)] = _name(content.get("displayname"))
            else:
                self.members.pop(str(key), None)
        elif kind == "m.room.encryption" and key == "":
            # A room stays encrypted, whatever a later event says.
            self.is_encrypted = True
        elif kind == "m.room.history_visibility" and key == "":
            self.is_public = content.get("history_visibility") == "world_readable"


def _name(value: Any) -> str | None:
    return (plain(valid(value), MAX_NAME) or None) if isinstance(value, str) else None


class Rooms:
    """Rooms that were needed since the start. Each is read once; later events change it."""

    def __init__(self, server: Homeserver) -> None:
        self._server = server
        self._known: dict[str, Room] = {}

    async def get(self, room_id: str) -> Room:
        """Return a room. Raise `MatrixError` if the agent is not in it."""
        room = self._known.get(room_id)
        if room is None:
            room = await self._read(room_id)
            self._known[room_id] = room
        return room

    def known(self, room_id: str) -> Room | None:
        """Return a room that was read before."""
        return self._known.get(room_id)

    def forget(self, room_id: str) -> None:
        """Remove a room that the agent has left."""
        self._known.pop(room_id, None)

    async def _read(self, room_id: str) -> Room:
        room = Room(room_id)
        members = await self._server.call(
            "GET", path("rooms", room_id, "members"), query={"not_membership": "leave"}
        )
        for event in sequence(members.get("chunk")):
            room.apply(event)
        for kind in ("m.room.encryption", "m.room.history_visibility"):
            content = await self._state(room_id, kind)
            if content is not None:
                room.apply({"type": kind, "state_key": "", "content": content})
        return room

    async def _state(self, room_id: str, kind: str) -> dict[str, Any] | None:
        try:
            return await self._server.call("GET", path("rooms", room_id, "state", kind))
        except MatrixError as error:
            if error.status == 404:
                return None
            raise
