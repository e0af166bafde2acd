"""`hello`, the rights of clients, and `publish_inbound` with the real daemon."""

import asyncio
import json
import os
import unittest
from collections.abc import Awaitable, Callable
from typing import Any

from support import ME, PATIENCE_SECONDS, DaemonTest, Proxy, soon, until

from avocet_client import (
    AvocetError,
    BlockingClient,
    Client,
    ConnectionLost,
    ErrorCode,
    Subscription,
)
from avocet_client.types import LogEvent, PublishParams

WEB = "terminal:local:web"
ANN = "external:irc:ann"
TOKEN = "0123456789abcdef"
WRONG_TOKEN = "0123456789abcdeX"
CONFIG = f"""
[channels.external.irc]
allow = ["ann"]

[gateway.clients.web]
role = "sender"
chats = ["{WEB}"]
token = "{TOKEN}"

[gateway.clients.irc]
role = "channel"
chats = ["external:irc:*"]
token = "fedcba9876543210"
"""
# Requests of the daemon, which pass through a proxy as well.
FROM_DAEMON = {"deliver", "event", "events"}


class RightsTest(DaemonTest):
    config = CONFIG

    def web(
        self, path: Any = None, client: str | None = "web", token: str | None = TOKEN
    ) -> Client:
        """Return a client with the rights of `web`."""
        path = path or self.home.socket
        made = Client(path, client=client, token=token, retry_seconds=PATIENCE_SECONDS)
        self.addAsyncCleanup(made.close)
        return made

    def irc(self, path: Any = None) -> Client:
        return self.web(path, "irc", "fedcba9876543210")

    async def assert_refused(self, work: Awaitable[Any], code: int, text: str) -> AvocetError:
        with self.assertRaises(AvocetError) as refused:
            await soon(work)
        self.assertNotIsInstance(refused.exception, ConnectionLost)
        self.assertEqual(refused.exception.code, code)
        self.assertIn(text, refused.exception.message)
        return refused.exception


class HelloTest(RightsTest):
    async def test_hello_with_the_right_token_gives_the_rights_of_the_client(self) -> None:
        rights = {
            "sender": "client:web",
            "role": "sender",
            "chats": [WEB],
            "methods": None,
            "protocol": 1,
        }
        for name, token in (("web", TOKEN), (None, TOKEN), ("web", None)):
            with self.subTest(client=name, token=token):
                web = self.web(client=name, token=token)
                self.assertEqual(await soon(web.call("hello")), rights)
                self.assertEqual((await soon(web.ask(WEB, "count to 2")))["reply"], "1, 2.")
                await self.assert_refused(
                    web.ask(ME, "count to 2"), ErrorCode.NOT_ALLOWED, "is not one of its chats"
                )
        queued = (await self.client.events(kinds=["message.queued"]))["events"]
        self.assertEqual({event["message"]["sender"] for event in queued}, {"client:web"})

    async def test_client_without_hello_has_the_rights_of_its_user(self) -> None:
        welcome = await self.client.call("hello")
        self.assertEqual((welcome["sender"], welcome["role"]), (f"uid:{os.getuid()}", "operator"))

    async def test_hello_is_the_first_request_of_every_connection(self) -> None:
        methods: list[str] = []

        def is_cut(message: dict[str, Any]) -> bool:
            method = message.get("method")
            if method is None or method in FROM_DAEMON:
                return False
            methods.append(method)
            # The first request of each kind loses its connection.
            return method != "hello" and methods.count(method) == 1

        async with Proxy(self.home, is_cut) as proxy:
            web, plain = self.web(proxy.socket), Client(proxy.socket)
            events, chat = web.subscribe("feed"), web.attach(WEB)
            table: list[tuple[str, Callable[[], Awaitable[None]]]] = [
                ("ping", web.connect), ("subscribe", events.open), ("attach", chat.open)
            ]  # fmt: skip
            for method, work in table:
                methods.clear()
                await soon(work())
                self.assertEqual(methods, ["hello", method] * 2)
            methods.clear()
            await soon(plain.connect())
            self.assertEqual(methods, ["ping"] * 2)
            for one in (events, chat, plain):
                await one.close()

    async def test_hello_that_is_refused_is_raised_and_not_retried(self) -> None:
        table = [
            ("web", WRONG_TOKEN, "the token is not that of a client"),
            (None, WRONG_TOKEN, "the token is not that of a client"),
            ("irc", TOKEN, "the token is not that of a client"),
            ("other", None, 'there is no client "other"'),
        ]
        works: list[Callable[[Client], Awaitable[Any]]] = [
            lambda web: web.connect(),
            lambda web: web.ask(WEB, "count to 1"),
            lambda web: web.wait("m1"),
            lambda web: web.subscribe("feed").open(),
            lambda web: anext(web.attach(WEB)),
        ]
        for name, token, text in table:
            async with Proxy(self.home, lambda _: False) as proxy:
                web = self.web(proxy.socket, name, token)
                for number, work in enumerate(works):
                    with self.subTest(client=name, token=token, work=number):
                        refusal = self.assert_refused(work(web), ErrorCode.NOT_ALLOWED, text)
                        self.assertNotIn(str(token), (await refusal).message)
                self.assertEqual(proxy.connections, len(works))

    async def test_hello_that_is_refused_after_a_restart_ends_the_iteration(self) -> None:
        events = self.web().subscribe("feed")
        await soon(events.open())
        self.home.configure(CONFIG.replace(TOKEN, "a-new-token-of-web"))
        await self.restart()
        await self.assert_refused(anext(events), ErrorCode.NOT_ALLOWED, "the token is not that of")
        await events.close()

    async def test_request_that_is_cancelled_in_hello_ends_its_connection(self) -> None:
        lines: asyncio.Queue[str] = asyncio.Queue()

        async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # A daemon that does not answer.
            while line := await reader.readline():
                lines.put_nowait(json.loads(line)["method"])
            lines.put_nowait("end")
            writer.close()

        path = self.home.path / "silent.sock"
        async with await asyncio.start_unix_server(read, path):
            web = self.web(path)
            for end in ("cancel", "close"):
                asking = asyncio.create_task(web.call("ping"))
                self.assertEqual(await soon(lines.get()), "hello")
                if end == "cancel":
                    asking.cancel()
                else:
                    await web.close()
                with self.assertRaises((asyncio.CancelledError, ConnectionLost)):
                    await soon(asking)
                self.assertEqual(await soon(lines.get()), "end")

    async def test_blocking_client_sends_hello(self) -> None:
        def work() -> None:
            with BlockingClient(self.home.socket, client="irc", token="fedcba9876543210") as irc:
                self.assertEqual(irc.call("hello")["sender"], "client:irc")
                published = irc.publish_inbound(chat=ANN, sender="ann", key="1", text="hi")
                self.assertEqual(published, {"message": "m1", "duplicate": False})
            refused = BlockingClient(self.home.socket, client="irc", token=WRONG_TOKEN)
            with self.assertRaisesRegex(AvocetError, "the token is not that of a client"), refused:
                pass

        await asyncio.to_thread(work)


class LimitedSubscriptionTest(RightsTest):
    async def up_to_done(self, events: Subscription) -> list[LogEvent]:
        read = [await soon(anext(events))]
        while read[-1]["kind"] != "message.done":
            read.append(await soon(anext(events)))
        of_chats = [event for event in read if event["kind"] != "daemon.started"]
        self.assertEqual({event["session"] for event in of_chats}, {WEB})
        return read

    async def ask_in_both_chats(self, web: Client, text: str) -> None:
        for client, session in ((self.client, ME), (web, WEB)):
            await soon(client.ask(session, text))

    async def test_subscription_of_a_limited_client_continues_after_a_kill_of_the_daemon(
        self,
    ) -> None:
        web = self.web()
        async with web.subscribe("feed", from_=0) as events:
            await self.ask_in_both_chats(web, "count to 1")
            read = await self.up_to_done(events)
            await self.restart()
            await self.ask_in_both_chats(web, "count to 2")
            read += await self.up_to_done(events)
            listed = (await web.events(limit=500))["events"]
            self.assertEqual(read, listed[: len(read)])
            rest = asyncio.create_task(self.read_all(events))
            confirmed = await until(lambda: self.position_from(read[-1]["seq"]))
        await soon(rest)
        # Another program with this name begins behind the confirmed events.
        await self.restart()
        async with self.web().subscribe("feed", from_=0) as events:
            await self.ask_in_both_chats(web, "count to 3")
            self.assertGreater((await self.up_to_done(events))[0]["seq"], confirmed)

    async def position_from(self, seq: int) -> int | None:
        """Return the position of the only subscriber once it has reached an event."""
        [subscriber] = await self.client.subscribers()
        self.assertEqual(subscriber["name"], "feed@client.web")
        return subscriber["seq"] if subscriber["seq"] >= seq else None

    async def read_all(self, events: Subscription) -> list[LogEvent]:
        return [event async for event in events]


class PublishInboundTest(RightsTest):
    async def test_publish_inbound_brings_in_the_message_of_a_person(self) -> None:
        irc = self.irc()
        message: PublishParams = {
            "chat": ANN, "chat_kind": "private", "sender": "ann", "sender_name": "Ann", "key": "1",
            "text": "count to 3", "cursor": {"position": "17"},
        }  # fmt: skip
        async with irc.attach(ANN) as chat:
            for duplicate in (False, True):
                published = await soon(irc.publish_inbound(**message))
                self.assertEqual(published, {"message": "m1", "duplicate": duplicate})
            reply = await soon(anext(chat))
            self.assertEqual((reply.chat, reply.text), (ANN, "1, 2, 3."))
            await reply.confirm()
        queued = (await self.client.events(kinds=["message.queued"]))["events"]
        authors = [(one["message"]["sender"], one["message"]["sender_name"]) for one in queued]
        self.assertEqual(authors, [("ann", "Ann")])
        account = {"channel": "external", "account": "irc"}
        self.assertEqual((await irc.call("attach", account))["cursors"], {"": "17"})

    async def test_publish_inbound_after_a_lost_answer_repeats_its_key(self) -> None:
        lost: list[Any] = []

        def is_cut(message: dict[str, Any]) -> bool:
            is_answer = "message" in (message.get("result") or {})
            if is_answer and not lost:
                lost.append(message["result"])
                return True
            return False

        async with Proxy(self.home, is_cut) as proxy:
            irc = self.irc(proxy.socket)
            published = await soon(irc.publish_inbound(chat=ANN, sender="ann", key="1", text="hi"))
            self.assertEqual(proxy.connections, 2)
        self.assertEqual(lost, [{"message": "m1", "duplicate": False}])
        self.assertEqual(published, {"message": "m1", "duplicate": True})

    async def test_publish_inbound_needs_the_role_and_a_chat_of_a_program(self) -> None:
        message: PublishParams = {"chat": ANN, "sender": "ann", "key": "1", "text": "hi"}
        table: list[tuple[Client, PublishParams, int, str]] = [
            (self.web(), {**message, "chat": WEB}, ErrorCode.NOT_ALLOWED, "needs the role channel"),
            (self.irc(), {**message, "chat": WEB}, ErrorCode.NOT_ALLOWED, "not one of its chats"),
            (self.client, {**message, "chat": ME}, ErrorCode.NOT_FOUND, "[channels.external.NAME]"),
            (self.irc(), {**message, "sender": "client:web"}, ErrorCode.PARAMS, "is a process"),
        ]
        for client, params, code, text in table:
            with self.subTest(params=params):
                await self.assert_refused(client.publish_inbound(**params), code, text)


if __name__ == "__main__":
    unittest.main()
