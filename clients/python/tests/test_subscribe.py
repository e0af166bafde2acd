"""`subscribe` with the real daemon: positions, restarts, repeated batches, conditions."""

import asyncio
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from support import ME, DaemonTest, Proxy, soon, until

from avocet_client import AvocetError, Client, ErrorCode, Subscription
from avocet_client.types import LogEvent


async def up_to(events: Subscription, kind: str, count: int = 1) -> list[LogEvent]:
    """Read events until `count` of them have this kind."""
    read: list[LogEvent] = []
    while count:
        read.append(await soon(anext(events)))
        count -= read[-1]["kind"] == kind
    return read


def numbers(events: list[LogEvent]) -> list[int]:
    return [event["seq"] for event in events]


class SubscribeTest(DaemonTest):
    async def position(self, name: str) -> int:
        return next(one["seq"] for one in await self.client.subscribers() if one["name"] == name)

    async def test_subscribe_reads_each_event_once_over_kills_of_the_daemon(self) -> None:
        for name in (None, "me"):
            with self.subTest(name=name):
                async with self.client.subscribe(name) as events:
                    begin = events.position or 0
                    read: list[LogEvent] = []
                    for number in range(3):
                        asked = await self.client.publish(ME, f"count to {number + 1}")
                        if number:
                            await self.restart()
                        await soon(self.client.wait(asked["message"]))
                        read += await up_to(events, "message.done")
                    listed = (await self.client.events(begin, limit=500))["events"]
                self.assertEqual(numbers(read), numbers(listed)[: len(read)])
                kinds = [event["kind"] for event in read]
                self.assertEqual(kinds.count("daemon.started"), 2)
                self.assertEqual(kinds.count("message.queued"), 3)

    async def test_subscribe_confirms_a_batch_when_the_next_event_is_requested(self) -> None:
        await soon(self.client.ask(ME, "count to 1"))
        newest = (await self.client.events())["newest"]
        async with self.client.subscribe("me", from_=0) as events:
            batch = [await soon(anext(events)) for _ in range(newest)]
            self.assertEqual(await self.position("me"), 0)
            self.assertEqual(events.position, 0)
        async with self.client.subscribe("me") as events:
            again = [await soon(anext(events)) for _ in range(newest)]
            self.assertEqual(numbers(again), numbers(batch))
            following = asyncio.ensure_future(anext(events))

            async def is_confirmed() -> bool | None:
                return await self.position("me") == newest or None

            await until(is_confirmed)
            self.assertEqual(events.position, newest)
            await self.client.publish(ME, "count to 1")
            self.assertEqual((await soon(following))["seq"], newest + 1)

    async def test_subscribe_drops_events_of_a_batch_that_comes_again(self) -> None:
        await soon(self.client.ask(ME, "count to 1"))
        newest = (await self.client.events())["newest"]
        lost: list[Any] = []

        def is_cut(message: dict[str, Any]) -> bool:
            is_confirmation = str(message.get("id")).startswith("events-") and "result" in message
            if is_confirmation and len(lost) < 2:
                lost.append(message)
                return True
            return False

        for name in (None, "me"):
            lost.clear()
            async with Proxy(self.home, is_cut) as proxy:
                client = Client(proxy.socket)
                async with client.subscribe(name, from_=0) as events:
                    batch = [await soon(anext(events)) for _ in range(newest)]
                    following = asyncio.ensure_future(anext(events))
                    if name is None:
                        # Only a new event makes a batch, and its confirmation is cut, too.
                        await self.client.send("terminal:local:other", "hello")
                        batch.append(await soon(following))
                        following = asyncio.ensure_future(anext(events))
                    await until(self.twice(lost))
                    await self.client.send("terminal:local:other", "hello")
                    batch.append(await soon(following))
                self.assertEqual(proxy.connections, 3)
            self.assertEqual(numbers(batch), list(range(1, batch[-1]["seq"] + 1)))
            newest = (await self.client.events(limit=500))["newest"]

    def twice(self, lost: list[Any]) -> Any:
        async def is_lost_twice() -> bool | None:
            return len(lost) == 2 or None

        return is_lost_twice

    async def test_subscribe_without_a_name_continues_from_a_position(self) -> None:
        await soon(self.client.ask(ME, "count to 1"))
        newest = (await self.client.events())["newest"]
        async with self.client.subscribe(from_=newest - 2) as events:
            read = [await soon(anext(events)) for _ in range(2)]
        self.assertEqual(numbers(read), [newest - 1, newest])
        async with self.client.subscribe() as events:
            self.assertEqual(events.position, newest)

    async def test_subscribe_selects_a_session_and_kinds(self) -> None:
        other = "terminal:local:other"
        async with (
            self.client.subscribe(from_=0, session=other) as of_session,
            self.client.subscribe(from_=0, kinds=["message.queued", "turn"]) as of_kinds,
            self.client.subscribe(from_=0, kinds="message") as of_table,
        ):
            for session in (ME, other):
                await soon(self.client.ask(session, "count to 1"))
            read = await up_to(of_session, "message.done")
            self.assertEqual({event["session"] for event in read}, {other})
            kinds = [event["kind"] for event in await up_to(of_kinds, "turn.done", 2)]
            self.assertEqual(kinds, ["message.queued", "turn.running", "turn.done"] * 2)
            kinds = [event["kind"] for event in await up_to(of_table, "message.done", 2)]
            self.assertEqual(kinds, ["message.queued", "message.done"] * 2)

    async def test_subscribe_with_wrong_parameters_fails(self) -> None:
        for subscription, text in [
            (self.client.subscribe(kinds=["talk"]), 'there is no kind "talk"'),
            (self.client.subscribe("a:b"), "subscriber name"),
            (self.client.subscribe(session="me"), "session id"),
        ]:
            with self.assertRaises(AvocetError) as refused:
                await anext(subscription)
            self.assertEqual(refused.exception.code, ErrorCode.PARAMS)
            self.assertIn(text, refused.exception.message)

    async def test_subscribe_ends_with_an_error_if_another_takes_the_name(self) -> None:
        for is_waiting in (True, False):
            with self.subTest(is_waiting=is_waiting):
                first = self.client.subscribe("me")
                await first.open()
                waiting = asyncio.ensure_future(anext(first)) if is_waiting else None
                async with self.client.subscribe("me") as second:
                    await self.client.publish(ME, "count to 1")
                    await up_to(second, "message.done")
                    with self.assertRaises(AvocetError) as refused:
                        await soon(waiting or anext(first))
                self.assertEqual(refused.exception.code, ErrorCode.CONFLICT)
                await first.close()

    async def test_close_ends_the_iteration(self) -> None:
        events = self.client.subscribe()
        await events.open()
        reading = asyncio.ensure_future(self.read_all(events))
        await asyncio.sleep(0)
        await events.close()
        self.assertEqual(await soon(reading), [])
        with self.assertRaisesRegex(RuntimeError, "make a new one"):
            await events.open()

    async def read_all(self, events: Subscription) -> list[LogEvent]:
        return [event async for event in events]


class FakeDaemon:
    """A daemon that makes one unknown request before it sends an event."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answers: list[Any] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def write(**message: Any) -> None:
            writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

        request = json.loads(await reader.readline())
        write(id=request["id"], result={"log": "l", "from": 0, "removed": 0})
        write(id="u1", method="unknown", params={})
        self.answers.append(json.loads(await reader.readline()))
        events = [{"seq": 1, "at": 1, "kind": "daemon.started"}]
        write(id="e1", method="events", params={"events": events, "next": 1})
        self.answers.append(json.loads(await reader.readline()))
        writer.close()


class FutureDaemonTest(unittest.IsolatedAsyncioTestCase):
    async def test_an_unknown_request_is_answered_with_an_error(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            daemon = FakeDaemon(Path(directory) / "socket")
            async with await asyncio.start_unix_server(daemon.serve, daemon.path):
                events = Client(daemon.path).subscribe()
                self.assertEqual((await soon(anext(events)))["seq"], 1)
                following = asyncio.ensure_future(anext(events))

                async def is_confirmed() -> bool | None:
                    return len(daemon.answers) == 2 or None

                await until(is_confirmed)
                await events.close()
                with self.assertRaises(StopAsyncIteration):
                    await soon(following)
        refused, confirmed = daemon.answers
        self.assertEqual((refused["id"], refused["error"]["code"]), ("u1", ErrorCode.METHOD))
        self.assertEqual((confirmed["id"], confirmed["result"]), ("e1", {}))


if __name__ == "__main__":
    unittest.main()
