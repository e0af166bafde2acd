"""One connection to the daemon: many requests at a time, with answers matched by their ids."""

import asyncio
import contextlib
import itertools
import json
import logging
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from .errors import AvocetError, ConnectionLost
from .types import ErrorCode, Hello

log = logging.getLogger("avocet_client")

# The start of a line that is logged because it cannot be read.
SHOWN_BYTES = 200
# The longest request, in bytes without the end of its line.
MAX_LINE_BYTES = 1024 * 1024
# The longest line that is read. Lines of the daemon are shorter; a longer one ends the connection.
MAX_READ_BYTES = 16 * MAX_LINE_BYTES
# The version of the protocol that this library speaks.
PROTOCOL = 1


class Request(NamedTuple):
    """A request from the daemon, which waits for `Connection.confirm`."""

    id: Any
    method: str
    params: Any


class Handler:
    """Takes what the daemon sends beside answers. The base class leaves all of it to the caller."""

    def notify(self, method: str, params: Any) -> None:
        """Take a notification."""

    def take(self, connection: "Connection", request: Request) -> bool:
        """Take a request at once. Return `False` to leave it to `Connection.next_request`."""
        return False


@dataclass
class Endpoint:
    """The socket, the time for attempts to reach it, and the identity of the program."""

    # `True` if the daemon cannot be reached again after the end of a connection.
    ends_with_connection: ClassVar[bool] = False

    path: str
    retry_seconds: float
    # Contains the token, so that it is left out of texts about the endpoint.
    hello: Hello = field(repr=False)

    async def connect(self, handler: Handler | None = None) -> "Connection":
        """Open a connection and say hello."""
        connection = await self.open(handler)
        await self.greet(connection)
        return connection

    async def open(self, handler: Handler | None = None) -> "Connection":
        """Open a connection. `greet` has to follow before any other request."""
        return await Connection.open(self.path, handler or Handler())

    async def greet(self, connection: "Connection") -> None:
        """Send `hello` if there is a client. A failure ends the connection."""
        if self.hello:
            await connection.first_call("hello", self.hello)


class Connection:
    """An open connection. It ends with the daemon, with `close`, or when the daemon refuses it."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        handler: Handler,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self.handler = handler
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Future[Any]] = {}
        # Requests of the daemon. `None` marks the end of the connection.
        self._requests: asyncio.Queue[Request | None] = asyncio.Queue()
        self._ended: AvocetError | None = None
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, path: str, handler: Handler) -> "Connection":
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
        return cls(reader, writer, handler)

    @property
    def is_open(self) -> bool:
        """`False` once the connection has ended."""
        return self._ended is None

    @property
    def refusal(self) -> AvocetError | None:
        """The daemon's reason to close the connection for good; `None` if there is none."""
        return None if self._ended is None or self._ended.is_transient else self._ended

    async def call(self, method: str, params: Any) -> Any:
        """Make a request and return its result."""
        number = next(self._numbers)
        line = request_line(number, method, params)
        if self._ended is not None:
            raise self._ended
        answer = asyncio.get_running_loop().create_future()
        self._open[number] = answer
        try:
            try:
                await self._write(line)
            except ConnectionLost:
                # A refusal that arrived before the failure tells more than the failure.
                if not answer.done():
                    raise
            return await answer
        finally:
            self._open.pop(number, None)

    async def first_call(self, method: str, params: Any) -> Any:
        """Make a request without which the connection is useless. An error ends it."""
        try:
            return await self.call(method, params)
        except BaseException:
            await self.close()
            raise

    async def next_request(self) -> Request:
        """Return the next request of the daemon."""
        request = await self._requests.get()
        if request is None:
            # The mark stays for other callers.
            self._requests.put_nowait(None)
            raise self._ended or ConnectionLost("the connection is closed")
        return request

    async def answer(self, request: Request, result: Any) -> None:
        """Answer a request of the daemon. If the connection has ended, the daemon repeats it."""
        await self._respond({"jsonrpc": "2.0", "id": request.id, "result": result})

    async def refuse(
        self, request: Request, code: int, message: str, data: dict[str, Any] | None = None
    ) -> None:
        """Answer a request of the daemon with an error."""
        error: dict[str, Any] = {"code": int(code), "message": message}
        if data is not None:
            error["data"] = data
        await self._respond({"jsonrpc": "2.0", "id": request.id, "error": error})

    async def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        await self._respond(message)

    async def _respond(self, response: dict[str, Any]) -> None:
        if self.is_open:
            with contextlib.suppress(ConnectionLost):
                await self._write(json.dumps(response).encode() + b"\n")

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
                self._take_safely(line)
        except (OSError, ValueError) as error:
            reason = str(error)
        finally:
            self._end(ConnectionLost(f"the connection to the daemon was lost: {reason}"))

    def _take_safely(self, line: bytes) -> None:
        """Take a line. One that cannot be read is logged; the lines behind it count."""
        try:
            message = json.loads(line.decode(errors="replace"))
            if not isinstance(message, dict):
                raise ValueError("it is no object")
            self._take(message)
        except Exception as error:
            shown = line[:SHOWN_BYTES]
            log.warning("skipping a line of the daemon: %s: %r", error, shown)

    def _take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if method is not None and number is not None:
            request = Request(number, method, message.get("params"))
            if not self.handler.take(self, request):
                self._requests.put_nowait(request)
        elif method is not None:
            # An error of the program's own function must not end the connection.
            loop = asyncio.get_running_loop()
            loop.call_soon(self.handler.notify, method, message.get("params"))
        elif number is None and "error" not in message:
            raise ValueError("it is neither a request nor an answer")
        elif number is None:
            # A refusal of the connection itself answers all requests.
            error = error_of(message)
            self._end(ConnectionLost(error.message) if error.is_transient else error)
        elif (answer := self._open.get(number)) is not None and not answer.done():
            if message.get("error") is not None:
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
                # Reading it marks the exception as seen; a waiter still gets it.
                answer.exception()
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
    error = message.get("error")
    error = error if isinstance(error, dict) else {}
    code, text = error.get("code"), error.get("message")
    unreadable = "the daemon has sent an error that cannot be read"
    return AvocetError(
        code if isinstance(code, int) else ErrorCode.REQUEST,
        text if isinstance(text, str) else unreadable,
    )
