"""The connection of a program that the daemon has started: its standard input and output."""

import asyncio
import io
import os
import sys
from typing import BinaryIO

from .connection import MAX_READ_BYTES, PROTOCOL, Connection, Endpoint, Handler
from .errors import ConnectionLost

# The daemon sets it to the account that the program serves, such as `external:irc`.
VARIABLE = "AVOCET_CHANNEL"

# The streams of the process. They are taken once, whatever the number of clients.
_taken: tuple[BinaryIO, BinaryIO] | None = None


def served_account() -> str | None:
    """Return the account for which the daemon has started this program, such as `irc`.

    `None` if the program was started in another way.
    """
    return os.environ.get(VARIABLE, "").rpartition(":")[2] or None


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Take standard input and output away from the rest of the program.

    What it prints later goes to standard error, which the daemon logs. Processes that it starts
    inherit neither stream.
    """
    global _taken
    if _taken is None:
        _taken = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb", buffering=0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # Prints are logged when they happen, and not when a buffer is full.
            sys.stdout.reconfigure(line_buffering=True)
    return _taken


class StdioEndpoint(Endpoint):
    """The daemon at the other end of standard input and output. All users share one connection."""

    ends_with_connection = True

    def __init__(self, retry_seconds: float) -> None:
        super().__init__("standard input", retry_seconds, {})
        self._streams = take_streams()
        self._opening = asyncio.Lock()
        self._connection: Connection | None = None

    async def open(self, handler: Handler | None = None) -> Connection:
        """Return the connection. A handler replaces the last one."""
        async with self._opening:
            if self._connection is None:
                self._connection = await self._open()
            elif not self._connection.is_open:
                raise ConnectionLost("the daemon has closed the standard input of this program")
            if handler is not None:
                self._connection.handler = handler
            return self._connection

    async def greet(self, connection: Connection) -> None:
        """Send `hello`, which the daemon expects first."""
        await connection.first_call("hello", {"protocol": PROTOCOL})

    async def _open(self) -> Connection:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MAX_READ_BYTES)
        stdin, stdout = self._streams
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stdin)
        # The protocol of a writer without a reader.
        made = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, stdout)
        writer = asyncio.StreamWriter(made[0], made[1], None, loop)
        return Connection(reader, writer, Handler())
