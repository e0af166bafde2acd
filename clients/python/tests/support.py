"""The real daemon in a temporary home, and helpers of the tests."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "clients/python/src"
sys.path.insert(0, str(SOURCES))

from avocet_client import Client  # noqa: E402

T = TypeVar("T")

# Children of the daemon see the programs of the system only.
PYTHON = "/usr/bin/python3"
PROGRAM = os.environ.get("AVOCET", str(ROOT / "target/debug/avocet"))
ME = "terminal:local:me"
# The time after which a wait fails its test.
PATIENCE_SECONDS = 60


class Home:
    """A home directory, and the daemon in it."""

    def __init__(self, config: str = "") -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name)
        self.socket = self.path / ".local/state/avocet/run/avocet.sock"
        self.daemon: subprocess.Popen[str] | None = None
        self.log: list[str] = []
        self.configure(config)

    def configure(self, config: str) -> None:
        """Write the configuration for the next start."""
        place = self.path / ".config/avocet/config.toml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(config)

    def start(self) -> None:
        """Start the daemon and wait until it is ready."""
        if not Path(PROGRAM).exists():
            raise FileNotFoundError(f"{PROGRAM} does not exist; set AVOCET to the built program")
        ready = threading.Event()
        self.daemon = subprocess.Popen(
            [PROGRAM, "run"],
            env={"HOME": str(self.path), "TZ": "UTC"},
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.reading = threading.Thread(target=self._read, args=(self.daemon, ready))
        self.reading.start()
        if not ready.wait(PATIENCE_SECONDS) or self.daemon.poll() is not None:
            raise AssertionError("the daemon does not start:\n" + "".join(self.log))

    def _read(self, daemon: subprocess.Popen[str], ready: threading.Event) -> None:
        assert daemon.stderr is not None
        with daemon.stderr:
            for line in daemon.stderr:
                self.log.append(line)
                if " ready " in line:
                    ready.set()
        ready.set()

    def restart_with(self, config: str) -> None:
        """Stop the daemon, and start it with another configuration."""
        self.stop()
        self.configure(config)
        self.start()

    def kill(self) -> None:
        """End the daemon with SIGKILL."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the daemon in order."""
        status = self._end(signal.SIGTERM)
        assert status == 0, f"status {status}:\n" + "".join(self.log)

    def _end(self, number: signal.Signals) -> int:
        assert self.daemon is not None
        self.daemon.send_signal(number)
        status = self.daemon.wait(PATIENCE_SECONDS)
        self.reading.join()
        self.daemon = None
        return status

    def remove(self) -> None:
        """Kill the daemon if it runs, and remove the directory."""
        if self.daemon is not None:
            self.kill()
        self.directory.cleanup()


def child_table(
    name: str,
    command: list[str],
    *,
    plugin: Path,
    ports: Iterable[int] = (),
    read: Iterable[Path] = (),
    **env: str,
) -> str:
    """Return the table of a channel whose program the daemon starts with Python."""
    variables = {"PYTHONPATH": f"{plugin}:{SOURCES}", **env}
    pairs = ", ".join(f"{name} = {json.dumps(value)}" for name, value in variables.items())
    return (
        f"[channels.{name}]\ncommand = {json.dumps([PYTHON, '-B', *command])}\n"
        f"env = {{ {pairs} }}\nread = {json.dumps([str(path) for path in (plugin, SOURCES, *read)])}\n"
        f"hosts = {json.dumps([f'127.0.0.1:{port}' for port in ports])}\n"
    )


class DaemonTest(unittest.IsolatedAsyncioTestCase):
    """A test with a daemon and a client."""

    config = ""

    def setUp(self) -> None:
        self.home = Home(self.config)
        self.addCleanup(self.home.remove)
        self.home.start()

    async def asyncSetUp(self) -> None:
        self.client = Client(self.home.socket, retry_seconds=PATIENCE_SECONDS)
        self.addAsyncCleanup(self.client.close)

    async def restart(self) -> None:
        """Kill the daemon and start another one. The event loop runs meanwhile."""
        await asyncio.to_thread(self.home.kill)
        await asyncio.to_thread(self.home.start)

    async def nothing_pending(self) -> bool | None:
        """Return `True` once every text has a receipt."""
        log = (await self.client.status())["log"]
        return (log["pending"], log["unconfirmed"]) == (0, 0) or None


async def soon(work: Awaitable[T]) -> T:
    """Wait for some work, with a timeout."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await work


async def until(look: Callable[[], Awaitable[T | None]]) -> T:
    """Look again until there is a value."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (found := await look()) is None:
            await asyncio.sleep(0.01)
    return found


class Proxy:
    """A socket in front of the daemon's. `is_cut` sees each line and may cut the connection."""

    def __init__(self, home: Home, is_cut: Callable[[dict[str, Any]], bool]) -> None:
        self.socket = home.path / "proxy.sock"
        self._behind = home.socket
        self._is_cut = is_cut
        self.connections = 0

    async def __aenter__(self) -> "Proxy":
        self._server = await asyncio.start_unix_server(self._serve, self.socket)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        limit = 2 * 1024 * 1024
        to_daemon = await asyncio.open_unix_connection(self._behind, limit=limit)
        ways = [self._pass(reader, to_daemon[1]), self._pass(to_daemon[0], writer)]
        tasks = [asyncio.create_task(way) for way in ways]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        for end in (writer, to_daemon[1]):
            end.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            if self._is_cut(json.loads(line)):
                return
            writer.write(line)
            await writer.drain()
