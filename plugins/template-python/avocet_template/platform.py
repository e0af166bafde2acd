"""The platform: a chat server that speaks JSON lines over TCP. Replace this file with yours.

The program sends `{"since": "17"}` after it has connected, and the server repeats the messages behind
that number. Each message is `{"id": "18", "chat": "lobby", "sender": "ann", "text": "hi"}`. An answer is
`{"chat": "lobby", "text": "hello", "nonce": "..."}`, and the server confirms it with `{"sent": "..."}`.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from avocet_client import network


class Platform:
    """One connection to the chat server, which is opened again after it was lost."""

    def __init__(self, host: str, port: int) -> None:
        self._place = host, port
        self._writer: asyncio.StreamWriter | None = None
        self._sent: dict[str, asyncio.Future[None]] = {}

    async def messages(self, since: str) -> AsyncIterator[dict[str, Any]]:
        """Return the messages of people, until the connection is lost. Raises `OSError`."""
        reader, writer = await network.open_connection(*self._place)
        try:
            self._writer = writer
            await self._write({"since": since})
            while line := await reader.readline():
                message = json.loads(line)
                if (nonce := message.get("sent")) is None:
                    yield message
                elif (sent := self._sent.get(nonce)) is not None and not sent.done():
                    sent.set_result(None)
            raise ConnectionResetError("the chat server has closed the connection")
        finally:
            self._writer = None
            writer.close()
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
            await sent
        finally:
            del self._sent[nonce]

    async def _write(self, message: dict[str, Any]) -> None:
        if self._writer is None:
            raise ConnectionResetError("there is no connection to the chat server")
        self._writer.write(json.dumps(message).encode() + b"\n")
        await self._writer.drain()
