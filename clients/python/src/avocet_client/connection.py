"""One connection to the daemon: many requests at a time, with answers matched by their ids."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from .errors import AvocetError, ConnectionLost
from .types import ErrorCode

# The longest request, in bytes without the end of its line.
MAX_LINE_BYTES = 1024 * 1024
# The longest line that is read. Lines of the daemon are shorter; a longer one ends the connection.
MAX_READ_BYTES = 16 * MAX_LINE_BYTES


class Request(NamedTuple):
    """A request from the daemon, which waits for `Connection.confirm`."""

    id: Any
    method: str
    params: Any


def ignore(method: str, params: Any) -> None:
    """Drop a notification."""


class Connection:
    """An open connection. It ends with the daemon, with `close`, or when the daemon refuses it."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_notification: Callable[[str, Any], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._on_notification = on_notification
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Future[Any]] = {}
        # Requests of the daemon. `None` marks the end of the connection.
        self._requests: asyncio.Queue[Request | None] = asyncio.Queue()
        self._ended: AvocetError | None = None
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def open(
        cls, path: str, on_notification: Callable[[str, Any], None] = ignore
    ) -> "Connection":
        """Connect to the daemon that listens on `path`."""
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=MAX_READ_BYTES)
        except PermissionError as error:
            message = f"cannot connect to {path}: {error.strerror}; run as the user of the daemon"
            raise AvocetError(ErrorCode.NOT_ALLOWED, message) from error
        except OSError as error:
            reason = error.strerror or error
            message = f"cannot connect to {path}: {reason}; start the daemon with `avocet run`"
            raise ConnectionLost(message) from error
        return cls(reader, writer, on_notification)

    @property
    def is_open(self) -> bool:
        """`False` once the connection has ended."""
        return self._ended is None

    async def call(self, method: str, params: Any) -> Any:
        """Make a request and return its result."""
        number = next(self._numbers)
        line = request_line(number, method, params)
        if self._ended is not None:
            raise self._ended
        answer = asyncio.get_running_loop().create_future()
        self._open[number] = answer
        try:
            await self._write(line)
            return await answer
        finally:
            self._open.pop(number, None)

    async def next_request(self) -> Request:
        """Return the next request of the daemon."""
        request = await self._requests.get()
        if request is None:
            # The mark stays for other callers.
            self._requests.put_nowait(None)
            raise self._ended or ConnectionLost("the connection is closed")
        return request

    async def confirm(self, request: Request) -> None:
        """Answer a request of the daemon. If the connection has ended, the daemon repeats it."""
        if self.is_open:
            answer = {"jsonrpc": "2.0", "id": request.id, "result": {}}
            with contextlib.suppress(ConnectionLost):
                await self._write(json.dumps(answer).encode() + b"\n")

    async def close(self) -> None:
        """End the connection."""
        self._end(ConnectionLost("the connection is closed"))
        self._reading.cancel()
        await asyncio.wait([self._reading])

    async def _write(self, line: bytes) -> None:
        try:
            self._writer.write(line)
            await self._writer.drain()
        except OSError as error:
            raise ConnectionLost(f"the connection to the daemon was lost: {error}") from error

    async def _read(self) -> None:
        reason = "the daemon has closed it"
        try:
            while (line := await self._reader.readline()).endswith(b"\n"):
                self._take(json.loads(line))
        except (OSError, ValueError) as error:
            reason = str(error)
        finally:
            self._end(ConnectionLost(f"the connection to the daemon was lost: {reason}"))

    def _take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if method is not None and number is not None:
            self._requests.put_nowait(Request(number, method, message.get("params")))
        elif method is not None:
            self._on_notification(method, message.get("params"))
        elif number is None:
            # A refusal of the connection itself answers all requests.
            error = error_of(message)
            self._end(ConnectionLost(error.message) if error.is_transient else error)
        elif (answer := self._open.get(number)) is not None and not answer.done():
            if "error" in message:
                answer.set_exception(error_of(message))
            else:
                answer.set_result(message.get("result"))

    def _end(self, reason: AvocetError) -> None:
        """End all waits with a reason. Later calls have no effect."""
        if self._ended is not None:
            return
        self._ended = reason
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(reason)
        self._requests.put_nowait(None)
        self._writer.close()


def request_line(number: int, method: str, params: Any) -> bytes:
    """Return a request as a line."""
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    try:
        line = json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        message = f"{method}: the parameters cannot be written as JSON in UTF-8: {error}"
        raise AvocetError(ErrorCode.PARAMS, message) from error
    if len(line) > MAX_LINE_BYTES:
        message = (
            f"{method}: the request is {len(line)} bytes long; at most {MAX_LINE_BYTES} are "
            "accepted. Send large texts as files"
        )
        raise AvocetError(ErrorCode.REQUEST, message)
    return line + b"\n"


def error_of(message: dict[str, Any]) -> AvocetError:
    """Return the error in a response."""
    error = message.get("error") or {}
    unreadable = "the daemon has sent an error that cannot be read"
    return AvocetError(error.get("code", ErrorCode.REQUEST), error.get("message", unreadable))
