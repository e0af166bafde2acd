"""The daemon's side of the channel as objects in memory, for tests of one direction."""

from typing import Any

from harness import BOT, TOKEN, FakeHomeserver

from avocet_client import AvocetError
from avocet_matrix.homeserver import Homeserver
from avocet_matrix.http import HttpClient
from avocet_matrix.receive import Receiver
from avocet_matrix.rooms import Rooms
from avocet_matrix.send import Own, Sender
from avocet_matrix.settings import Settings


class FakeChannel:
    """Keeps published messages and the position."""

    def __init__(self) -> None:
        self.cursors: dict[str, str] = {}
        # The daemon's position, which `cursors` has after the next connection.
        self.position = ""
        self.published: list[dict[str, Any]] = []
        self.withdrawn: list[tuple[str, str]] = []
        self.refusals: list[AvocetError] = []
        self.health: list[tuple[bool, str | None]] = []

    async def report_health(self, up: bool, reason: str | None = None) -> None:
        if [(up, reason)] != self.health[-1:]:
            self.health.append((up, reason))

    async def publish(self, chat: str, sender: str, text: str, **more: Any) -> Any:
        cursor = more.pop("cursor")
        if self.refusals:
            raise self.refusals.pop(0)
        if cursor is not None:
            self.position = cursor["position"]
        self.published.append({"chat": chat, "sender": sender, "text": text, **more})
        return {"message": "m1", "duplicate": False}

    async def withdraw_message(self, chat: str, key: str) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        self.withdrawn.append((chat, key))

    async def move_cursor(self, position: str, scope: str = "") -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        self.position = position


class FakeDelivery:
    """A delivery that keeps its outcome."""

    def __init__(self, chat: str, text: str = "hello", **more: Any) -> None:
        self.id, self.nonce, self.chat, self.text = "1", "n0nce", chat, text
        self.styles, self.choices, self.attachments = [], [], []
        self.reply_to, self.repeat = None, False
        self.content = b""
        self.__dict__.update(more)
        self.outcome: tuple[str, str] | None = None

    async def confirm(self, platform_id: str) -> None:
        self.outcome = ("confirmed", platform_id)

    async def fail(self, reason: str) -> None:
        self.outcome = ("failed", reason)

    async def refuse(self, reason: str) -> None:
        self.outcome = ("refused", reason)

    async def unknown(self, reason: str) -> None:
        self.outcome = ("unknown", reason)

    async def read_file(self, _: int) -> bytes:
        return self.content


class Parts:
    """The parts of the program at a fake homeserver."""

    def __init__(self, server: FakeHomeserver, **settings: Any) -> None:
        self.settings = Settings(homeserver=server.url, **settings)
        self.homeserver = Homeserver(HttpClient(server.url), TOKEN)
        self.channel, self.rooms, self.own = FakeChannel(), Rooms(self.homeserver), Own()
        self.fatal: list[Exception] = []
        self.sender = Sender(self.homeserver, self.rooms, self.own, BOT, self.fatal.append)
        self.receiver = Receiver(
            self.settings,
            self.homeserver,
            self.channel,
            self.rooms,
            self.own,
            self.sender,
            BOT,
            "Avocet",
        )

    async def deliver(self, delivery: FakeDelivery) -> tuple[str, str]:
        await self.sender._deliver(delivery)
        assert delivery.outcome is not None
        return delivery.outcome
