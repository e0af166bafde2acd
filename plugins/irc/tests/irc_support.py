"""The program as a separate process, the daemon, and the server, for tests."""

import asyncio
import os
import signal
import ssl
import sys
import unittest
from pathlib import Path
from typing import Any

PLUGIN = Path(__file__).resolve().parents[1]
ROOT = PLUGIN.parents[1]
sys.path[:0] = [str(PLUGIN), str(ROOT / "clients/python/tests"), str(ROOT / "clients/python/src")]

from fake_server import FakeServer, Options, Person  # noqa: E402
from support import Home, soon  # noqa: E402

from avocet_client import Client  # noqa: E402

CONFIG = """
[channels.external.irc]
owners = ["ann"]
allow = ["bob", "cat"]
"""


class Program:
    """The program `avocet-irc` as a process."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self.arguments = arguments
        self.environment = environment
        self.log: list[str] = []
        self.process: asyncio.subprocess.Process | None = None
        self._changed = asyncio.Event()

    async def start(self) -> None:
        """Start the process."""
        path = os.pathsep.join([str(PLUGIN), str(ROOT / "clients/python/src")])
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-B",
            "-m",
            "avocet_irc",
            *self.arguments,
            env={"PYTHONPATH": path, "PATH": os.environ["PATH"], **self.environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        self._reading = asyncio.create_task(self._read(self.process))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while line := await process.stderr.readline():
            self.log.append(line.decode())
            self._changed.set()
        self._changed.set()

    async def logs(self, text: str) -> None:
        """Wait until a log line has a text."""
        try:
            async with asyncio.timeout(30):
                while not any(text in line for line in self.log):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"no {text!r} in the log:\n" + "".join(self.log)) from None

    async def status(self) -> int:
        """Wait for the end of the process."""
        assert self.process is not None
        status = await soon(self.process.wait())
        await self._reading
        return status

    async def end(self, number: signal.Signals) -> int:
        """End the process with a signal."""
        assert self.process is not None
        self.process.send_signal(number)
        return await self.status()

    async def remove(self) -> None:
        """Kill the process if it runs. `AVOCET_IRC_LOG=1` shows its log lines."""
        if os.environ.get("AVOCET_IRC_LOG"):
            print("".join(self.log), file=sys.stderr)
        if self.process is not None and self.process.returncode is None:
            await self.end(signal.SIGKILL)


class IrcTest(unittest.IsolatedAsyncioTestCase):
    """A test with a daemon, a server, and the program between them."""

    config = CONFIG
    with_daemon = True

    async def asyncSetUp(self) -> None:
        self.home = Home(self.config)
        self.addCleanup(self.home.remove)
        self.server = FakeServer(self.options(), self.tls())
        self.server.people |= {
            "ann": Person(account="ann"),
            "bob": Person(account="bob", host="bob.example"),
            "cat": Person(account="cat"),
            "eve": Person(host="evil.example"),
        }
        if self.with_daemon:
            await asyncio.to_thread(self.home.start)
            self.client = Client(self.home.socket, retry_seconds=60)
            self.addAsyncCleanup(self.client.close)
        await self.server.start()
        self.addAsyncCleanup(self.server.stop)

    def options(self) -> Options:
        """Return the behaviour of the server."""
        return Options()

    def tls(self) -> ssl.SSLContext | None:
        """Return the certificate of the server; `None` for plain connections."""
        return None

    def program(
        self, *more: str, environment: dict[str, str] | None = None, **settings: Any
    ) -> Program:
        """Make the program with fast settings."""
        values: dict[str, Any] = {
            "server": "127.0.0.1",
            "port": self.server.port,
            "nick": "avocet",
            "socket": self.home.socket,
            "burst": 50,
            "seconds_per_line": 0,
            "longest_pause_seconds": 0.1,
            "timeout_seconds": 10,
            **settings,
        }
        arguments = [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
        program = Program(["--no-tls", "--channels=#room", *arguments, *more], environment or {})
        self.addAsyncCleanup(program.remove)
        return program

    async def started(self, *more: str, **settings: Any) -> Program:
        """Start the program and wait until it is in its channel."""
        program = self.program(*more, **settings)
        await program.start()
        await self.in_room()
        return program

    async def in_room(self) -> None:
        """Wait until the program is in its channel."""
        await self.server.until(
            lambda: any("#room" in client.joined for client in self.server.clients),
            "the program joins",
        )

    async def says(self, target: str, *texts: str) -> None:
        """Wait until these are the texts of the agent in a chat."""
        await self.server.until(
            lambda: self.server.texts(target) == list(texts), f"{target}: {texts}"
        )

    async def asyncTearDown(self) -> None:
        self.assertEqual(self.server.faults, [])
