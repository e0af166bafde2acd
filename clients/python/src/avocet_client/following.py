"""Iterators that follow the daemon over restarts, and the one over the events of the log."""

from collections import deque
from types import TracebackType
from typing import NamedTuple, Self, cast

from .backoff import Backoff
from .connection import Connection, Endpoint, Handler, Request
from .errors import AvocetError, ConnectionLost
from .types import ErrorCode, EventBatch, LogEvent, Subscribe


class Following(Handler):
    """A separate connection that is opened again whenever it is lost."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._connection: Connection | None = None
        # Kept until a request arrives: the pauses grow while the daemon fails repeatedly.
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

    async def _begin(self) -> Connection:
        raise NotImplementedError

    async def _next_request(self, method: str) -> tuple[Connection, Request]:
        """Return the daemon's next request of a method, over as many connections as it takes."""
        while (connection := await self._connected()) is not None:
            try:
                request = await connection.next_request()
            except ConnectionLost as error:
                if not self._is_closed:
                    await self._pause(error)
            else:
                self._backoff = None
                if request.method == method:
                    return connection, request
                unknown = f"this program answers {method}, and no {request.method}"
                await connection.refuse(request, ErrorCode.METHOD, unknown)
        raise StopAsyncIteration

    async def _connected(self) -> Connection | None:
        """Return the open connection, or open one. Return `None` after `close`."""
        while not self._is_closed:
            if self._connection is not None:
                if self._connection.is_open:
                    return self._connection
                if self._connection.refusal is not None:
                    raise self._connection.refusal
                if self._endpoint.ends_with_connection:
                    break
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
            self._backoff = Backoff(None if self._was_open else self._endpoint.retry_seconds)
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

    def __init__(self, endpoint: Endpoint, params: Subscribe) -> None:
        super().__init__(endpoint)
        self._params = params
        self._events: deque[LogEvent] = deque()
        self._batch: OpenBatch | None = None
        self._last = 0
        self.log: str | None = None
        """The identity of the log; `None` before the first connection.

        It changes when the log was rolled back or replaced. Events may then come again.
        """
        self.position: int | None = None
        """The last confirmed event; `None` before the first one. A program without a name may keep
        it and give it as `from_`."""
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
            await batch.connection.answer(batch.request, {})
        connection, request = await self._next_request("events")
        batch_params = cast(EventBatch, request.params)
        self._batch = OpenBatch(connection, request, batch_params["next"])
        self._events.extend(batch_params["events"])

    async def _begin(self) -> Connection:
        params = dict(self._params)
        if self.position is not None:
            # Without effect for a name that the daemon knows.
            params["from"] = self.position
        connection = await self._endpoint.connect(self)
        subscribed = await connection.first_call("subscribe", params)
        if self.log != subscribed["log"]:
            self.log, self._last = subscribed["log"], subscribed["from"]
        if self.position is None:
            self.position = subscribed["from"]
        self.removed += subscribed["removed"]
        return connection
