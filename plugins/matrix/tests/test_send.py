"""Deliveries at the fake homeserver: content, outcomes, repetitions."""

import asyncio
import unittest
from typing import Any
from unittest.mock import patch

from fakes import FakeDelivery, Parts
from harness import ANN, BOT, TOKEN, FakeHomeserver
from homeserver import Fault

from avocet_matrix import ids, send


class SendTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.server = await self.enterAsyncContext(FakeHomeserver())
        self.room = await self.server.create(ANN, BOT)
        self.chat = ids.address("matrix", self.room, None)
        self.parts = Parts(self.server)

    async def deliver(self, text: str = "hello", **more: Any) -> tuple[str, str]:
        return await self.parts.deliver(FakeDelivery(more.pop("chat", self.chat), text, **more))

    async def test_delivery_is_confirmed_with_the_id_of_its_event(self) -> None:
        outcome, platform_id = await self.deliver()
        event = self.server.rooms[self.room].events[-1][1]
        self.assertEqual(
            (outcome, ids.decode("event", platform_id)), ("confirmed", event["event_id"])
        )

    async def test_styles_become_html(self) -> None:
        text = "é <b> x\ny"
        styles = [
            {"start": 3, "end": 6, "style": "bold"},
            {"start": 0, "end": 2, "style": {"link": {"url": "https://a/?b&c"}}},
        ]
        await self.deliver(text, styles=styles)
        [content] = self.server.sent(self.room)
        self.assertEqual(content["body"], text)
        html = '<a href="https://a/?b&amp;c">é</a> <strong>&lt;b&gt;</strong> x<br>y'
        self.assertEqual(content["formatted_body"], html)

    async def test_choices_are_numbered_lines(self) -> None:
        await self.deliver("may I?", choices=[{"label": "Yes", "says": "/approve w1"}])
        self.assertEqual(self.server.texts(self.room), ["may I?\n1. Yes: /approve w1"])

    async def test_html_that_is_too_large_is_left_out(self) -> None:
        url = "https://example.org/" + "x" * 3000
        text = "link " * 30
        styles = [
            {"start": at * 5, "end": at * 5 + 4, "style": {"link": {"url": url}}}
            for at in range(30)
        ]
        self.assertEqual((await self.deliver(text, styles=styles))[0], "confirmed")
        self.assertNotIn("format", self.server.sent(self.room)[0])

    async def test_longest_text_fits_into_an_event(self) -> None:
        for char in ("\U0001f951", '"', "é", "&"):
            text = char * 10_000
            styles = [{"start": 0, "end": len(text.encode()), "style": "bold"}]
            outcome = await self.deliver(text, styles=styles, nonce=f"n{ord(char)}")
            self.assertEqual(outcome[0], "confirmed", char)

    async def test_reply_and_thread_have_their_relations(self) -> None:
        root = await self.server.say(self.room, ANN, "root")
        other = await self.server.say(self.room, ANN, "other")
        thread = ids.address("matrix", self.room, root)
        await self.deliver(nonce="a", reply_to=ids.encode(other))
        await self.deliver(nonce="b", chat=thread)
        await self.deliver(nonce="c", chat=thread, reply_to=ids.encode(other))
        await self.deliver(nonce="d", reply_to="not an event")
        relations = [content.get("m.relates_to") for content in self.server.sent(self.room)]
        in_thread = {"rel_type": "m.thread", "event_id": root}
        expected = [
            {"m.in_reply_to": {"event_id": other}},
            {**in_thread, "is_falling_back": True, "m.in_reply_to": {"event_id": root}},
            {**in_thread, "is_falling_back": False, "m.in_reply_to": {"event_id": other}},
            None,
        ]
        self.assertEqual(relations, expected)

    async def test_repeated_delivery_is_the_same_event_while_the_server_knows_it(self) -> None:
        first = await self.deliver()
        again = await self.deliver(repeat=True)
        self.assertEqual(first, again)
        self.assertEqual(self.server.texts(self.room), ["hello"])
        self.server.transactions.clear()
        await self.deliver(repeat=True)
        mark = "(sent again; it may have arrived before)\n"
        self.assertEqual(self.server.texts(self.room), ["hello", mark + "hello"])

    async def test_lost_answer_makes_no_second_event(self) -> None:
        for action in ("lose", "drop"):
            self.server.faults = [Fault("/send/", action)] * 2
            self.assertEqual((await self.deliver(nonce=action))[0], "confirmed")
        self.assertEqual(self.server.texts(self.room), ["hello", "hello"])

    async def test_outcome_is_what_is_known_of_the_event(self) -> None:
        error = lambda code: {"errcode": code, "error": "no\x1b[31m"}  # noqa: E731
        cases = [
            ([Fault("/send/", status=403, body=error("M_FORBIDDEN"))], "refused"),
            ([Fault("/send/", status=413, body=b"<html>")], "refused"),
            ([Fault("/send/", status=400, body=error("M_BAD_JSON"))], "refused"),
            (
                [
                    Fault(
                        "/send/",
                        status=429,
                        body={**error("M_LIMIT_EXCEEDED"), "retry_after_ms": 60_000},
                    )
                ],
                "failed",
            ),
            (
                [
                    Fault(
                        "/send/",
                        status=429,
                        body=error("M_LIMIT_EXCEEDED"),
                        headers={"Retry-After": "0"},
                    )
                ],
                "confirmed",
            ),
            ([Fault("/send/", status=500, body=error("M_UNKNOWN"))] * 9, "unknown"),
            ([Fault("/send/", "lose")] * 9, "unknown"),
            ([Fault("/send/", status=200, body={"event_id": 7})], "unknown"),
            ([Fault("/send/", status=401, body=error("M_UNKNOWN_TOKEN"))], "failed"),
            ([Fault("/members", status=403, body=error("M_FORBIDDEN"))], "refused"),
        ]
        with (
            patch.object(send, "ATTEMPT_SECONDS", 0.5),
            self.assertLogs("avocet_matrix.send", "WARNING"),
        ):
            for number, (faults, expected) in enumerate(cases):
                with self.subTest(faults=faults):
                    self.server.faults = list(faults)
                    self.parts.rooms.forget(self.room)
                    outcome, reason = await self.deliver(nonce=f"n{number}")
                    self.assertEqual(outcome, expected, reason)
                    self.assertTrue(reason.isprintable(), reason)
        [fatal] = self.parts.fatal
        self.assertIn("M_UNKNOWN_TOKEN", str(fatal))

    async def test_unreachable_homeserver_does_not_have_the_message(self) -> None:
        await self.server.close()
        with (
            patch.object(send, "ATTEMPT_SECONDS", 0.1),
            self.assertLogs("avocet_matrix.send", "WARNING"),
        ):
            self.assertEqual((await self.deliver())[0], "failed")

    async def test_hanging_request_is_given_up(self) -> None:
        await self.parts.rooms.get(self.room)
        self.server.faults = [Fault("/send/", "hang")]
        with (
            patch.object(send, "ATTEMPT_SECONDS", 0.2),
            self.assertLogs("avocet_matrix.send", "WARNING"),
        ):
            self.assertEqual((await self.deliver())[0], "unknown")

    async def test_encrypted_room_gets_no_text(self) -> None:
        room = await self.server.create(ANN, BOT, encrypted=True)
        with self.assertLogs("avocet_matrix.send", "WARNING"):
            outcome, reason = await self.deliver(chat=ids.address("matrix", room, None))
        self.assertEqual(outcome, "refused")
        self.assertIn("is encrypted", reason)
        self.assertEqual(self.server.sent(room), [])

    async def test_foreign_address_is_refused(self) -> None:
        for chat in (
            "external:matrix:room",
            "external:matrix:!a%0Ab",
            "external",
            "external:matrix:!r:$%2",
        ):
            self.assertEqual((await self.deliver(chat=chat))[0], "refused", chat)

    async def test_files_are_uploaded_before_the_text_is_visible(self) -> None:
        file = {"kind": "image", "name": "a\n\x1bb.png", "media_type": "image/png", "bytes": 3}
        more = {"attachments": [file], "content": b"abc"}
        self.server.faults = [Fault("/upload", status=413, body={"errcode": "M_TOO_LARGE"})]
        with self.assertLogs("avocet_matrix.send", "WARNING"):
            self.assertEqual((await self.deliver(**more))[0], "refused")
        self.assertEqual(self.server.sent(self.room), [])
        self.assertEqual((await self.deliver(**more))[0], "confirmed")
        text, image = self.server.sent(self.room)
        self.assertEqual(text["body"], "hello")
        self.assertEqual((image["msgtype"], image["body"]), ("m.image", "a b.png"))
        self.assertEqual(self.server.media[image["url"]], (b"abc", "image/png"))

    async def test_repeated_file_is_the_same_event_or_has_the_mark(self) -> None:
        file = {"kind": "document", "name": "a.txt", "bytes": 3}
        more = {"text": "", "attachments": [file], "content": b"abc"}
        first = await self.deliver(**more)
        self.assertEqual(await self.deliver(**more, repeat=True), first)
        self.server.transactions.clear()
        await self.deliver(**more, repeat=True)
        mark = "(sent again; it may have arrived before)"
        self.assertEqual(self.server.texts(self.room), ["a.txt", mark])
        self.assertEqual(self.server.sent(self.room)[1]["filename"], "a.txt")

    async def test_file_above_the_limit_of_the_homeserver_is_refused(self) -> None:
        for has_new_media in (True, False):
            self.server.has_new_media, self.server.max_upload = has_new_media, 2
            parts = Parts(self.server)
            file = {"kind": "document", "name": "a", "bytes": 3}
            with self.assertLogs("avocet_matrix.send", "WARNING"):
                delivery = FakeDelivery(self.chat, "", attachments=[file], content=b"abc")
                outcome, reason = await parts.deliver(delivery)
            self.assertEqual(outcome, "refused")
            self.assertIn("takes files up to 2", reason)

    async def test_deliveries_of_a_room_are_sent_one_after_the_other(self) -> None:
        self.server.faults = [
            Fault("/send/", status=429, body={"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 10})
        ]
        deliveries = [
            FakeDelivery(self.chat, str(number), nonce=f"n{number}") for number in range(5)
        ]
        await asyncio.gather(*(self.parts.deliver(delivery) for delivery in deliveries))
        self.assertEqual(self.server.texts(self.room), ["0", "1", "2", "3", "4"])

    async def test_typing_is_limited_for_each_room(self) -> None:
        for _ in range(5):
            self.parts.sender.typing(self.chat)
        self.parts.sender.typing("external:matrix:unusable")
        await self.server.wait(lambda: self.server.typing)
        await self.deliver()
        await self.server.wait(lambda: len(self.server.typing) > 1)
        self.assertEqual(self.server.typing, [(self.room, True), (self.room, False)])
        self.assertNotIn(TOKEN, "".join(self.server.requests))


if __name__ == "__main__":
    unittest.main()
