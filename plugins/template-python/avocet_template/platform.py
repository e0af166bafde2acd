"""The platform: a chat server that speaks JSON lines over TCP. Replace this file with yours.

The program sends `{"since": "17"}` after it has connected, and the server repeats the messages behind
that number. Each message is `{"id": "18", "chat": "lobby", "sender": "ann", "text": "hi"}`. An answer is
`{"chat": "lobby", "text": "hello", "nonce": "..."}`, and the server confirms it with `{"sent": "..."}`.

A platform sends odd things sooner or later. A line that cannot be read is logged and skipped: it must
neither end the program nor keep it from the lines behind it.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

from avocet_client import network

log = logging.getLogger("avocet_template")

# A server that has not confirmed an answer after this time may have it or not.
CONFIRM_SECONDS = 30.0
# The start of an odd line that is logged.
SHOWN_BYTES = 200


class Platform:
    """One connection to the chat server, which is opened again after it was lost."""

    def __init__(self, host: str, port: int) -> None:
        self._place = host, port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._sent: dict[str, asyncio.Future[None]] = {}

    async def connect(self, since: str) -> None:
        """Connect, and ask for the messages behind a position. Raises `OSError`."""
        self._reader, self._writer = await network.open_connection(*self._place)
        await self._write({"since": since})

    async def messages(self) -> AsyncIterator[dict[str, str]]:
        """Return the messages of people, until the connection is lost. Raises `OSError`."""
        assert self._reader is not None
        while (line := await next_line(self._reader)) is not None:
            if not line.strip():
                # A sign of life.
                continue
            try:
                message = read_message(line)
            except (ValueError, RecursionError) as error:
                shown = line[:SHOWN_BYTES]
                log.warning("skipping a line of the chat server: %s: %r", error, shown)
                continue
            if (nonce := message.get("sent")) is None:
                yield message
            elif (sent := self._sent.get(nonce)) is not None and not sent.done():
                sent.set_result(None)
        raise ConnectionResetError("the chat server has closed the connection")

    def disconnect(self) -> None:
        """End the connection. Answers without a confirmation may have arrived or not."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None
        for sent in self._sent.values():
            if not sent.done():
                sent.set_exception(ConnectionResetError("no confirmation"))

    @property
    def is_connected(self) -> bool:
        """`True` if a message can be sent."""
        return self._writer is not None

    async def send(self, chat: str, text: str, nonce: str) -> None:
        """Send a message, and wait until the server has confirmed it. Raises `OSError`."""
        sent = self._sent[nonce] = asyncio.get_running_loop().create_future()
        try:
            await self._write({"chat": chat, "text": text, "nonce": nonce})
            # `TimeoutError` is an `OSError`.
            async with asyncio.timeout(CONFIRM_SECONDS):
                await sent
        finally:
            del self._sent[nonce]

    async def _write(self, message: dict[str, Any]) -> None:
        if self._writer is None:
            raise ConnectionResetError("there is no connection to the chat server")
        self._writer.write(json.dumps(message).encode() + b"\n")
        await self._writer.drain()


async def next_line(reader: asyncio.StreamReader) -> bytes | None:
    """Return the next line; `None` at the end."""
    while True:
        try:
            return await reader.readline() or None
        except ValueError:
            # The reader has dropped what it has of the line.
            log.warning("skipping a line of the chat server that is too long")


def read_message(line: bytes) -> dict[str, str]:
    """Read a message or a confirmation. Only the fields that the program needs are looked at.

    Raises `ValueError`, which names the fault.
    """
    message = json.loads(line.decode(errors="replace").lstrip("\ufeff"))
    if not isinstance(message, dict):
        raise ValueError("it is no object")
    if message.get("sent") is not None:
        return {"sent": str(message["sent"])}
    for name in ("id", "chat", "sender"):
        if not isinstance(message.get(name), str | int) or message[name] == "":
            raise ValueError(f"it has no {name}")
    text = message.get("text")
    return {
        "id": str(message["id"]),
        "chat": str(message["chat"]),
        "sender": str(message["sender"]),
        # Half a surrogate pair cannot be sent as UTF-8.
        "text": text.encode(errors="replace").decode() if isinstance(text, str) else "",
    }
