"""Odd lines and faults. The daemon is played by a channel that keeps what it gets."""

import asyncio
import json
import sys
import unittest
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SOURCES = [str(HERE.parent), str(ROOT / "clients/python/src"), str(ROOT / "clients/python/tests")]
sys.path[:0] = [str(HERE), *SOURCES]

from avocet_client import AvocetError, Channel, ErrorCode  # noqa: E402
from avocet_template import channel as template  # noqa: E402
from avocet_template.__main__ import run_all  # noqa: E402
from avocet_template.platform import Platform, read_message  # noqa: E402
from fake_platform import FakePlatform  # noqa: E402
from support import until  # noqa: E402

ODD_LINES = [
    b"no JSON",
    b"",
    b"null",
    b"[]",
    b'"text"',
    b"17",
    b'{"id": "1"}',
    b'{"id": null, "chat": "lobby", "sender": "ann", "text": "x"}',
    b'{"id": "1", "chat": {}, "sender": "ann"}',
    b'{"sent": ["a", {}]}',
    b'{"sent": "nothing was sent"}',
    b'{"id": "1", "chat": "lobby", "sender": "ann", "text": "cut',
    b"\xff\xfe\x00",
    b"x" * 200_000,
    b"[" * 50_000,
]


class FakeChannel:
    """Takes what `receive` publishes."""

    account = "chat"

    def __init__(self) -> None:
        self.cursors: dict[str, str] = {}
        self.texts: list[str] = []
        self.health: list[tuple[bool, str | None]] = []
        self.fault: Callable[[str], Exception | None] = lambda _: None

    async def publish(self, chat: str, sender: str, text: str, **more: Any) -> None:
        if (fault := self.fault(text)) is not None:
            raise fault
        self.texts.append(text)

    async def report_health(self, up: bool, reason: str | None = None) -> None:
        self.health.append((up, reason))


class FaultTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.server = FakePlatform()
        self.port = await self.server.start()
        self.addCleanup(self.server.close)
        self.channel = FakeChannel()
        self.platform = Platform("127.0.0.1", self.port)

    def receive(self) -> "asyncio.Task[None]":
        """Begin to receive."""
        work = template.receive(self.platform, cast(Channel, self.channel))
        task = asyncio.create_task(work)
        self.addCleanup(task.cancel)
        return task

    async def texts(self, number: int) -> list[str]:
        """Return the published texts, once there are so many."""

        async def enough() -> list[str] | None:
            return self.channel.texts if len(self.channel.texts) >= number else None

        return await until(enough)

    async def connected(self) -> None:
        """Wait for the connection of the program."""

        async def is_connected() -> bool | None:
            return self.server.is_connected() or None

        await until(is_connected)

    async def test_odd_lines_are_skipped_and_logged_with_their_text(self) -> None:
        receiving = self.receive()
        await self.connected()
        with self.assertLogs("avocet_template", "WARNING") as logged:
            for number, line in enumerate(ODD_LINES, 1):
                self.server.write_line(line)
                self.server.write("ann", f"after line {number}")
            texts = await self.texts(len(ODD_LINES))
        self.assertEqual(texts, [f"after line {n}" for n in range(1, len(ODD_LINES) + 1)])
        self.assertFalse(receiving.done())
        self.assertEqual(self.channel.health, [(True, None)])
        self.assertTrue(any("no JSON" in line for line in logged.output), logged.output)

    async def test_odd_fields_do_not_cost_a_message(self) -> None:
        message = {"id": 7, "chat": "lobby", "sender": "ann", "text": "hi", "more": [None]}
        read = read_message(json.dumps(message).encode())
        self.assertEqual(read, {"id": "7", "chat": "lobby", "sender": "ann", "text": "hi"})
        half = read_message(rb'{"id": "1", "chat": "c", "sender": "s", "text": "a \ud83d b"}')
        self.assertEqual(half["text"], "a ? b")
        self.assertEqual(read_message(b'{"id": "1", "chat": "c", "sender": "s"}')["text"], "")
        # A mark of Windows in front, and a field of confirmations without a value.
        for line in (
            '\ufeff{"id": 1, "chat": "c", "sender": "s", "text": "a"}\r\n',
            '{"id": 1, "chat": "c", "sender": "s", "text": "a", "sent": null}',
        ):
            self.assertEqual(read_message(line.encode())["text"], "a", line)

    async def test_a_message_that_cannot_be_published_is_skipped(self) -> None:
        faults = {
            "odd": TypeError("a fault of the program"),
            "refused": AvocetError(ErrorCode.NOT_ALLOWED, "not you"),
        }
        self.channel.fault = faults.get
        receiving = self.receive()
        await self.connected()
        with self.assertLogs("avocet_template") as logged:
            for text in ("odd", "refused", "good"):
                self.server.write("ann", text)
            self.assertEqual(await self.texts(1), ["good"])
        self.assertIn("'text': 'odd'", logged.output[0])
        self.assertFalse(receiving.done())

    async def test_a_fault_of_receiving_is_reported_and_the_program_connects_again(self) -> None:
        connect = self.platform.connect
        faults: list[Exception] = [KeyError("a fault of the program"), ConnectionResetError("away")]

        async def connect_with_faults(since: str) -> None:
            if faults:
                raise faults.pop(0)
            await connect(since)

        self.platform.connect = connect_with_faults  # type: ignore[method-assign]
        pauses = mock.patch.object(template, "FIRST_PAUSE", 0.01)
        with pauses, self.assertLogs("avocet_template", "WARNING"):
            self.receive()
            self.server.write("ann", "after the faults")
            self.assertEqual(await self.texts(1), ["after the faults"])
        expected = [
            (False, "receiving has failed: KeyError('a fault of the program')"),
            (False, "cannot reach the chat server: away"),
            (True, None),
        ]
        self.assertEqual(self.channel.health, expected)

    async def test_a_delivery_that_fails_does_not_end_the_others(self) -> None:
        outcomes: list[str] = []

        class Deliveries:
            def __init__(self) -> None:
                self.left = ["no chat", "external:chat:lobby"]

            def __aiter__(self) -> "Deliveries":
                return self

            async def __anext__(self) -> Any:
                if not self.left:
                    raise StopAsyncIteration

                async def report(outcome: str = "confirmed", *_: Any) -> None:
                    outcomes.append(outcome)

                values = {"chat": self.left.pop(0), "text": "x", "nonce": "n", "repeat": False}
                reports = {"confirm": report, "unknown": report, "fail": report}
                return SimpleNamespace(id="o1", **values, **reports)

        self.receive()
        await self.connected()
        with self.assertLogs("avocet_template", "ERROR"):
            await template.deliver(self.platform, cast(Channel, Deliveries()))
        self.assertEqual(len(self.server.answers), 1)
        self.assertTrue(outcomes[0].startswith("the program has failed: IndexError"), outcomes)
        self.assertEqual(outcomes[1], "confirmed")

    async def test_run_all_raises_the_error_of_each_part(self) -> None:
        async def fail() -> None:
            raise KeyError("part")

        async def wait() -> None:
            await asyncio.Event().wait()

        for works in ((fail(), wait()), (wait(), fail())):
            with self.assertRaises(KeyError):
                await run_all(*works)


if __name__ == "__main__":
    unittest.main()
