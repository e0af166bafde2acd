"""The program as a process, beside the fake homeserver and the real daemon."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
PLUGIN = ROOT / "plugins/matrix"
sys.path[:0] = [str(PLUGIN), str(ROOT / "clients/python/tests"), str(ROOT / "clients/python/src")]

from homeserver import BOT, TOKEN, FakeHomeserver  # noqa: E402
from support import DaemonTest, soon, until  # noqa: E402

__all__ = ["ANN", "BOB", "BOT", "FakeHomeserver", "MatrixTest", "Program", "TOKEN", "soon", "until"]

ANN = "@ann:example.org"
BOB = "@bob:example.org"
READY = "serving external:matrix"


class Program:
    """A process of the channel."""

    def __init__(self, folder: Path, settings: str, *options: str, **environment: str) -> None:
        self.config = folder / "matrix.toml"
        self.config.write_text(settings)
        self.options = options
        self.environment = {"AVOCET_MATRIX_TOKEN": TOKEN, **environment}
        self.log: list[str] = []
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start the program without waiting."""
        path = os.pathsep.join([str(PLUGIN), str(ROOT / "clients/python/src")])
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-B",
            "-m",
            "avocet_matrix",
            "--config",
            str(self.config),
            *self.options,
            env={"PYTHONPATH": path, **self.environment},
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        self._ready = asyncio.Event()
        self._reading = asyncio.create_task(self._read(self.process))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            self.log.append(line.decode())
            if READY in self.log[-1]:
                self._ready.set()
        self._ready.set()

    async def ready(self) -> None:
        """Wait until the program serves."""
        await soon(self._ready.wait())
        assert READY in "".join(self.log), "".join(self.log)

    async def end(self, number: signal.Signals) -> int:
        """End the program with a signal and return its status."""
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(number)
        return await self.ended()

    async def ended(self) -> int:
        """Wait for the end of the program and return its status."""
        assert self.process is not None
        status = await soon(self.process.wait())
        await self._reading
        return status

    async def remove(self) -> None:
        if self.process is not None and self.process.returncode is None:
            await self.end(signal.SIGKILL)


class MatrixTest(DaemonTest):
    """A test with a daemon, a homeserver and the program between them."""

    config = f'[channels.external.matrix]\nowners = ["{ANN}"]\nallow = ["{BOB}"]\n'
    settings = ""
    options: tuple[str, ...] = ()

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.server = await self.enterAsyncContext(FakeHomeserver())
        self.program = Program(self.home.path, self.toml(self.settings), *self.options)
        self.addAsyncCleanup(self.program.remove)

    def toml(self, more: str) -> str:
        return f'homeserver = "{self.server.url}"\nsocket = "{self.home.socket}"\n{more}\n'

    async def begin(self) -> None:
        """Start the program and wait until its first position is stored."""
        await self.program.start()
        await self.program.ready()
        await self.server.wait(lambda: sum("/sync" in one for one in self.server.requests) >= 2)

    async def outcomes(self) -> list[Any]:
        return (await self.client.events(limit=500))["events"]
