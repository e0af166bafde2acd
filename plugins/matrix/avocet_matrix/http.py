"""HTTP/1.1 requests, each on a new connection. A cancelled request ends at once."""

import asyncio
import ssl
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from avocet_client import network

# A lost packet of a handshake is repeated within this time.
CONNECT_SECONDS = 15.0
MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 100
PIECE_BYTES = 64 * 1024


class Unreachable(Exception):
    """No connection was made, so the server has not seen the request."""


class Interrupted(Exception):
    """The exchange failed after the request was begun. The server may have taken the request."""


class TooLong(Exception):
    """The body of the response is longer than the limit."""


class Response(NamedTuple):
    """A response. The body is empty if it went to a sink."""

    status: int
    headers: dict[str, str]
    body: bytes


class HttpClient:
    """Makes requests to one server."""

    def __init__(self, base: str, tls: ssl.SSLContext | None = None) -> None:
        """`base` is a checked URL such as `https://matrix.example.org`."""
        parts = urlsplit(base)
        self._host = parts.hostname or ""
        self._is_tls = parts.scheme == "https"
        self._port = parts.port or (443 if self._is_tls else 80)
        self._authority = parts.netloc
        self._prefix = parts.path.rstrip("/")
        self._tls = (tls or ssl.create_default_context()) if self._is_tls else None

    async def request(
        self,
        method: str,
        target: str,
        headers: dict[str, str],
        body: bytes = b"",
        *,
        timeout: float,
        limit: int,
        sink: Callable[[bytes], object] | None = None,
    ) -> Response:
        """Make a request. `limit` is for the body of the response, in bytes.

        With a `sink`, the body of a response 200 is written to it in pieces.
        """
        lines = [f"{method} {self._prefix}{target} HTTP/1.1", f"Host: {self._authority}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += [f"Content-Length: {len(body)}", "Connection: close", "User-Agent: avocet-matrix"]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                reader, writer = await network.open_connection(
                    self._host, self._port, ssl=self._tls, limit=MAX_HEAD_BYTES
                )
        except (OSError, TimeoutError) as error:
            reason = str(error) or f"no connection within {CONNECT_SECONDS:g} s"
            raise Unreachable(f"cannot connect to {self._authority}: {reason}") from error
        try:
            async with asyncio.timeout(timeout):
                writer.write(head + body)
                await writer.drain()
                return await _read(reader, limit, sink)
        except TimeoutError as error:
            raise Interrupted(f"{self._authority}: no response within {timeout:g} s") from error
        except (OSError, EOFError, ValueError) as error:
            raise Interrupted(f"{self._authority}: the exchange failed: {error}") from error
        finally:
            writer.close()


async def _read(
    reader: asyncio.StreamReader, limit: int, sink: Callable[[bytes], object] | None
) -> Response:
    status, headers = await _head(reader)
    while 100 <= status < 200:
        status, headers = await _head(reader)
    body = _Body(limit, sink) if status == 200 else _Body(max(limit, MAX_HEAD_BYTES), None)
    if status in (204, 304):
        return Response(status, headers, b"")
    if "chunked" in headers.get("transfer-encoding", "").lower():
        await _read_chunks(reader, body)
    elif (length := headers.get("content-length")) is not None:
        await _read_exactly(reader, _number(length, 10), body)
    else:
        while piece := await reader.read(PIECE_BYTES):
            body.add(piece)
    return Response(status, headers, bytes(body.kept))


class _Body:
    """Collects a body up to a limit, or passes it on."""

    def __init__(self, limit: int, sink: Callable[[bytes], object] | None) -> None:
        self.kept = bytearray()
        self._left = limit
        self._limit = limit
        self._sink = sink or self.kept.extend

    def announce(self, length: int) -> None:
        if length > self._left:
            raise TooLong(f"the response is longer than {self._limit} bytes")

    def add(self, piece: bytes) -> None:
        self.announce(len(piece))
        self._left -= len(piece)
        self._sink(piece)


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    version, _, rest = (await _line(reader)).partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
        raise ValueError("the response is not HTTP/1.1")
    headers: dict[str, str] = {}
    for _ in range(MAX_HEADERS):
        line = await _line(reader)
        if not line:
            return int(rest[:3]), headers
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    raise ValueError(f"the response has more than {MAX_HEADERS} headers")


async def _line(reader: asyncio.StreamReader) -> str:
    line = await reader.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the server has closed the connection")
    return line.decode("latin-1").rstrip("\r\n")


def _number(text: str, base: int) -> int:
    digits = "0123456789abcdef"[:base]
    if not text or len(text) > 16 or any(digit not in digits for digit in text.lower()):
        raise ValueError(f"{text!r:.40} is not a length")
    return int(text, base)


async def _read_exactly(reader: asyncio.StreamReader, length: int, body: _Body) -> None:
    body.announce(length)
    while length:
        piece = await reader.read(min(length, PIECE_BYTES))
        if not piece:
            raise EOFError("the response is incomplete")
        length -= len(piece)
        body.add(piece)


async def _read_chunks(reader: asyncio.StreamReader, body: _Body) -> None:
    while length := _number((await _line(reader)).partition(";")[0].strip(), 16):
        await _read_exactly(reader, length, body)
        await _line(reader)
    while await _line(reader):
        pass
