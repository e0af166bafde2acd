"""`ask`, `publish`, `send`, `wait` and `attach` with the real daemon."""

import asyncio
import gc
import json
import unittest
from collections.abc import Awaitable, Callable
from typing import Any

from support import ME, DaemonTest, Home, Proxy, soon, until

from avocet_client import AvocetError, Client, ConnectionLost, ErrorCode


class AskTest(DaemonTest):
    async def test_ask_returns_the_reply(self) -> None:
        answered = await soon(self.client.ask(ME, "count to 3"))
        self.assertEqual((answered["outcome"], answered["reply"]), ("replied", "1, 2, 3."))

    async def test_ask_without_wait_and_publish_return_the_message(self) -> None:
        asked = await self.client.ask(ME, "count to 1", wait=False)
        published = await self.client.publish(ME, "count to 2")
        self.assertEqual(asked, {"message": "m1", "duplicate": False})
        self.assertEqual(published, {"message": "m2", "duplicate": False})
        self.assertEqual((await soon(self.client.wait("m2")))["reply"], "1, 2.")

    async def test_a_repeated_key_is_the_same_message(self) -> None:
        for duplicate in (False, True):
            asked = await self.client.publish(ME, "count to 1", key="one")
            self.assertEqual(asked, {"message": "m1", "duplicate": duplicate})
            sent = await self.client.send(ME, "hello", key="two")
            self.assertEqual(sent["duplicate"], duplicate)
        with self.assertRaises(AvocetError) as refused:
            await self.client.publish(ME, "count to 2", key="one")
        self.assertEqual(refused.exception.code, ErrorCode.CONFLICT)

    async def test_many_requests_share_a_connection(self) -> None:
        async with Proxy(self.home, lambda _: False) as proxy, Client(proxy.socket) as client:
            names = [(f"terminal:local:{i}", f"count to {i % 3 + 1}") for i in range(30)]
            asks = (client.ask(session, text) for session, text in names)
            replies = [answered["reply"] for answered in await soon(asyncio.gather(*asks))]
            self.assertEqual(proxy.connections, 1)
        self.assertEqual(replies, ["1.", "1, 2.", "1, 2, 3."] * 10)

    async def test_ask_is_answered_over_a_kill_of_the_daemon(self) -> None:
        async with self.client.subscribe(kinds=["model.answered", "turn.running"]) as events:
            asking = asyncio.create_task(self.client.ask(ME, "count to 20"))
            self.assertEqual((await soon(anext(events)))["kind"], "turn.running")
            await self.restart()
            answered = await soon(asking)
        self.assertEqual(answered["outcome"], "replied")
        self.assertTrue((answered["reply"] or "").endswith("19, 20."), answered)

    async def test_ask_after_a_lost_answer_repeats_its_key(self) -> None:
        lost: list[Any] = []

        def is_cut(message: dict[str, Any]) -> bool:
            is_answer = "message" in (message.get("result") or {})
            if is_answer and not lost:
                lost.append(message["result"])
                return True
            return False

        async with Proxy(self.home, is_cut) as proxy, Client(proxy.socket) as client:
            asked = await soon(client.publish(ME, "count to 1"))
            self.assertEqual(proxy.connections, 2)
        self.assertEqual(lost, [{"message": "m1", "duplicate": False}])
        self.assertEqual(asked, {"message": "m1", "duplicate": True})

    async def test_call_after_a_lost_answer_is_not_repeated(self) -> None:
        async with Proxy(self.home, lambda message: "result" in message) as proxy:
            client = Client(proxy.socket)
            with self.assertRaises(ConnectionLost):
                await soon(client.call("ask", {"session": ME, "text": "count to 1"}))
            await client.close()
            self.assertEqual(proxy.connections, 1)

    async def test_ask_after_its_timeout_may_be_repeated_with_its_key(self) -> None:
        with self.assertRaises(TimeoutError):
            await self.client.ask(ME, "count to 20", "k", timeout=0.1)
        asked = await self.client.publish(ME, "count to 20", "k")
        with self.assertRaises(TimeoutError):
            await self.client.wait(asked["message"], timeout=0.1)
        await soon(self.client.ask(ME, "/stop"))
        self.assertEqual((await soon(self.client.wait(asked["message"])))["outcome"], "stopped")
        listed = await self.client.events(kinds=["message.queued"])
        self.assertEqual(len(listed["events"]), 2, "the message and the command")


class ErrorTest(DaemonTest):
    async def test_wrong_parameters_are_refused_with_a_code_and_a_correction(self) -> None:
        table: list[tuple[str, Any, int, str]] = [
            ("ask", {"session": "me", "text": "hi"}, ErrorCode.PARAMS, "a session id is channel:"),
            ("ask", {"session": ME}, ErrorCode.PARAMS, "`text` is missing"),
            ("ask", {"session": ME, "text": ""}, ErrorCode.PARAMS, "empty"),
            ("ask", {"session": ME, "text": "hi", "x": 1}, ErrorCode.PARAMS, "unknown key `x`"),
            ("wait", {"message": "m99"}, ErrorCode.NOT_FOUND, "there is no message m99"),
            ("send", {"chat": "discord:a:b", "text": "hi"}, ErrorCode.NOT_FOUND, "no configured"),
            ("attach", {"chat": "telegram:a:b"}, ErrorCode.NOT_FOUND, "no client can attach"),
            ("sessions.list", {"limit": 501}, ErrorCode.PARAMS, "from 1 to 500"),
            ("fly", {}, ErrorCode.METHOD, 'there is no method "fly"; there are '),
        ]
        for method, params, code, text in table:
            with self.subTest(method=method, params=params):
                with self.assertRaises(AvocetError) as refused:
                    await self.client.call(method, params)
                self.assertEqual(refused.exception.code, code)
                self.assertIn(text, refused.exception.message)
        with self.assertRaises(AvocetError) as refused:
            await anext(self.client.attach("telegram:a:b"))
        self.assertEqual(refused.exception.code, ErrorCode.NOT_FOUND)

    async def test_a_request_that_cannot_be_sent_leaves_the_connection_open(self) -> None:
        table = [
            ("x" * 1024 * 1024, ErrorCode.REQUEST, "at most 1048576"),
            ("\ud800", ErrorCode.PARAMS, "JSON in UTF-8"),
        ]
        async with Proxy(self.home, lambda _: False) as proxy, Client(proxy.socket) as client:
            for text, code, reason in table:
                with self.assertRaises(AvocetError) as refused:
                    await client.publish(ME, text)
                self.assertEqual(refused.exception.code, code)
                self.assertIn(reason, refused.exception.message)
            self.assertEqual((await client.publish(ME, "count to 1"))["message"], "m1")
            self.assertEqual(proxy.connections, 1)


class NoDaemonTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.home = Home()
        self.addCleanup(self.home.remove)

    async def test_without_a_daemon_the_error_names_the_socket_and_the_command(self) -> None:
        client = Client(self.home.socket, retry_seconds=0)
        works: list[Callable[[], Awaitable[Any]]] = [
            lambda: client.connect(),
            lambda: client.ask(ME, "hi"),
            lambda: client.wait("m1"),
            lambda: client.status(),
            lambda: client.subscribe().open(),
            lambda: anext(client.subscribe()),
            lambda: client.attach(ME).open(),
        ]
        for work in works:
            with self.assertRaises(ConnectionLost) as refused:
                await work()
            self.assertEqual(refused.exception.code, ErrorCode.UNAVAILABLE)
            self.assertIn(str(self.home.socket), refused.exception.message)
            self.assertIn("avocet run", refused.exception.message)

    async def test_requests_wait_for_a_daemon_that_starts_later(self) -> None:
        client = Client(self.home.socket, retry_seconds=60)
        events = client.subscribe(from_=0)
        waiting = [asyncio.ensure_future(client.ask(ME, "count to 1"))]
        first = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        await asyncio.to_thread(self.home.start)
        self.assertEqual((await soon(waiting[0]))["reply"], "1.")
        self.assertEqual((await soon(first))["kind"], "daemon.started")
        await events.close()
        await client.close()

    async def test_a_connection_that_ends_during_a_long_request_tells_its_reason_once(self) -> None:
        unheard: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
        error = {"code": ErrorCode.NOT_ALLOWED, "message": "this program is not allowed"}
        refusal = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode() + b"\n"
        last_words = {refusal: ErrorCode.NOT_ALLOWED, b"": ErrorCode.UNAVAILABLE}
        for words, code in last_words.items():

            async def end(
                reader: asyncio.StreamReader, writer: asyncio.StreamWriter, words: bytes = words
            ) -> None:
                await reader.read(1)
                writer.write(words)
                writer.close()

            self.home.socket.parent.mkdir(parents=True, exist_ok=True)
            self.home.socket.unlink(missing_ok=True)
            server = await asyncio.start_unix_server(end, self.home.socket)
            client = Client(self.home.socket, retry_seconds=0)
            with self.assertRaises(AvocetError) as refused:
                await client.send(ME, "x" * 1_000_000)
            self.assertEqual(refused.exception.code, code)
            await client.close()
            server.close()
        await self._close_during_a_request()
        gc.collect()
        self.assertEqual(unheard, [])

    async def _close_during_a_request(self) -> None:
        """Close the client while the daemon does not read, and cancel the request."""
        has_begun, may_end = asyncio.Event(), asyncio.Event()

        async def stall(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            has_begun.set()
            await may_end.wait()
            writer.close()

        self.home.socket.unlink()
        server = await asyncio.start_unix_server(stall, self.home.socket)
        client = Client(self.home.socket, retry_seconds=0)
        sending = asyncio.ensure_future(client.send(ME, "x" * 1_000_000))
        await soon(has_begun.wait())
        await client.close()
        sending.cancel()
        await asyncio.wait([sending])
        may_end.set()
        server.close()

    async def test_a_closed_client_refuses_requests(self) -> None:
        client = Client(self.home.socket)
        await client.close()
        with self.assertRaisesRegex(RuntimeError, "make a new one"):
            await client.status()


class AttachTest(DaemonTest):
    async def test_attach_receives_texts_and_replies_of_the_chat(self) -> None:
        seen: list[str] = []
        async with self.client.attach(ME, on_event=lambda one: seen.append(one["type"])) as chat:
            await self.client.send(ME, "good *morning*")
            delivery = await soon(anext(chat))
            shown = (delivery.id, delivery.turn, delivery.chat, delivery.text, delivery.repeat)
            self.assertEqual(shown, ("o1", None, ME, "good *morning*", False))
            await delivery.confirm()
            await self.client.publish(ME, "count to 2")
            reply = await soon(anext(chat))
            self.assertEqual((reply.text, reply.turn), ("1, 2.", "t1"))
            await reply.confirm()
        self.assertLessEqual({"started", "text"}, set(seen))
        await until(self.nothing_pending)

    async def test_attach_survives_an_error_of_the_function_for_events(self) -> None:
        reported: list[Any] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: reported.append(context["exception"]))

        def fail(event: Any) -> None:
            raise ValueError("wrong")

        async with Proxy(self.home, lambda _: False) as proxy, Client(proxy.socket) as client:
            async with client.attach(ME, on_event=fail) as chat:
                await client.publish(ME, "count to 2")
                self.assertEqual((await soon(anext(chat))).text, "1, 2.")
            self.assertEqual(proxy.connections, 2)
        self.assertEqual({str(error) for error in reported}, {"wrong"})

    async def test_attach_gets_an_unconfirmed_text_again_after_a_kill(self) -> None:
        async with self.client.attach(ME) as chat:
            await self.client.send(ME, "hello")
            first = await soon(anext(chat))
            await self.restart()
            # The connection of this delivery is gone.
            await first.confirm()
            again = await soon(anext(chat))
            self.assertEqual((again.id, again.text, again.repeat), (first.id, "hello", True))
            await again.confirm()
            await self.client.send(ME, "bye")
            self.assertEqual((await soon(anext(chat))).text, "bye")


if __name__ == "__main__":
    unittest.main()
