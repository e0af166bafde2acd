"""The channel between the fake homeserver and the real daemon."""

import asyncio
import json
import os
import random
import re
import signal
import stat
import unittest
from typing import Any

from harness import ANN, BOB, BOT, MatrixTest, Program, soon, until
from homeserver import PASSWORD, Fault, Request


def mention(*users: str) -> dict[str, Any]:
    return {"m.mentions": {"user_ids": list(users)}}


class ReplyTest(MatrixTest):
    async def test_message_in_a_private_room_gets_a_reply(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.server.say(room, ANN, "count to 9")
        await self.begin()
        event = await self.server.say(room, ANN, "count to 3")
        [reply] = await self.server.replies(room)
        self.assertEqual(reply, {"msgtype": "m.text", "body": "1, 2, 3.", "m.mentions": {}})
        await self.server.wait(lambda: (room, event) in self.server.receipts)
        self.assertEqual(await self.program.end(signal.SIGTERM), 0, self.program.log)

    async def test_message_in_a_group_gets_a_reply_if_it_is_addressed(self) -> None:
        room = await self.server.create(ANN, BOB, BOT)
        await self.begin()
        await self.server.say(room, ANN, "count to 1")
        event = await self.server.say(room, ANN, "count to 3", **mention(BOT))
        [reply] = await self.server.replies(room)
        self.assertEqual(reply["m.relates_to"], {"m.in_reply_to": {"event_id": event}})
        self.assertEqual(reply["body"], "1, 2, 3.")

    async def test_message_in_a_thread_gets_its_reply_there(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.begin()
        root = await self.server.say(room, ANN, "count to 1")
        relation = {"rel_type": "m.thread", "event_id": root}
        await self.server.replies(room)
        await self.server.say(room, ANN, "count to 2", **{"m.relates_to": relation})
        [first, second] = await self.server.replies(room, 2)
        self.assertNotIn("m.relates_to", first)
        fallback = {"is_falling_back": True, "m.in_reply_to": {"event_id": root}}
        self.assertEqual(second["m.relates_to"], {**relation, **fallback})

    async def test_message_that_waits_has_the_text_before_a_deleted_edit(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.begin()
        await self.server.say(room, ANN, "count to 300")
        await self.server.wait(lambda: (room, True) in self.server.typing)
        waiting = await self.server.say(room, ANN, "count to 2")
        edits = [await self.server.edit(room, ANN, waiting, f"count to {n}") for n in (3, 4)]
        await self.server.wait(lambda: (room, edits[1]) in self.server.receipts)
        redaction = await self.server.redact(room, ANN, edits[1])
        await self.server.wait(lambda: (room, redaction) in self.server.receipts)
        await self.server.say(room, ANN, "/stop")
        await self.server.replies(room)
        await self.server.wait(lambda: "1, 2, 3." in self.server.texts(room))

    async def test_typing_is_shown_while_the_agent_works(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.begin()
        await self.server.say(room, ANN, "count to 20")
        await self.server.wait(lambda: (room, True) in self.server.typing)
        await self.server.say(room, ANN, "/stop")
        await self.server.replies(room)

    async def test_stranger_in_a_private_room_gets_a_code(self) -> None:
        room = await self.server.create("@eve:evil.example", BOT)
        await self.begin()
        await self.server.say(room, "@eve:evil.example", "count to 3")
        [reply] = await self.server.replies(room)
        self.assertIn("avocet pair approve", reply["body"])


class InviteTest(MatrixTest):
    settings = f'invite_from = ["{ANN}", "friends.example"]'

    async def test_invitations_of_allowed_people_and_servers_are_accepted(self) -> None:
        rooms = {}
        eve, friend = "@eve:evil.example", "@bob:friends.example"
        for user in (eve, ANN):
            rooms[user] = await self.server.create(user)
            await self.server.member(rooms[user], BOT, "invite", by=user)
        await self.server.say(rooms[ANN], ANN, "count to 2")
        await self.begin()
        [reply] = await self.server.replies(rooms[ANN])
        self.assertEqual(reply["body"], "1, 2.")
        rooms[friend] = await self.server.create(friend)
        await self.server.member(rooms[friend], BOT, "invite", by=friend)
        await self.server.wait(lambda: self.server.rooms[rooms[friend]].membership(BOT) == "join")
        self.assertEqual(self.server.rooms[rooms[eve]].membership(BOT), "invite")
        self.assertIn(
            f"ignoring the invitation to {rooms[eve]} by {eve}", "".join(self.program.log)
        )


class EncryptedTest(MatrixTest):
    async def test_encrypted_room_gets_one_notice_and_no_text(self) -> None:
        room = await self.server.create(ANN, BOT, encrypted=True)
        secret = {
            "type": "m.room.encrypted",
            "sender": ANN,
            "content": {"algorithm": "m.megolm.v1.aes-sha2"},
        }
        for _ in range(2):
            await self.begin()
            await self.server.add(room, dict(secret))
            await self.server.add(room, dict(secret))
            await self.server.wait(
                lambda: any("account_data" in one for one in self.server.requests)
            )
            other = await self.server.create(ANN, BOT)
            await self.server.say(other, ANN, "count to 1")
            await self.server.replies(other)
            self.assertEqual(await self.program.end(signal.SIGTERM), 0, self.program.log)
            self.server.requests.clear()
        [notice] = self.server.sent(room)
        self.assertEqual(notice["msgtype"], "m.notice")
        await self.begin()
        await self.client.send(f"external:matrix:{room.replace(':', '%3A')}", "hello")

        async def failed() -> Any:
            return await self.client.failed_messages() or None

        letters = await until(failed)
        self.assertIn("is encrypted", letters[-1]["error"] or "")
        self.assertEqual(len(self.server.sent(room)), 1)


class FileTest(MatrixTest):
    async def test_files_go_in_both_directions(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.begin()
        content = random.Random(1).randbytes(300_000)
        uri = self.server.keep(content)
        await self.server.say(
            room,
            ANN,
            "count to 1",
            msgtype="m.file",
            filename="data.bin",
            url=uri,
            info={"size": len(content)},
        )
        await self.server.replies(room)
        workspace = self.home.path / ".local/state/avocet/workspace"
        files = [path for path in workspace.rglob("*") if path.is_file()]
        [saved] = [path for path in files if path.read_bytes() == content]
        arguments = json.dumps({"files": [str(saved.relative_to(workspace))]})
        await self.server.say(room, ANN, f"message {arguments}")
        sent = await self.server.wait(
            lambda: [one for one in self.server.sent(room) if one["msgtype"] == "m.file"]
        )
        self.assertEqual(self.server.media[sent[0]["url"]][0], content)
        self.assertEqual(sent[0]["info"]["size"], len(content))
        # A file that is gone leaves the message without it.
        gone = "mxc://example.org/gone"
        await self.server.say(
            room, ANN, "count to 4", msgtype="m.image", filename="x.png", url=gone
        )
        await self.server.replies(room, 3)


class RestartTest(MatrixTest):
    async def test_messages_of_an_outage_are_answered_after_it(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.begin()
        await self.server.say(room, ANN, "count to 1")
        await self.server.replies(room)
        await self.program.end(signal.SIGKILL)
        # More messages than one timeline has.
        self.server.max_timeline = 3
        for _ in range(7):
            await self.server.say(room, BOB, "", msgtype="m.notice")
        await self.server.say(room, ANN, "count to 2")
        for _ in range(7):
            await self.server.say(room, BOB, "", msgtype="m.notice")
        await self.begin()
        self.assertEqual(
            [one["body"] for one in await self.server.replies(room, 2)], ["1.", "1, 2."]
        )

    async def test_first_position_is_stored_at_the_start(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.begin()
        await self.program.end(signal.SIGKILL)
        await self.server.say(room, ANN, "count to 2")
        await self.begin()
        self.assertEqual([one["body"] for one in await self.server.replies(room)], ["1, 2."])

    async def test_daemon_that_is_away_delays_messages_without_a_receipt(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.begin()
        await asyncio.to_thread(self.home.kill)
        await self.server.say(room, ANN, "count to 2")
        await self.server.wait(lambda: any("/members" in one for one in self.server.requests))
        self.assertEqual(self.server.receipts, [])
        await asyncio.to_thread(self.home.start)
        await self.server.replies(room)
        await self.server.wait(lambda: self.server.receipts)

    async def test_homeserver_that_is_away_delays_messages_both_ways(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.begin()
        port = self.server.port
        await self.server.close()
        await self.client.send(f"external:matrix:{room.replace(':', '%3A')}", "hello")
        await self.server.say(room, ANN, "count to 2")
        await self.server.listen(port)
        await self.server.replies(room, 2)
        self.assertEqual(sorted(self.server.texts(room)), ["1, 2.", "hello"])

    async def test_ten_random_kills_lose_nothing_and_double_nothing_unmarked(self) -> None:
        seed = int(os.environ.get("AVOCET_SEED", random.randrange(10**6)))
        print(f"seed of the kills: AVOCET_SEED={seed}")
        chance = random.Random(seed)
        rooms = [await self.server.create(ANN, BOT) for _ in range(10)]
        await self.begin()
        for room in rooms:
            await self.kill(chance, room)
            # A second kill of the same work would be another test: the daemon then drops it.
            texts = [one["body"] for one in await self.server.replies(room)]
            self.assertTrue(all(text.endswith("1.") for text in texts), texts)
        for number, room in enumerate(rooms, 1):
            unmarked = [text for text in self.server.texts(room) if "sent again" not in text]
            self.assertLessEqual(len(unmarked), 1, f"{number}: {unmarked}")

    async def kill(self, chance: random.Random, room: str) -> None:
        """Kill the channel, the daemon or both at one of the requests after a message."""
        left, victims = chance.randint(1, 6), chance.choice(["channel", "daemon", "both"])
        killed = ""

        async def before(request: Request) -> None:
            nonlocal left, killed
            left -= 1
            if left != 0:
                return
            # After the death of the channel in a delivery, the daemon would wait for 15 s.
            is_receiving = re.search("sync|members|state", request.path) is not None
            dying = "both" if victims == "channel" and not is_receiving else victims
            # The program has no answer to this request yet.
            if dying != "daemon":
                self.program.process.kill()
            if dying != "channel":
                await asyncio.to_thread(self.home.kill)
            killed = dying

        self.server.before = before
        await self.server.say(room, ANN, "count to 1")
        await self.server.wait(lambda: killed or self.server.sent(room))
        # A message may need fewer requests. If a kill has begun, wait for its end.
        if left <= 0:
            await self.server.wait(lambda: killed)
        self.server.before = None
        if killed in ("daemon", "both"):
            await asyncio.to_thread(self.home.start)
        if killed in ("channel", "both"):
            await self.program.ended()
            await self.program.start()
            await self.program.ready()


class LoginTest(MatrixTest):
    settings = f'user = "{BOT}"\nsession_file = "session.json"'

    def with_password(self, password: str) -> Program:
        program = Program(self.home.path, self.toml(self.settings), AVOCET_MATRIX_PASSWORD=password)
        del program.environment["AVOCET_MATRIX_TOKEN"]
        self.addAsyncCleanup(program.remove)
        return program

    async def test_login_with_a_password_is_kept_for_later_starts(self) -> None:
        self.program = self.with_password(PASSWORD)
        for _ in range(2):
            await self.begin()
            self.assertEqual(await self.program.end(signal.SIGTERM), 0, self.program.log)
        self.assertEqual(sum("/login" in one for one in self.server.requests), 1)
        file = self.home.path / "session.json"
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        token = json.loads(file.read_text())["access_token"]
        self.assertNotIn(token, "".join(self.program.log))
        self.server.tokens.clear()
        await self.program.start()
        self.assertEqual(await self.program.ended(), 1)
        self.assertIn("remove ", self.program.log[-1])
        file.chmod(0o644)
        await self.program.start()
        self.assertEqual(await self.program.ended(), 1)
        self.assertIn("chmod 600", self.program.log[-1])

    async def test_refused_login_ends_the_program_with_the_reason(self) -> None:
        program = self.with_password("wrong horse")
        await program.start()
        self.assertEqual(await program.ended(), 1)
        self.assertIn("refuses the login of @avocet:example.org: M_FORBIDDEN", program.log[-1])
        self.assertNotIn("wrong horse", "".join(program.log))

    async def test_revoked_token_ends_the_program_with_the_correction(self) -> None:
        room = await self.server.create(ANN, BOT)
        await self.begin()
        self.server.tokens.clear()
        await self.server.say(room, ANN, "count to 1")
        self.assertEqual(await self.program.ended(), 1)
        self.assertIn("M_UNKNOWN_TOKEN", self.program.log[-1])
        self.assertIn("put a new access token into AVOCET_MATRIX_TOKEN", self.program.log[-1])

    async def test_unusable_homeserver_ends_the_program_with_the_reason(self) -> None:
        cases = [
            (Fault("versions", status=404, body=b"<html>"), "there is no homeserver at"),
            (
                Fault("whoami", status=200, body={"user_id": "@other:example.org"}),
                "belongs to @other",
            ),
            (Fault("whoami", status=200, body={"user_id": 7}), "which is not a user id"),
            (Fault("sync", status=403, body={"errcode": "M_FORBIDDEN"}), "refuses a request"),
            (Fault("versions", status=200, body={"versions": ["r0.6.1"]}), "too old"),
        ]
        for fault, reason in cases:
            with self.subTest(reason):
                self.server.faults = [fault]
                await self.program.start()
                self.assertEqual(await self.program.ended(), 1, self.program.log)
                self.assertIn(reason, self.program.log[-1])

    async def test_sigterm_ends_the_program_before_it_serves(self) -> None:
        self.server.faults = [Fault("versions", "hang")]
        await self.program.start()
        await self.server.wait(lambda: self.server.requests)
        self.assertEqual(await self.program.end(signal.SIGTERM), 0, self.program.log)

    async def test_unknown_position_ends_the_program_and_from_now_skips_it(self) -> None:
        await self.begin()
        await self.program.end(signal.SIGTERM)
        seen = 0

        async def before(request: Request) -> None:
            nonlocal seen
            seen += request.query.get("since") is not None
            if seen == 1:
                seen = 2
                self.server.faults.append(Fault("/sync", status=400, body={"errcode": "M_UNKNOWN"}))

        self.server.before = before
        await self.program.start()
        self.assertEqual(await self.program.ended(), 1)
        self.assertIn("--from-now", self.program.log[-1])
        self.server.before = None
        self.program.options = ("--from-now",)
        await self.begin()


class RightsTest(MatrixTest):
    config = MatrixTest.config + (
        '[gateway.clients.matrix]\nrole = "sender"\nchats = ["external:matrix:*"]\n'
        'token = "0123456789abcdef"\n'
    )
    settings = 'client = "matrix"'

    async def test_client_without_the_role_ends_the_program(self) -> None:
        await self.program.start()
        self.assertEqual(await self.program.ended(), 1)
        self.assertIn('set role = "channel"', self.program.log[-1])


class ClientTest(RightsTest):
    config = RightsTest.config.replace('"sender"', '"channel"')

    async def test_client_without_the_role_ends_the_program(self) -> None:
        """The role is enough."""
        room = await self.server.create(ANN, BOT)
        await self.begin()
        await self.server.say(room, ANN, "count to 1")
        await soon(self.server.replies(room))


if __name__ == "__main__":
    unittest.main()
