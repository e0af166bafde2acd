"""A program that is a channel, and a program with the rights of a client, with the real daemon."""

import asyncio
import json
import unittest
from typing import Any

from support import DaemonTest, soon, until

from avocet_client import AvocetError, Channel, Client, Delivery, ErrorCode

CHAT = "external:irc:c1"
CHANNEL = '[channels.external.irc]\nowners = ["ann"]\n'


class ChannelTest(DaemonTest):
    config = CHANNEL

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.channel = self.client.channel("irc", max_text=400)
        await self.channel.open()
        self.addAsyncCleanup(self.channel.close)

    async def say(self, text: str, key: str, **more: Any) -> Any:
        return await self.channel.publish(CHAT, "ann", text, key=key, **more)

    async def next(self) -> Delivery:
        return await soon(anext(self.channel))

    async def test_channel_publishes_messages_and_delivers_replies(self) -> None:
        for duplicate in (False, True):
            said = await self.say("count to 2", "k1", cursor={"position": "7"})
            self.assertEqual(said, {"message": "m1", "duplicate": duplicate})
        reply = await self.next()
        self.assertEqual((reply.chat, reply.text, reply.repeat), (CHAT, "1, 2.", False))
        self.assertRegex(reply.nonce, "^[0-9A-Za-z]{1,20}$")
        async with self.client.subscribe(kinds=["delivery.sent"]) as events:
            await reply.confirm("p1")
            sent = (await soon(anext(events)))["delivery"]
        self.assertEqual((sent["id"], sent["platform_id"]), (reply.id, "p1"))
        self.assertEqual(self.channel.cursors, {})
        async with self.client.channel("irc") as again:
            self.assertEqual(again.cursors, {"": "7"})

    async def test_channel_shows_that_the_agent_works(self) -> None:
        typing: list[str] = []

        async def is_typing() -> bool | None:
            return bool(typing) or None

        async with self.client.channel("irc", on_typing=typing.append) as channel:
            await channel.publish(CHAT, "ann", "count to 20", key="k1")
            await until(is_typing)
            await channel.publish(CHAT, "ann", "/stop", key="k2")
        self.assertEqual(set(typing), {CHAT})

    async def test_channel_gets_texts_of_at_most_its_length(self) -> None:
        text = "word " * 200
        await self.client.send(CHAT, text)
        parts: list[str] = []
        while sum(map(len, parts)) < len(text.strip()) - len(parts):
            delivery = await self.next()
            parts.append(delivery.text)
            await delivery.confirm()
        self.assertLessEqual(max(map(len, parts)), 400)
        self.assertEqual(" ".join(parts).split(), text.split())

    async def test_channel_of_a_stranger_answers_with_a_code(self) -> None:
        with self.assertRaises(AvocetError) as refused:
            await self.channel.publish(CHAT, "eve", "hi", key="k1", cursor={"position": "8"})
        self.assertEqual(refused.exception.code, ErrorCode.NOT_ALLOWED)
        async with self.client.channel("irc") as again:
            self.assertEqual(again.cursors, {"": "8"})

    async def test_channel_reports_the_outcome_of_a_delivery(self) -> None:
        await self.client.send(CHAT, "hello")
        first = await self.next()
        await first.fail("the platform is full")
        second = await self.next()
        self.assertEqual((second.id, second.repeat), (first.id, False))
        await second.refuse("the chat is gone")
        await self.client.send("external:irc:c2", "bye")
        await (await self.next()).confirm()

        async def failed() -> Any:
            return await self.client.failed_messages() or None

        letter = (await until(failed))[0]
        self.assertEqual((letter["id"], letter["reason"]), (first.id, "refused"))
        self.assertIn("the chat is gone", letter["error"] or "")

    async def test_channel_gets_a_delivery_of_unknown_outcome_again_with_repeat(self) -> None:
        await self.client.send(CHAT, "hello")
        first = await self.next()
        await first.unknown("the platform has not answered")
        again = await self.next()
        self.assertEqual((again.nonce, first.repeat, again.repeat), (first.nonce, False, True))
        await again.confirm()

    async def test_channel_continues_after_a_kill_of_the_daemon(self) -> None:
        await self.say("count to 1", "k1", cursor={"position": "1"})
        first = await self.next()
        await self.restart()
        again = await self.next()
        self.assertEqual((again.id, again.nonce, again.repeat), (first.id, first.nonce, True))
        self.assertEqual(self.channel.cursors, {"": "1"})
        await again.confirm()
        await self.say("count to 2", "k2")
        self.assertEqual((await self.next()).text, "1, 2.")

    async def test_channel_without_an_account_is_refused(self) -> None:
        for name in ("other", "a:b"):
            with self.assertRaises(AvocetError):
                await anext(self.client.channel(name))


class FileTest(DaemonTest):
    config = CHANNEL

    async def test_channel_passes_files_in_both_directions(self) -> None:
        content = bytes(range(256)) * 3000
        pieces: list[str] = []

        async def read_file(reference: str, offset: int, length: int) -> bytes:
            pieces.append(reference)
            if reference != "f1":
                raise FileNotFoundError(f"there is no file {reference}")
            return content[offset : offset + length]

        async with self.client.channel("irc", read_file=read_file) as channel:
            for reference in ("f1", "gone"):
                await channel.publish(
                    CHAT,
                    "ann",
                    "count to 1",
                    key=reference,
                    attachments=[{"reference": reference, "name": "data.bin"}],
                )
                await self.confirmed(channel)
            self.assertGreater(pieces.count("f1"), 1)
            # The daemon does not ask again for a file that is gone.
            self.assertEqual(pieces.count("gone"), 1)
            arguments = json.dumps({"files": [self.saved(content)]})
            await channel.publish(CHAT, "ann", f"message {arguments}", key="k3")
            delivery = await soon(anext(channel))
            self.assertEqual([file["bytes"] for file in delivery.attachments], [len(content)])
            self.assertEqual(await soon(delivery.read_file()), content)
            await delivery.confirm()
            with self.assertRaises(AvocetError) as refused:
                await delivery.read_file()
            self.assertEqual(refused.exception.code, ErrorCode.NOT_FOUND)

    async def confirmed(self, channel: Channel) -> None:
        await (await soon(anext(channel))).confirm()

    def saved(self, content: bytes) -> str:
        """Return the path of the file below the workspace."""
        workspace = self.home.path / ".local/state/avocet/workspace"
        files = [path for path in workspace.rglob("*") if path.is_file()]
        found = [path for path in files if path.read_bytes() == content]
        self.assertEqual(len(found), 1, files)
        return str(found[0].relative_to(workspace))


class RightsTest(DaemonTest):
    config = (
        '[gateway.clients.ci]\nrole = "sender"\nchats = ["terminal:local:ci"]\n'
        'token = "0123456789abcdef"\n'
    )
    chat = "terminal:local:ci"

    def of(self, **identity: str) -> Client:
        client = Client(self.home.socket, retry_seconds=60, **identity)
        self.addAsyncCleanup(client.close)
        return client

    async def test_client_takes_the_rights_of_its_table(self) -> None:
        identities: list[dict[str, str]] = [{"client": "ci"}, {"token": "0123456789abcdef"}]
        for identity in identities:
            client = self.of(**identity)
            rights = await client.rights()
            self.assertEqual((rights["sender"], rights["role"]), ("client:ci", "sender"))
            self.assertEqual(rights["chats"], [self.chat])
            self.assertEqual((await soon(client.ask(self.chat, "count to 1")))["reply"], "1.")
            with self.assertRaises(AvocetError) as refused:
                await client.ask("terminal:local:other", "count to 1")
            self.assertEqual(refused.exception.code, ErrorCode.NOT_ALLOWED)

    async def test_client_has_its_rights_on_every_connection(self) -> None:
        client = self.of(client="ci")
        await client.connect()
        async with client.subscribe(from_=0, kinds=["message.queued"]) as events:
            async with client.attach(self.chat) as chat:
                await self.restart()
                await client.publish(self.chat, "count to 2")
                delivery = await soon(anext(chat))
                self.assertEqual(delivery.text, "1, 2.")
                await delivery.confirm()
            await self.client.publish("terminal:local:other", "count to 1")
            await client.publish(self.chat, "count to 1")
            seen = [await soon(anext(events)) for _ in range(2)]
        senders = [(event["session"], event["message"]["sender"]) for event in seen]
        self.assertEqual(senders, [(self.chat, "client:ci")] * 2)
        with self.assertRaises(AvocetError) as refused:
            await anext(client.attach("terminal:local:other"))
        self.assertEqual(refused.exception.code, ErrorCode.NOT_ALLOWED)

    async def test_client_with_a_wrong_identity_is_refused_at_once(self) -> None:
        for identity in [{"client": "nosuch"}, {"token": "fedcba9876543210"}]:
            client = self.of(**identity)
            for work in (client.connect(), client.subscribe().open(), client.ask(self.chat, "hi")):
                with self.assertRaises(AvocetError) as refused:
                    await asyncio.wait_for(work, 30)
                self.assertEqual(refused.exception.code, ErrorCode.NOT_ALLOWED)


if __name__ == "__main__":
    unittest.main()
