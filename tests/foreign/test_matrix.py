"""The Matrix channel against Synapse."""

import asyncio
import json
import random
import signal
import unittest
from typing import Any

from real import assert_no_faults, true, use

PLUGIN = use("matrix")

from harness import READY, Program  # noqa: E402
from support import DaemonTest, child_table  # noqa: E402

from matrix_server import NAME, Synapse  # noqa: E402

PEOPLE = ("ann", "bob", "cat")
ALLOWED = f'owners = ["@ann:{NAME}"]\nallow = ["@bob:{NAME}", "@cat:{NAME}"]\n'


class MatrixTest(DaemonTest):
    """A test with the daemon, the homeserver, the channel and people."""

    config = f"[channels.external.matrix]\n{ALLOWED}"

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.server = Synapse()
        self.addAsyncCleanup(self.server.remove)
        await self.server.start()
        self.bot = await self.server.register("avocet")
        self.people = {name: await self.server.register(name) for name in PEOPLE}
        self.ann, self.bob = self.people["ann"], self.people["bob"]
        settings = (
            f'homeserver = "{self.server.url}"\nsocket = "{self.home.socket}"\n'
            f'invite_from = ["{NAME}"]\n'
        )
        self.program = Program(self.home.path, settings, AVOCET_MATRIX_TOKEN=self.bot.token)
        self.addAsyncCleanup(self.program.remove)

    async def asyncTearDown(self) -> None:
        assert_no_faults([*self.program.log, *self.home.log])

    async def begin(self) -> None:
        """Start the channel and wait until it serves."""
        await self.program.start()
        await self.program.ready()

    async def room(self, *names: str) -> str:
        """Let the first person create a room with the others and the agent, which joins."""
        first, *others = (self.people[name] for name in names)
        room = await first.room(self.bot.id, *(other.id for other in others))
        for other in others:
            await other.join(room)
        await self.joins(room)
        return room

    async def joins(self, room: str) -> None:
        """Wait until the agent is in a room."""

        async def rooms() -> list[str]:
            return list(
                (await self.bot.call("GET", "/_matrix/client/v3/joined_rooms"))["joined_rooms"]
            )

        async with asyncio.timeout(60):
            while room not in await rooms():
                await asyncio.sleep(0.05)

    async def bodies(self, room: str, count: int) -> list[Any]:
        """Wait for messages of the agent, and return their texts."""
        return [each["body"] for each in await self.ann.until(room, self.bot.id, count)]


class ConversationTest(MatrixTest):
    async def test_synapse_carries_conversations_edits_and_files(self) -> None:
        await self.begin()
        private = await self.room("ann")
        await self.ann.say(private, "count to 3")
        self.assertEqual(await self.bodies(private, 1), ["1, 2, 3."])
        await self.group()
        await self.thread(private)
        await self.long_text(private)
        await self.files(await self.room("ann"))
        await self.leaves(private)

    async def group(self) -> None:
        room = await self.room("ann", "bob")
        await self.bob.say(room, "count to 9")
        mention = {"m.mentions": {"user_ids": [self.bot.id]}}
        event = await self.bob.say(room, "Avocet: count to 2", **mention)
        [reply] = await self.ann.until(room, self.bot.id, 1)
        self.assertEqual(reply["body"], "1, 2.")
        self.assertEqual(reply["m.relates_to"], {"m.in_reply_to": {"event_id": event}})

    async def thread(self, room: str) -> None:
        root = await self.ann.say(room, "count to 1")
        await self.bodies(room, 2)
        relation = {"rel_type": "m.thread", "event_id": root}
        await self.ann.say(room, "count to 2", **{"m.relates_to": relation})
        replies = await self.ann.until(room, self.bot.id, 3)
        self.assertEqual(replies[-1]["m.relates_to"]["event_id"], root)
        # The edit of an answered message is not answered again.
        edit = {"m.new_content": {"msgtype": "m.text", "body": "count to 5"}}
        await self.ann.say(
            room,
            "* count to 5",
            **edit,
            **{"m.relates_to": {"rel_type": "m.replace", "event_id": root}},
        )
        await self.ann.say(room, "count to 4")
        self.assertEqual((await self.bodies(room, 4))[-1], "1, 2, 3, 4.")

    async def long_text(self, room: str) -> None:
        before = len(await self.bodies(room, 0))
        text = "\n\n".join(f"{number} Größe 🦩 **b** " * 30 for number in range(60))
        await self.client.send(f"external:matrix:{room.replace(':', '%3A')}", text)
        parts: list[str] = []
        async with asyncio.timeout(60):
            while not any("59 Größe" in part for part in parts):
                parts = (await self.bodies(room, before + 1))[before:]
        self.assertGreater(len(parts), 5)
        self.assertEqual(" ".join(parts).split(), text.replace("**", "").split())

    async def files(self, room: str) -> None:
        content = random.Random(1).randbytes(300_000)
        path = "/_matrix/media/v3/upload?filename=data.bin"
        kept = await self.ann.call("POST", path, content, "application/octet-stream")
        more = {"filename": "data.bin", "url": kept["content_uri"], "info": {"size": len(content)}}
        await self.ann.say(room, "count to 1", **{**more, "msgtype": "m.file"})
        await self.bodies(room, 1)
        workspace = self.home.path / ".local/state/avocet/workspace"
        [saved] = [
            each for each in workspace.rglob("*") if each.is_file() and each.read_bytes() == content
        ]
        name = str(saved.relative_to(workspace))
        await self.ann.say(room, f"message {json.dumps({'files': [name]})}")
        async with asyncio.timeout(60):
            while not (
                sent := [
                    each
                    for each in await self.ann.until(room, self.bot.id, 2)
                    if each["msgtype"] == "m.file"
                ]
            ):
                await asyncio.sleep(0.05)
        media = sent[0]["url"].removeprefix("mxc://")
        got = await self.ann.call("GET", f"/_matrix/client/v1/media/download/{media}")
        self.assertEqual(got, content)

    async def leaves(self, room: str) -> None:
        """A message to a room that the agent was put out of becomes a failed message."""
        kick = {"user_id": self.bot.id, "reason": "out"}
        await self.ann.call("POST", f"/_matrix/client/v3/rooms/{room}/kick", kick)
        await self.client.send(f"external:matrix:{room.replace(':', '%3A')}", "hello")
        async with asyncio.timeout(60):
            while not (letters := await self.client.failed_messages()):
                await asyncio.sleep(0.05)
        self.assertIn("M_FORBIDDEN", letters[0]["error"] or "")


class LoginTest(MatrixTest):
    async def test_synapse_accepts_a_login_and_an_answer_after_its_restart(self) -> None:
        settings = (
            self.program.config.read_text() + f'user = "{self.bot.id}"\nsession_file = "s.json"\n'
        )
        self.program = Program(self.home.path, settings, AVOCET_MATRIX_PASSWORD="correct horse")
        del self.program.environment["AVOCET_MATRIX_TOKEN"]
        self.addAsyncCleanup(self.program.remove)
        await self.begin()
        room = await self.room("ann")
        await self.ann.say(room, "count to 1")
        await self.bodies(room, 1)
        self.assertEqual(await self.program.end(signal.SIGTERM), 0, self.program.log)
        await self.server.server.end()
        await self.server.start()
        await self.ann.say(room, "count to 2")
        await self.begin()
        self.assertEqual(await self.bodies(room, 2), ["1.", "1, 2."])


class ChildTest(MatrixTest):
    async def test_child_in_its_sandbox_serves_synapse(self) -> None:
        table = child_table(
            "matrix",
            ["-m", "avocet_matrix", "--config", str(self.program.config)],
            plugin=PLUGIN,
            ports=[self.server.port],
            read=[self.program.config],
            AVOCET_MATRIX_TOKEN=self.bot.token,
        )
        await asyncio.to_thread(self.home.restart_with, table + ALLOWED)
        await true(lambda: any(READY in line for line in self.home.log), "the child serves")
        room = await self.room("ann")
        await self.ann.say(room, "count to 3")
        self.assertEqual(await self.bodies(room, 1), ["1, 2, 3."])


if __name__ == "__main__":
    unittest.main()
