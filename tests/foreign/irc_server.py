"""ngircd, people with clients of their own, and the wire between the server and the channel."""

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from real import DEBIAN, PATIENCE_SECONDS, Server, folder, free_port, true

CONFIG = """
[Global]
Name = irc.real.test
Info = a real server
AdminInfo1 = test
Listen = 127.0.0.1
Ports = {port}
ServerUID = 65534
ServerGID = 65534
[Limits]
MaxConnectionsIP = 0
MaxJoins = 20
{limits}
[Options]
Ident = no
DNS = no
PAM = no
[Operator]
Name = boss
Password = secret
"""


class Ngircd:
    """The server, as Debian has built it."""

    def __init__(self, limits: str = "") -> None:
        self.port = free_port()
        self.place = folder()
        config = Path(self.place.name) / "ngircd.conf"
        config.write_text(CONFIG.format(port=self.port, limits=limits))
        libraries = [*DEBIAN.glob("usr/lib/*-linux-gnu"), *DEBIAN.glob("lib/*-linux-gnu")]
        # The group may read the configuration after the server has given up its rights.
        os.chmod(self.place.name, 0o755)
        self.server = Server(
            DEBIAN / "usr/sbin/ngircd",
            "--nodaemon",
            "--config",
            config,
            LD_LIBRARY_PATH=os.pathsep.join(map(str, libraries)),
        )

    async def start(self) -> None:
        """Start the server on the port of before."""
        await self.server.start(self.port)

    async def remove(self) -> None:
        """End the server and remove its folder."""
        await self.server.end()
        self.place.cleanup()


class Person:
    """A person with a connection of their own, who notes all lines of the server."""

    def __init__(self, port: int, nick: str, *rooms: str) -> None:
        self.port, self.nick, self.rooms = port, nick, rooms
        self.on_message: Callable[[str, str], None] | None = None
        # Messages of the agent: the chat, and the text.
        self.got: list[tuple[str, str]] = []
        self.lines: list[str] = []
        # The nicknames in the rooms.
        self.here: dict[str, set[str]] = {room: set() for room in rooms}
        self.refused = 0
        self._pongs: set[str] = set()
        self._number = 0
        self._writer: asyncio.StreamWriter | None = None

    async def start(self) -> None:
        """Register and enter the rooms."""
        self.here = {room: set() for room in self.rooms}
        reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._reading = asyncio.create_task(self._read(reader))
        self.write(f"NICK {self.nick}")
        self.write(f"USER {self.nick} 0 * :a person")
        for room in self.rooms:
            self.write(f"JOIN {room}")
        await true(
            lambda: all(self.nick in nicks for nicks in self.here.values()) and self._is_welcome,
            f"{self.nick} enters {self.rooms}",
        )

    async def _read(self, reader: asyncio.StreamReader) -> None:
        self._is_welcome = False
        with contextlib.suppress(OSError):
            while line := await reader.readline():
                self._take(line.decode().rstrip("\r\n"))

    _is_welcome = False

    def write(self, line: str) -> None:
        """Send a line."""
        assert self._writer is not None
        self._writer.write(line.encode() + b"\r\n")

    def _take(self, line: str) -> None:
        self.lines.append(line)
        source, _, rest = (
            line.removeprefix(":").partition(" ") if line[:1] == ":" else ("", "", line)
        )
        nick = source.partition("!")[0]
        head, _, last = rest.partition(" :")
        command, *params = head.split(" ")
        room = (params[0] if params else last) or last
        if command == "PING":
            self.write(f"PONG :{last}")
        elif command == "PONG":
            self._pongs.add(last)
        elif command == "001":
            self._is_welcome = True
        elif command == "353":
            self.here[params[2]] |= {name.lstrip("@+~&%") for name in last.split()}
        elif command == "JOIN":
            self.here[room].add(nick)
        elif command in ("PART", "KICK"):
            self.here[room].discard(nick if command == "PART" else params[1])
        elif command == "QUIT":
            for nicks in self.here.values():
                nicks.discard(nick)
        elif command == "401":
            self.refused += 1
        elif command in ("PRIVMSG", "NOTICE") and "avo" in nick:
            self.got.append((params[0], last))
            if self.on_message:
                self.on_message(params[0], last)

    def say(self, target: str, text: str) -> None:
        """Write to a room or a person."""
        self.write(f"PRIVMSG {target} :{text}")

    async def settled(self) -> None:
        """Wait until the server has processed the lines of this person and sent its answers."""
        self._number += 1
        token = f"p{self._number}"
        self.write(f"PING {token}")
        await true(lambda: token in self._pongs, f"{self.nick} gets PONG {token}")

    def texts(self, target: str) -> list[str]:
        """Return the texts of the agent in a room or to this person."""
        return [text for name, text in self.got if name == target]

    async def says(self, target: str, *texts: str) -> None:
        """Wait until these are the texts of the agent in a chat."""
        await true(lambda: self.texts(target) == list(texts), f"{target}: {texts}, not {self.got}")

    async def end(self) -> None:
        """Close the connection."""
        if self._writer is not None:
            self._writer.close()
            self._reading.cancel()


class Wire:
    """A relay between the channel and the server, which may be cut or closed.

    The channel gets each line that `on_line` has seen, also if the connection ends. What the
    channel has sent is lost at a cut, if the server does not have it yet.
    """

    def __init__(self, behind: int) -> None:
        self.port = 0
        self.behind = behind
        # Sees each line that is sent to the channel.
        self.on_line: Callable[[str], None] = lambda line: None
        self.lines = 0
        self._is_open = asyncio.Event()
        self._is_open.set()
        # The tasks that pass lines on. They are cancelled at a cut.
        self._passing: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._is_open.wait()
        try:
            there = await asyncio.open_connection("127.0.0.1", self.behind)
        except OSError:
            writer.close()
            return
        tasks = {
            asyncio.create_task(self._pass(reader, there[1], False)),
            asyncio.create_task(self._pass(there[0], writer, True)),
        }
        self._passing |= tasks
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        self._passing -= tasks
        there[1].close()
        # Unread data at `close` would reset the connection, and the channel would lose lines.
        with contextlib.suppress(OSError):
            writer.write_eof()
            while await reader.read(65536):
                pass
        writer.close()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_inward: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while line := await reader.readline():
                writer.write(line)
                self.lines += 1
                if is_inward:
                    self.on_line(line.decode())
                await writer.drain()

    def cut(self) -> None:
        """End the connections. No line passes after it."""
        for task in self._passing:
            task.cancel()

    def close(self) -> None:
        """End the connections; new ones wait."""
        self._is_open.clear()
        self.cut()

    def open(self) -> None:
        """Let connections through."""
        self._is_open.set()

    async def stop(self) -> None:
        """Listen no longer."""
        self._server.close()
        self.cut()


__all__ = ["PATIENCE_SECONDS", "Ngircd", "Person", "Wire"]
