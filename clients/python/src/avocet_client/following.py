"""Iterators that follow the daemon over restarts: events, and the deliveries of a chat."""

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

from .backoff import Backoff
from .connection import Connection, Request, ignore
from .errors import AvocetError, ConnectionLost
from .types import Attached, Choice, EventBatch, LogEvent, Subscribe, TurnEvent


class Following:
    """A connection of its own that is opened again whenever it is lost."""

    def __init__(self, path: str, retry_seconds: float) -> None:
        self._path = path
        self._retry_seconds = retry_seconds
        self._connection: Connection | None = None
        # Kept until a request arrives, so that a daemon that fails again and again is spared.
        self._backoff: Backoff | None = None
        self._was_open = False
        self._is_closed = False

    async def __aenter__(self) -> Self:
        try:
            await self.open()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def open(self) -> None:
        """Begin to follow. Without this call, the first step of the iteration begins it.

        Before the first success, the daemon is tried for `retry_seconds`; later without a limit.
        """
        if self._is_closed:
            raise RuntimeError("it is closed; make a new one")
        await self._connected()

    async def close(self) -> None:
        """End the connection. A running iteration ends."""
        self._is_closed = True
        if self._connection is not None:
            await self._connection.close()

    async def _connect(
        self, method: str, params: Any, on_notification: Callable[[str, Any], None] = ignore
    ) -> tuple[Connection, Any]:
        connection = await Connection.open(self._path, on_notification)
        try:
            return connection, await connection.call(method, params)
        except BaseException:
            await connection.close()
            raise

    async def _begin(self) -> Connection:
        raise NotImplementedError

    async def _next_request(self) -> tuple[Connection, Request]:
        """Return the daemon's next request, over as many connections as it takes."""
        while (connection := await self._connected()) is not None:
            try:
                request = await connection.next_request()
            except ConnectionLost as error:
                if not self._is_closed:
                    await self._pause(error)
            else:
                self._backoff = None
                return connection, request
        raise StopAsyncIteration

    async def _connected(self) -> Connection | None:
        """Return the open connection, or open one. Return `None` after `close`."""
        while not self._is_closed:
            if self._connection is not None and self._connection.is_open:
                return self._connection
            try:
                self._connection = await self._begin()
            except AvocetError as error:
                if not error.is_transient:
                    raise
                await self._pause(error)
            else:
                self._backoff = self._backoff if self._was_open else None
                self._was_open = True
        # The program has closed it while it was being opened.
        await self.close()
        return None

    async def _pause(self, error: AvocetError) -> None:
        if self._backoff is None:
            self._backoff = Backoff(None if self._was_open else self._retry_seconds)
        await self._backoff.pause(error)


class OpenBatch(NamedTuple):
    """A batch that is confirmed when its events are processed."""

    connection: Connection
    request: Request
    next: int


class Subscription(Following):
    """The events of the log, oldest first, as an asynchronous iterator.

    A batch is confirmed when the program asks for the event behind its last one. After a lost
    connection the iteration continues, and repeated events are dropped. After a restart of the
    program, the events of the last batch come again.
    """

    def __init__(self, path: str, retry_seconds: float, params: Subscribe) -> None:
        super().__init__(path, retry_seconds)
        self._params = params
        self._events: deque[LogEvent] = deque()
        self._batch: OpenBatch | None = None
        self._last = 0
        self.log: str | None = None
        """The identity of the log; `None` before the begin.

        It changes when the log was rolled back or replaced. Events may then come again.
        """
        self.position: int | None = None
        """The last confirmed event; `None` before the begin. A program without a name may keep it
        and give it as `from_`."""
        self.removed = 0
        """The number of events that were removed because of their age before they were read."""

    async def __anext__(self) -> LogEvent:
        while True:
            while self._events:
                event = self._events.popleft()
                if event["seq"] > self._last:
                    self._last = event["seq"]
                    return event
            await self._next_batch()

    async def _next_batch(self) -> None:
        if self._batch is not None:
            batch, self._batch = self._batch, None
            self.position = batch.next
            await batch.connection.confirm(batch.request)
        connection, request = await self._next_request()
        batch_params = cast(EventBatch, request.params)
        self._batch = OpenBatch(connection, request, batch_params["next"])
        self._events.extend(batch_params["events"])

    async def _begin(self) -> Connection:
        params = dict(self._params)
        if self.position is not None:
            # Without effect for a name that the daemon knows.
            params["from"] = self.position
        connection, subscribed = await self._connect("subscribe", params)
        if self.log != subscribed["log"]:
            self.log, self._last = subscribed["log"], subscribed["from"]
        if self.position is None:
            self.position = subscribed["from"]
        self.removed += subscribed["removed"]
        return connection


class Delivery:
    """A message for the chat. Call `confirm` when it is shown or stored."""

    def __init__(self, connection: Connection, request: Request) -> None:
        chunk = request.params
        self._connection = connection
        self._request = request
        self.id: str = chunk["id"]
        """The number of the delivery."""
        self.turn: str | None = chunk["turn"]
        """The turn that wrote the message; `None` if another program sent it."""
        self.chat: str = chunk["chat"]
        """The chat."""
        self.text: str = chunk["text"]
        """The text, in Markdown."""
        self.choices: list[Choice] = chunk.get("choices", [])
        """Buttons."""
        self.repeat: bool = chunk["repeat"]
        """`True` if the message may have arrived before."""

    async def confirm(self) -> None:
        """Confirm the message to the daemon.

        If the connection was lost meanwhile, the daemon delivers the message again, with `repeat`.
        """
        await self._connection.confirm(self._request)


class Attachment(Following):
    """The messages for a chat of a terminal, as an asynchronous iterator of `Delivery`."""

    def __init__(
        self,
        path: str,
        retry_seconds: float,
        chat: str,
        on_event: Callable[[TurnEvent], None] | None,
    ) -> None:
        super().__init__(path, retry_seconds)
        self._params: Attached = {"chat": chat}
        self._on_event = on_event

    async def __anext__(self) -> Delivery:
        while True:
            connection, request = await self._next_request()
            if request.method == "deliver":
                return Delivery(connection, request)

    def _notified(self, method: str, params: Any) -> None:
        if method == "event" and self._on_event is not None:
            # An error of the function must not end the connection.
            asyncio.get_running_loop().call_soon(self._on_event, params)

    async def _begin(self) -> Connection:
        connection, _ = await self._connect("attach", self._params, self._notified)
        return connection
