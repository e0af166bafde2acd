"""The IRC channel against ngircd.

IRC servers keep no messages. The judge counts the questions that the server has sent to the channel.
One that the channel has read dies with it if it is killed before the daemon has committed it; the
judge excuses this case only.
"""

import asyncio
import contextlib
import signal
import unittest

from real import KILLS, Judge, Seen, after, all_answered, committed, question, seeded, true, use

PLUGIN = use("irc")

from irc_server import Ngircd, Person, Wire  # noqa: E402
from irc_support import Program  # noqa: E402
from support import DaemonTest, child_table  # noqa: E402

MARK = "(sent again; it may have arrived before)"
NICK = "avocet"
ROOMS = ("#room", "#den")
ALLOWED = 'owners = ["ann"]\nallow = ["bob", "cat", "dan"]\n'


class IrcTest(DaemonTest):
    """A test with the daemon, the server, the channel and people."""

    config = f"[channels.external.irc]\n{ALLOWED}"
    limits = ""

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.server = Ngircd(self.limits)
        self.addAsyncCleanup(self.server.remove)
        await self.server.start()
        self.wire = Wire(self.server.port)
        await self.wire.start()
        self.addAsyncCleanup(self.wire.stop)
        self.people = {nick: Person(self.server.port, nick, *ROOMS) for nick in ("ann", "bob", "cat")}
        for person in self.people.values():
            await person.start()
            self.addAsyncCleanup(person.end)
        self.ann = self.people["ann"]
        self.program = Program(self.arguments(), {})
        self.addAsyncCleanup(self.program.remove)

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

    async def test_ngircd_cuts_no_line_of_a_long_text(self) -> None:
        await self.program.start()
        await self.in_rooms()
        text = "Größe 🦩 " * 150 + "\n\nsecond\ttab\r\nQUIT :x"
        for chat in ("#room", "ann"):
            await self.client.send(f"external:irc:{chat}", text)
            await true(
                lambda chat=chat: any("QUIT" in each for each in self.ann.texts(chat)), "the last line"
            )
            self.assertEqual(" ".join(self.ann.texts(chat)).split(), text.split())
        self.assertIn(NICK, self.ann.here["#room"])

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


class KillTest(IrcTest):
    # The people of this test write more than a server allows one client.
    limits = "MaxPenaltyTime = 0"

    def arguments(self) -> list[str]:
        return [*super().arguments(), "--burst=50", "--seconds-per-line=0"]

    async def test_fifty_kills_lose_nothing_and_double_nothing_unmarked(self) -> None:
        chance = seeded()
        self.judge = Judge()
        self.chats = {
            **{nick: (self.people[nick], NICK, "") for nick in self.people},
            "#room": (self.people["ann"], "#room", "avocet: "),
            "#den": (self.people["bob"], "#den", "avocet: "),
        }
        self.wire.on_line = self.passed
        for name, (person, _, _) in self.chats.items():
            self.judge.chat(name)
            person.on_message = None
        for nick, person in self.people.items():
            person.on_message = lambda target, text, nick=nick: self.got(nick, target, text)
        await self.program.start()
        await self.in_rooms()
        asking = asyncio.create_task(self.ask_all())
        kills = {"program": 15, "daemon": 15, "cut": 12, "oper": 4, "server": 4}
        order = [kind for kind, count in kills.items() for _ in range(count)]
        chance.shuffle(order)
        for number in range(KILLS):
            await after(lambda: self.wire.lines, chance, 60)
            await self.kill(order[number % len(order)])
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
        await all_answered(self.client, self.judge)
        # A last question for each chat: nothing of before is still on its way.
        asked = {name: len(self.judge.chat(name).asked) for name in self.chats}
        for name in self.chats:
            self.ask(name)
        await true(
            lambda: all(len(self.judge.chat(name).asked) > count for name, count in asked.items()),
            "the last questions",
        )
        await all_answered(self.client, self.judge)
        print(f"ngircd: {KILLS} kills, {self.judge.summary()}", flush=True)
        self.assertEqual(self.judge.faults(), [])

    def passed(self, line: str) -> None:
        """Note a question that the channel's side of the wire has got."""
        _, is_message, text = line.partition(" :")
        target = line.split(" ")[2] if line.count(" ") > 2 else ""
        if " PRIVMSG " in line and is_message and "remember the number" in text:
            nick = line[1:].partition("!")[0]
            chat = self.judge.chat(target if target.startswith("#") else nick)
            chat.asked.append(int(text.split()[-1]))

    def got(self, nick: str, target: str, text: str) -> None:
        """Note a text of the agent. The first person of a room reports it."""
        name = target if target.startswith("#") else nick
        if self.chats[name][0] is not self.people[nick]:
            return
        seen = self.judge.chat(name).seen
        is_marked = bool(seen) and seen[-1].text == MARK
        seen.append(Seen(text, is_marked))

    def ask(self, name: str) -> None:
        person, target, prefix = self.chats[name]
        person.say(target, prefix + question(self.judge.next()))

    async def ask_all(self) -> None:
        """Ask in all chats, with a few open questions in each."""
        while True:
            for name in self.chats:
                if len(self.judge.chat(name).open) < 4 and self.is_asking:
                    with contextlib.suppress(OSError):
                        self.ask(name)
            await asyncio.sleep(0.05)

    is_asking = True

    async def kill(self, part: str) -> None:
        """Kill a part, and start it again."""
        if part == "program":
            await self.program.end(signal.SIGKILL)
            self.wire.cut()
            known = await committed(self.client)
            for chat in self.judge.chats.values():
                chat.excused |= {number for number in chat.open if number not in known}
            await self.program.start()
        elif part == "daemon":
            await asyncio.to_thread(self.home.kill)
            await asyncio.to_thread(self.home.start)
        elif part == "cut":
            self.wire.cut()
        elif part == "oper":
            self.people["cat"].write("OPER boss secret")
            self.people["cat"].write(f"KILL {NICK} :enough")
        else:
            await self.restart_server()

    async def restart_server(self) -> None:
        """Kill the server. The people come back before the channel does, since rooms keep nothing."""
        self.wire.close()
        await true(
            lambda: all(NICK not in person.here["#room"] for person in self.people.values()),
            "the agent has left",
        )
        self.is_asking = False
        for person in self.people.values():
            await person.settled()
            await person.end()
        await self.server.server.end()
        await self.server.start()
        for person in self.people.values():
            await person.start()
        self.is_asking = True
        self.wire.open()


if __name__ == "__main__":
    unittest.main()
