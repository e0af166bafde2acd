"""The IRC channel against ngircd."""

import asyncio
import unittest

from real import assert_no_faults, true, use

PLUGIN = use("irc")

from irc_support import Program  # noqa: E402
from support import DaemonTest, child_table  # noqa: E402

from irc_server import Ngircd, Person, Wire  # noqa: E402

NICK = "avocet"
ROOMS = ("#room", "#den")
ALLOWED = 'owners = ["ann"]\nallow = ["bob", "cat", "dan"]\n'


class IrcTest(DaemonTest):
    """A test with the daemon, the server, the channel and people."""

    config = f"[channels.external.irc]\n{ALLOWED}"
    # ngircd lets clients wait after most commands. One class of tests keeps that.
    limits = "MaxPenaltyTime = 0"

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.server = Ngircd(self.limits)
        self.addAsyncCleanup(self.server.remove)
        await self.server.start()
        self.wire = Wire(self.server.port)
        await self.wire.start()
        self.addAsyncCleanup(self.wire.stop)
        self.people = {
            nick: Person(self.server.port, nick, *ROOMS) for nick in ("ann", "bob", "cat")
        }
        for person in self.people.values():
            await person.start()
            self.addAsyncCleanup(person.end)
        self.ann = self.people["ann"]
        self.program = Program(self.arguments(), {})
        self.addAsyncCleanup(self.program.remove)

    async def asyncTearDown(self) -> None:
        assert_no_faults([*self.program.log, *self.home.log])

    def arguments(self) -> list[str]:
        """Return the settings of the channel."""
        settings = {
            "server": "127.0.0.1",
            "port": self.wire.port,
            "nick": NICK,
            "socket": self.home.socket,
            "identity": "nick",
            "longest-pause-seconds": 0.1,
            "seconds-per-line": 0.5,
            "ping-seconds": 1.0,
        }
        rooms = [f"--channels={room}" for room in ROOMS]
        return ["--no-tls", *rooms, *(f"--{name}={value}" for name, value in settings.items())]

    async def in_rooms(self) -> None:
        """Wait until the people see the agent in each room."""
        await true(
            lambda: all(
                NICK in nicks for person in self.people.values() for nicks in person.here.values()
            ),
            "the agent enters the rooms",
        )


class ConversationTest(IrcTest):
    async def test_ngircd_carries_conversations_in_a_room_and_in_private(self) -> None:
        await self.program.start()
        await self.in_rooms()
        await self.program.logs("keeps no messages (draft/chathistory)")
        self.ann.say(NICK, "count to 3")
        await self.ann.says("ann", "1, 2, 3.")
        self.people["bob"].say("#room", "count to 9")
        self.people["bob"].say("#room", "Avocet: count to 2")
        for person in self.people.values():
            await person.says("#room", "1, 2.")
        # A name that the server compares without regard to case.
        self.people["cat"].say("#DEN", "avocet, \x02count\x02 to 1")
        await self.ann.says("#den", "1.")
        self.ann.say(NICK, "\x01VERSION\x01")
        self.ann.say(NICK, "\x01ACTION counts to 1\x01")
        await true(lambda: len(self.ann.texts("ann")) == 2, "the answer to an action")
        self.assertEqual(self.people["bob"].texts("bob"), [])

    async def test_ngircd_and_the_channel_agree_about_absent_people(self) -> None:
        await self.program.start()
        await self.in_rooms()
        await self.client.send("external:irc:dan", "hello")
        await self.program.logs("No such nick")
        dan = Person(self.server.port, "dan", "#room")
        self.addAsyncCleanup(dan.end)
        await dan.start()
        await dan.says("dan", "hello")
        dan.write("NICK dora")
        dan.write("NICK dan")
        self.ann.write("KICK #den avocet :out")
        await true(lambda: NICK not in self.ann.here["#den"], "the agent is out")
        await self.client.send("external:irc:#den", "back")
        await self.ann.says("#den", "back")

    async def test_ngircd_has_another_client_with_the_longest_nickname(self) -> None:
        # A nickname has at most 9 characters here.
        squatter = Person(self.server.port, "my-avocet")
        self.addAsyncCleanup(squatter.end)
        await squatter.start()
        self.program.arguments.append("--nick=my-avocet")
        await self.program.start()
        await self.program.logs("registered on")
        await true(
            lambda: any("avo" in nick for nick in self.ann.here["#room"]), "another nickname"
        )
        (other,) = {nick for nick in self.ann.here["#room"] if "avo" in nick}
        self.ann.say(other, "count to 2")
        await self.ann.says("ann", "1, 2.")
        self.ann.say("#room", f"{other}: count to 1")
        await self.ann.says("#room", "1.")
        squatter.write("QUIT")
        await self.program.logs("the nickname is now my-avocet")


class LongTextTest(IrcTest):
    limits = ""

    async def test_ngircd_cuts_no_line_of_a_long_text(self) -> None:
        await self.program.start()
        await self.in_rooms()
        text = "Größe 🦩 " * 150 + "\n\nsecond\ttab\r\nQUIT :x"
        for chat in ("#room", "ann"):
            await self.client.send(f"external:irc:{chat}", text)
            await true(
                lambda chat=chat: any("QUIT" in each for each in self.ann.texts(chat)),
                "the last line",
            )
            self.assertEqual(" ".join(self.ann.texts(chat)).split(), text.split())
        self.assertIn(NICK, self.ann.here["#room"])


class ChildTest(IrcTest):
    async def test_child_in_its_sandbox_serves_ngircd(self) -> None:
        command = ["-m", "avocet_irc", *self.arguments()]
        table = child_table("irc", command, plugin=PLUGIN, ports=[self.wire.port])
        await asyncio.to_thread(self.home.restart_with, table + ALLOWED)
        await self.in_rooms()
        self.ann.say(NICK, "count to 3")
        await self.ann.says("ann", "1, 2, 3.")
        await asyncio.to_thread(self.home.kill)
        await true(lambda: NICK not in self.ann.here["#room"], "the child ends with the daemon")
        await asyncio.to_thread(self.home.start)
        await self.in_rooms()
        self.ann.say("#room", "avocet: count to 2")
        await self.ann.says("#room", "1, 2.")


if __name__ == "__main__":
    unittest.main()
