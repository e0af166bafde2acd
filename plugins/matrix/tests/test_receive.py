"""Events of rooms as published messages, at the fake homeserver."""

import asyncio
import unittest
from typing import Any
from unittest.mock import patch

from harness import ANN, BOB, BOT, FakeHomeserver, soon

from avocet_client import AvocetError, ErrorCode
from avocet_matrix import backoff, receive
from fakes import Parts
from homeserver import Fault

END = "the end"


class ReceiveTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.server = await self.enterAsyncContext(FakeHomeserver())
        self.parts: Parts | None = None

    async def start(self, parts: Parts | None = None, **settings: Any) -> None:
        """Start a receiver and wait until it follows new events."""
        self.parts = parts or Parts(self.server, **settings)
        self.server.requests.clear()
        self.running = asyncio.create_task(self.parts.receiver.run())
        self.addAsyncCleanup(self.stop)
        await self.server.wait(lambda: self.parts.receiver._since and len(self.polls()) >= 2)

    def polls(self) -> list[str]:
        return [one for one in self.server.requests if "/sync" in one]

    async def stop(self) -> None:
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)
        await self.parts.receiver.stop()

    async def published(self) -> list[dict[str, Any]]:
        """Return everything that was published before a last message."""
        last = await self.server.create(ANN, BOT)
        await self.server.say(last, ANN, END)
        published = self.parts.channel.published

        def look() -> bool:
            assert not self.running.done(), self.running
            return any(one["text"] == END for one in published)

        async with asyncio.timeout(60):
            while not look():
                await asyncio.sleep(0)
        found = [one for one in published if one["text"] != END]
        published.clear()
        return found

    async def published_all(self, texts: list[str]) -> None:
        """Wait until exactly these texts were published."""
        published = self.parts.channel.published
        async with asyncio.timeout(60):
            while [one["text"] for one in published] != texts:
                await asyncio.sleep(0)

    async def texts(self) -> list[str]:
        return [one["text"] for one in await self.published()]

    async def test_event_that_cannot_be_handled_is_logged_and_skipped(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.start()
        parse = receive.parse

        def parse_with_fault(event: dict[str, Any]) -> Any:
            if event.get("content", {}).get("body") == "odd":
                raise KeyError("a fault of the program")
            return parse(event)

        with (
            patch.object(receive, "parse", parse_with_fault),
            self.assertLogs("avocet_matrix", "ERROR") as logged,
        ):
            await self.server.say(room, ANN, "odd")
            await self.server.say(room, ANN, "good")
            self.assertEqual(await self.texts(), ["good"])
        self.assertIn("skipping an event of", logged.output[0])

    async def test_message_has_the_ids_and_the_name_of_matrix(self) -> None:
        room = await self.server.create("@a/b:example.org", BOT, room="!x/y:example.org:8448")
        await self.start()
        event = await self.server.add(
            room,
            {
                "type": "m.room.message",
                "sender": "@a/b:example.org",
                "event_id": "$a/b..c:example.org",
                "origin_server_ts": 5,
                "content": {"msgtype": "m.text", "body": "hi"},
            },
        )
        self.assertEqual(event, "$a/b..c:example.org")
        [message] = await self.published()
        expected = {
            "chat": "external:matrix:!x%2Fy%3Aexample.org%3A8448",
            "sender": "@a%2Fb:example.org",
            "key": "$a%2Fb%2E%2Ec%3Aexample.org",
            "text": "hi",
            "chat_kind": "private",
            "sender_name": "A/B",
            "attachments": [],
            "written_at": 5,
            "corrects": None,
        }
        self.assertEqual(message, expected)

    async def test_messages_that_are_not_for_the_agent_are_ignored(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.start()
        hostile: list[Any] = [
            None,
            7,
            [],
            {},
            {"body": "x"},
            {"msgtype": "m.text"},
            {"msgtype": "m.text", "body": 7},
        ]
        hostile += [{"msgtype": "m.text", "body": " \n"}, {"msgtype": ["m.text"], "body": "x"}]
        hostile += [
            {"msgtype": "m.notice", "body": "I am a bot"},
            {"msgtype": "m.location", "body": "x"},
        ]
        hostile += [
            {"msgtype": "m.image", "body": "x", "url": url}
            for url in (7, "https://a/b", "mxc://a/../b", "mxc://a")
        ]
        for content in hostile:
            await self.server.add(
                room, {"type": "m.room.message", "sender": ANN, "content": content}
            )
        events: list[Any] = [
            {"sender": BOT},
            {"sender": "ann"},
            {"sender": "@a\nb:example.org"},
            {"sender": "@ann:exa mple.org"},
            {"sender": None},
            {"sender": ANN, "state_key": ""},
            {"sender": ANN, "type": "m.reaction"},
            {"sender": ANN, "event_id": "$" + "x" * 300},
        ]
        for event in events:
            content = {"msgtype": "m.text", "body": "hello"}
            await self.server.add(room, {"type": "m.room.message", "content": content, **event})
        await self.server.add(
            room, {"type": "m.room.redaction", "sender": ANN, "content": {}, "redacts": "$x"}
        )
        self.assertEqual(await self.published(), [])

    async def test_text_is_what_the_person_wrote(self) -> None:
        room = await self.server.create(ANN, BOT)
        event = await self.server.say(room, ANN, "before")
        await self.start()
        replied = {"m.relates_to": {"m.in_reply_to": {"event_id": event}}}
        await self.server.say(room, ANN, "> <@ann:example.org> before\n> more\n\nafter", **replied)
        await self.server.say(room, ANN, "> a quote\n\nafter")
        await self.server.say(room, ANN, "waves", msgtype="m.emote")
        await self.server.say(room, ANN, "half \ud800 pair")
        await self.server.say(room, ANN, "Avocet: /stop")
        expected = ["after", "> a quote\n\nafter", "* waves", "half ? pair", "/stop"]
        self.assertEqual(await self.texts(), expected)

    async def test_group_needs_a_mention_a_reply_or_a_command(self) -> None:
        room = await self.server.create(ANN, BOB, BOT)
        own = await self.server.say(room, BOT, "I am here")
        other = await self.server.say(room, BOB, "so am I")
        await self.start()
        cases: list[tuple[bool, str, dict[str, Any]]] = [
            (False, "hello", {}),
            (True, "hello you", {"m.mentions": {"user_ids": [BOB, BOT]}}),
            (False, "hello Bob", {"m.mentions": {"user_ids": [BOB]}}),
            (False, "hello all", {"m.mentions": {"room": True}}),
            (False, "bad mentions", {"m.mentions": {"user_ids": BOT}}),
            (True, "an old client says avocet, too", {}),
            (False, "a new client says avocet, too", {"m.mentions": {}}),
            (True, "avocet: a new client begins with it", {"m.mentions": {}}),
            (False, "avocets are birds", {}),
            (True, "/status", {"m.mentions": {}}),
            (False, "/usr/bin is a path", {"m.mentions": {}}),
            (True, "a reply", {"m.relates_to": {"m.in_reply_to": {"event_id": own}}}),
            (False, "a reply to Bob", {"m.relates_to": {"m.in_reply_to": {"event_id": other}}}),
            (
                False,
                "a reply to an unknown one",
                {"m.relates_to": {"m.in_reply_to": {"event_id": "$gone"}}},
            ),
            (
                False,
                "the next one in a thread",
                {
                    "m.relates_to": {
                        "rel_type": "m.thread",
                        "event_id": own,
                        "is_falling_back": True,
                        "m.in_reply_to": {"event_id": own},
                    }
                },
            ),
        ]
        for _, text, more in cases:
            await self.server.say(room, ANN, text, **more)
        published = await self.published()
        expected = [text.removeprefix("avocet: ") for is_wanted, text, _ in cases if is_wanted]
        self.assertEqual([one["text"] for one in published], expected)
        self.assertEqual({one["chat_kind"] for one in published}, {"group"})

    async def test_group_without_the_mention_rule_takes_all_messages(self) -> None:
        room = await self.server.create(ANN, BOB, BOT)
        await self.start(mention=False)
        await self.server.say(room, ANN, "hello")
        self.assertEqual(await self.texts(), ["hello"])

    async def test_room_is_a_group_by_its_readers(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.start(mention=False)
        await self.server.say(room, ANN, "1")
        await self.server.member(room, BOB, "invite", by=ANN)
        await self.server.say(room, ANN, "2")
        await self.server.member(room, BOB, "leave")
        await self.server.say(room, ANN, "3")
        visibility = {"history_visibility": "world_readable"}
        await self.server.put_state(room, ANN, "m.room.history_visibility", "", visibility)
        await self.server.say(room, ANN, "4")
        kinds = [one["chat_kind"] for one in await self.published()]
        # All events may arrive in one batch, whose state is read once.
        self.assertEqual(kinds[3], "group")
        other = await self.server.create(ANN, BOB, BOT)
        await self.server.say(other, ANN, "5")
        await self.server.member(other, BOB, "leave")
        self.assertEqual(len(await self.published()), 1)
        await self.server.say(other, ANN, "6")
        self.assertEqual([one["chat_kind"] for one in await self.published()], ["private"])
        await self.server.member(other, BOB, "join")
        await self.server.say(other, ANN, "7")
        self.assertEqual([one["chat_kind"] for one in await self.published()], ["group"])

    async def test_edit_corrects_the_message_of_its_author(self) -> None:
        room = await self.server.create(ANN, BOT)
        root = await self.server.say(room, ANN, "root")
        await self.start()
        thread = {"m.relates_to": {"rel_type": "m.thread", "event_id": root}}
        first = await self.server.say(room, ANN, "count to 2", **thread)

        await self.server.edit(room, ANN, first, "count to 3")
        await self.server.edit(room, "@eve:evil.example", first, "count to 9")
        await self.server.edit(room, ANN, "$unknown", "count to 9")
        published = await self.published()
        self.assertEqual([one["text"] for one in published], ["count to 2", "count to 3"])
        self.assertEqual([one["corrects"] for one in published], [None, first])
        self.assertEqual({one["chat"].rpartition(":")[2] for one in published}, {root})

    async def test_files_have_their_kinds_and_names(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.start()
        uri = "mxc://example.org/abc"
        cases: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
            ({"msgtype": "m.image", "body": "a.png"}, "", {"kind": "image", "name": "a.png"}),
            (
                {"msgtype": "m.video", "body": "look", "filename": "a.mp4"},
                "look",
                {"kind": "video", "name": "a.mp4"},
            ),
            (
                {"msgtype": "m.audio", "body": "a", "m.voice": {}},
                "",
                {"kind": "voice", "name": "a"},
            ),
            ({"msgtype": "m.file", "body": "a\x00\nb"}, "", {"kind": "document", "name": "a b"}),
            (
                {"msgtype": "m.file", "body": "a", "info": {"mimetype": "a/b", "size": 7}},
                "",
                {"kind": "document", "name": "a", "media_type": "a/b", "bytes": 7},
            ),
            (
                {"msgtype": "m.file", "body": "a", "info": {"mimetype": "a/b\r\n", "size": -7}},
                "",
                {"kind": "document", "name": "a"},
            ),
        ]
        for content, _, _ in cases:
            await self.server.say(room, ANN, **{"text": content.pop("body"), "url": uri, **content})
        found = [(one["text"], one["attachments"]) for one in await self.published()]
        self.assertEqual(found, [(text, [{"reference": uri, **file}]) for _, text, file in cases])

    async def test_gap_in_a_room_is_filled_in_order(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.start()
        await self.server.say(room, ANN, "0")
        self.assertEqual(await self.texts(), ["0"])
        await self.stop()
        self.server.max_timeline = 4
        texts = [str(number) for number in range(1, 20)]
        for text in texts:
            await self.server.say(room, ANN, text)
        # Once for a program that has just started, and once for one that has not ended.
        fresh = Parts(self.server)
        fresh.channel.cursors = self.parts.channel.cursors = {"": self.parts.channel.position}
        for parts in (fresh, self.parts):
            await self.start(parts)
            self.assertEqual(await self.texts(), texts)
            await self.stop()

    async def test_messages_before_the_invitation_are_not_for_the_agent(self) -> None:
        await self.start(invite_from=("example.org",))
        self.server.max_timeline = 2
        room = await self.server.create(ANN)
        for text in ("1", "2", "3"):
            await self.server.say(room, ANN, text)
        await self.server.member(room, BOT, "invite", by=ANN)
        for text in ("4", "5", "6"):
            await self.server.say(room, ANN, text)
        await self.server.wait(lambda: self.server.rooms[room].membership(BOT) == "join")
        await self.server.say(room, ANN, "7")
        self.assertEqual(await self.texts(), ["4", "5", "6", "7"])

    async def test_join_is_repeated_after_a_transient_error(self) -> None:
        room = await self.server.create(ANN)
        self.server.faults = [
            Fault("/join/", status=502, body=b"bad gateway"),
            Fault("/join/", "drop"),
        ]
        await self.server.member(room, BOT, "invite", by=ANN)
        await self.start(invite_from=(ANN,))
        await self.server.wait(lambda: self.server.rooms[room].membership(BOT) == "join")

    async def test_sync_survives_all_transient_errors(self) -> None:
        room = await self.server.create(ANN, BOT)
        limited = {"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 1}
        self.server.faults = [
            Fault("/sync", "drop"),
            Fault("/sync", "lose"),
            Fault("/sync", status=502, body=b"<html>"),
            Fault("/sync", status=404, body=b"<html>"),
            Fault("/sync", status=200, body=b"[1]"),
            Fault("/sync", status=200, body=b"[" * 100_000),
            Fault("/sync", status=429, body=limited),
        ]
        with patch.object(backoff, "FIRST_SECONDS", 0.001):
            with self.assertLogs("avocet_matrix.homeserver", "WARNING") as logged:
                await self.start()
            self.assertEqual(len(logged.output), 7)
        (is_up, reason), *_, last = self.parts.channel.health
        self.assertEqual((is_up, last), (False, (True, None)))
        self.assertIn("cannot receive events: ", str(reason))
        await self.server.say(room, ANN, "hello")
        self.assertEqual(await self.texts(), ["hello"])

    async def test_redaction_takes_the_message_back_behind_its_publication(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.start()
        events = [await self.server.say(room, ANN, text) for text in ("one", "two")]
        published = await self.published()
        redaction = {"type": "m.room.redaction", "sender": ANN, "content": {}}
        await self.server.add(room, {**redaction, "redacts": events[0]})
        # Rooms of version 11 name the event in the content.
        await self.server.add(room, {**redaction, "content": {"redacts": events[1]}})
        for odd in ({}, {"redacts": 7}, {"redacts": "nothing"}):
            await self.server.add(room, {**redaction, **odd})
        busy = AvocetError(ErrorCode.UNAVAILABLE, "stopping")
        with patch.object(backoff, "FIRST_SECONDS", 0.001):
            self.parts.channel.refusals = [busy]
            await self.published()
        self.assertEqual([one["text"] for one in published], ["one", "two"])
        chat = published[0]["chat"]
        self.assertEqual(
            self.parts.channel.withdrawn, [(chat, one["key"]) for one in published]
        )

    async def test_redaction_of_an_edit_restores_the_text_before(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.start()
        first = await self.server.say(room, ANN, "1")
        edits = [await self.server.edit(room, ANN, first, text) for text in ("2", "3", "4")]
        self.assertEqual(await self.texts(), ["1", "2", "3", "4"])
        # The latest edit that is left counts, and then the original.
        for target, text in ((edits[1], "4"), (edits[2], "2"), (edits[0], "1")):
            key = await self.server.redact(room, ANN, target)
            [restored] = await self.published()
            self.assertEqual(
                (restored["text"], restored["corrects"], restored["key"]), (text, first, key)
            )
        self.assertEqual(self.parts.channel.withdrawn, [])
        await self.server.redact(room, ANN, first)
        await self.published()
        self.assertEqual([key for _, key in self.parts.channel.withdrawn], [first])

    async def test_redaction_of_the_edit_with_the_mention_takes_the_message_back(self) -> None:
        room = await self.server.create(ANN, BOB, BOT)
        await self.start()
        first = await self.server.say(room, ANN, "what time is it?")
        edit = await self.server.edit(room, ANN, first, "Avocet: what time is it?")
        [published] = await self.published()
        self.assertEqual((published["key"], published["corrects"]), (edit, first))
        await self.server.redact(room, ANN, edit)
        self.assertEqual(await self.texts(), [])
        self.assertEqual([key for _, key in self.parts.channel.withdrawn], [first])

    async def test_text_before_a_deleted_edit_that_cannot_be_read_changes_nothing(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.start()
        first = await self.server.say(room, ANN, "1")
        edit = await self.server.edit(room, ANN, first, "2")
        self.assertEqual(await self.texts(), ["1", "2"])
        self.server.faults = [Fault("/event/", status=403, body={"errcode": "M_FORBIDDEN"})]
        await self.server.redact(room, ANN, edit)
        self.assertEqual((await self.texts(), self.parts.channel.withdrawn), ([], []))

    async def test_redaction_of_the_last_event_stores_the_position(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.start()
        before = self.parts.channel.position
        await self.server.add(
            room,
            {"type": "m.room.redaction", "sender": ANN, "content": {}, "redacts": "$x" + "a" * 9},
        )
        async with asyncio.timeout(60):
            while self.parts.channel.position == before:
                await asyncio.sleep(0)
        self.assertEqual(len(self.parts.channel.withdrawn), 1)

    async def test_publish_is_repeated_after_a_transient_refusal_only(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.start()
        busy = AvocetError(ErrorCode.UNAVAILABLE, "stopping")
        wrong = AvocetError(ErrorCode.PARAMS, "unusable")
        self.parts.channel.refusals = [busy, busy, wrong]
        before = self.parts.channel.position
        await self.server.say(room, ANN, "refused")
        self.assertEqual(await self.texts(), [])
        self.assertNotEqual(self.parts.channel.position, before)
        # Only the message that marks the end was committed, so only its room has a receipt.
        receipts = await self.server.wait(lambda: self.server.receipts)
        self.assertNotIn(room, [place for place, _ in receipts])

    async def test_daemon_with_an_older_log_gets_the_messages_again(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.start()
        older = self.parts.channel.position
        await self.server.say(room, ANN, "hello")
        self.assertEqual(await self.texts(), ["hello"])
        self.parts.channel.cursors = {"": older}
        # The next batch ends the poll before the receiver goes back.
        await self.published()
        await self.published_all(["hello", END, END])

    async def test_position_without_messages_is_stored_after_a_minute(self) -> None:
        room = await self.server.create(ANN, BOB, BOT)
        await self.start()
        self.parts.receiver._moved_at -= 61
        before = self.parts.channel.position
        await self.server.say(room, ANN, "not for the agent")
        async with asyncio.timeout(60):
            while self.parts.channel.position == before:
                await asyncio.sleep(0)
        self.assertEqual(self.parts.channel.published, [])

    async def test_room_that_cannot_be_read_is_skipped(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.start()
        refusal = Fault("/members", status=403, body={"errcode": "M_FORBIDDEN"})
        cases = [[refusal], [Fault("/members")] * 8]
        for faults in cases:
            self.server.faults = list(faults)
            with (
                self.assertLogs("avocet_matrix", "WARNING"),
                patch.object(backoff, "FIRST_SECONDS", 0.001),
            ):
                await self.server.say(room, ANN, "lost")
                await soon(self.server.wait(lambda: not self.server.faults))
                self.assertEqual(await self.texts(), [])


if __name__ == "__main__":
    unittest.main()
