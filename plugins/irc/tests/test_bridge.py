"""The bridge with the strict server, and a daemon that takes messages when the test lets it."""

import asyncio
import contextlib
import unittest
from typing import Any
from unittest import mock

import irc_support  # noqa: F401  (sets the path of the packages)
from fake_server import CAPS, FakeServer, Options, Person

from avocet_irc import bridge
from avocet_irc.outbound import Outbound, Outcome, Sent
from avocet_irc.settings import Settings


class FakeDaemon:
    """A client whose channel keeps what is published."""

    def __init__(self) -> None:
        self.cursors: dict[str, str] = {}
        self.published: list[dict[str, Any]] = []
        self.health: list[tuple[bool, str | None]] = []
        self.takes = asyncio.Event()
        self.changed = asyncio.Event()

    def channel(self, account: str, **_: Any) -> "FakeDaemon":
        return self

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    def __aiter__(self) -> "FakeDaemon":
        return self

    async def __anext__(self) -> None:
        await asyncio.Event().wait()

    async def publish(self, chat: str, sender: str, text: str = "", **more: Any) -> None:
        await self.takes.wait()
        self.published.append({"chat": chat, "text": text, **more})
        self.changed.set()

    async def move_cursor(self, position: str) -> None:
        pass

    async def report_health(self, up: bool, reason: str | None = None) -> None:
        self.health.append((up, reason))

    async def texts(self, count: int) -> list[str]:
        """Wait until this many messages were published, and return their texts."""
        async with asyncio.timeout(30):
            while len(self.published) < count:
                self.changed.clear()
                await self.changed.wait()
        return [message["text"] for message in self.published]


class BridgeTest(unittest.IsolatedAsyncioTestCase):
    async def begin(self, caps: dict[str, str]) -> None:
        self.server = FakeServer(Options(caps=caps))
        self.server.people["ann"] = Person(account="ann")
        await self.server.start()
        self.addAsyncCleanup(self.server.stop)
        self.daemon = FakeDaemon()
        settings = Settings(
            server="127.0.0.1",
            port=self.server.port,
            tls=False,
            nick="avocet",
            channels=("#room",),
            seconds_per_line=0,
            longest_pause_seconds=0.1,
            ping_seconds=0.1,
        )
        self.bridge = bridge.Bridge(self.daemon, settings)  # type: ignore[arg-type]
        running = asyncio.create_task(self.bridge.run())
        self.addAsyncCleanup(self.end, running)
        # The second PING comes after the old messages were read.
        await self.server.until(
            lambda: self.server.lines.count("PING :avocet-alive") > 1, "the registration"
        )

    async def end(self, running: asyncio.Task[None]) -> None:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    async def test_full_queue_leaves_the_server_and_reads_the_rest_later(self) -> None:
        with mock.patch.object(bridge, "MOST_WAITING", 4), self.assertLogs("avocet_irc") as logs:
            await self.begin(dict(CAPS))
            for number in range(8):
                self.server.say("ann", "avocet", f"text {number}")
            await self.server.until(lambda: not self.server.clients, "the end of the connection")
            self.daemon.takes.set()
            expected = [f"text {number}" for number in range(8)]
            found = await self.daemon.texts(8)
        # The messages of the overlap come again with the keys that they had.
        unique = dict.fromkeys(
            (message["key"], message["text"]) for message in self.daemon.published
        )
        self.assertEqual([text for _, text in unique], expected)
        self.assertLessEqual(set(found), set(expected))
        self.assertIn("4 messages wait for the daemon", "".join(logs.output))
        self.assertEqual([up for up, _ in self.daemon.health[:3]], [True, False, True])
        self.assertIn("4 messages wait for the daemon", str(self.daemon.health[1][1]))

    async def test_old_message_that_cannot_be_handled_is_logged_and_skipped(self) -> None:
        convert = bridge.Converter.convert

        def convert_with_fault(self: Any, message: Any, is_old: bool) -> Any:
            if message.params[-1] == "odd":
                raise KeyError("a fault of the program")
            return convert(self, message, is_old)

        with (
            mock.patch.object(bridge.Converter, "convert", convert_with_fault),
            self.assertLogs("avocet_irc", "ERROR") as logs,
        ):
            await self.begin(dict(CAPS))
            self.daemon.takes.set()
            self.bridge._held = []
            self.server.say("ann", "avocet", "odd")
            self.server.say("ann", "avocet", "good")
            await self.server.until(lambda: len(self.bridge._held or []) == 2, "the messages")
            self.bridge._release([])
            self.assertEqual(await self.daemon.texts(1), ["good"])
        self.assertIn("skipping PRIVMSG of the server", logs.output[0])

    async def test_full_queue_without_history_reports_the_loss(self) -> None:
        caps = {"account-tag": ""}
        with mock.patch.object(bridge, "MOST_WAITING", 4), self.assertLogs("avocet_irc") as logs:
            await self.begin(caps)
            for number in range(6):
                self.server.say("ann", "avocet", f"text {number}")
            # The answer to this PING shows that the program has read the messages before it.
            self.server.clients[0].send("PING :read")
            await self.server.until(lambda: "PONG :read" in self.server.lines, "PONG")
            self.daemon.takes.set()
            await self.daemon.texts(4)
        self.assertEqual(
            [each["text"] for each in self.daemon.published], [f"text {n}" for n in range(4)]
        )
        self.assertIn("2 messages are lost", "".join(logs.output))

    async def test_positions_rise_although_times_of_the_server_do_not(self) -> None:
        await self.begin(dict(CAPS))
        self.daemon.takes.set()
        for time in ("2026-01-01T00:00:02.000Z", "2026-01-01T00:00:01.000Z"):
            said = self.server.say("ann", "#room", "no")
            said.target, said.text, said.time = "avocet", "text", f"2099{time[4:]}"
            self.server.clients[0].send_said(said)
        await self.daemon.texts(2)
        positions = [message["cursor"]["position"] for message in self.daemon.published]
        self.assertEqual(positions, ["2099-01-01T00:00:02.000Z"] * 2)


class OutboundTest(unittest.IsolatedAsyncioTestCase):
    async def test_fault_of_the_program_is_answered_as_unknown(self) -> None:
        delivery = mock.AsyncMock(nonce="n", chat="external:irc:#room", attachments=[])
        network = mock.AsyncMock()
        network.connection.side_effect = KeyError("x")
        with self.assertLogs("avocet_irc", "ERROR"):
            await Outbound(network).deliver(delivery)
        delivery.unknown.assert_awaited_once_with("a fault of the program: KeyError")

    async def test_delivery_that_was_sent_is_answered_and_not_sent_again(self) -> None:
        outbound = Outbound(mock.AsyncMock())
        sends = mock.patch.object(outbound, "_send", return_value=Sent(Outcome.SENT, "id1"))
        with sends as send:
            for repeat in (False, True):
                delivery = mock.AsyncMock(nonce="n", repeat=repeat)
                await outbound.deliver(delivery)
                delivery.confirm.assert_awaited_once_with("id1")
        send.assert_awaited_once()


if __name__ == "__main__":
    unittest.main()
