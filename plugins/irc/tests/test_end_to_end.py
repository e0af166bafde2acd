"""The program between the strict server and the real daemon."""

import asyncio
import signal
import unittest

from fake_server import Options, Person
from irc_support import CONFIG, IrcTest


class ConversationTest(IrcTest):
    async def test_message_in_private_gets_a_reply_in_private(self) -> None:
        await self.started()
        self.server.say("ann", "avocet", "\x02count\x02 to \x0304,01\x16\x0f3\x03")
        await self.says("ann", "1, 2, 3.")
        turns = await self.client.turns("external:irc:ann")
        self.assertEqual(len(turns), 1)

    async def test_message_in_a_channel_needs_the_nickname_and_gets_a_reply_there(self) -> None:
        await self.started()
        self.server.say("bob", "#room", "count to 9")
        self.server.say("bob", "#room", "avocets: count to 8")
        said = self.server.say("bob", "#Room", "AVOCET, count to 2")
        await self.says("#room", "1, 2.")
        self.assertIn(said.msgid, self.server.received[0].tags)
        self.server.say(
            "bob", "#room", "count to 1", tags=f"+draft/reply={self.server.received[0].msgid}"
        )
        await self.says("#room", "1, 2.", "1.")

    async def test_notices_bots_and_requests_of_clients_get_no_reply(self) -> None:
        await self.started()
        for text, command, tags in [
            ("count to 9", "NOTICE", ""),
            ("\x01VERSION\x01", "PRIVMSG", ""),
            ("\x01DCC SEND virus.exe 1 2 3\x01", "PRIVMSG", ""),
            ("\x02\x02", "PRIVMSG", ""),
        ]:
            self.server.say("ann", "avocet", text, command, tags)
        self.server.people["robot"] = Person(account="robot")
        self.server.say("robot", "avocet", "count to 9", tags="bot")
        self.server.say("ann", "avocet", "count to 1")
        await self.says("ann", "1.")
        self.assertEqual(self.server.texts("robot"), [])

    async def test_stranger_gets_a_code_and_a_taken_nickname_gets_no_access(self) -> None:
        await self.started()
        # Eve has taken the nickname of an owner, but not the account.
        self.server.people["ann"] = Person(host="evil.example")
        self.server.say("ann", "avocet", "count to 3")
        await self.server.until(lambda: self.server.texts("ann"), "a code")
        self.assertIn("pair", " ".join(self.server.texts("ann")))

    async def test_private_reply_waits_while_another_person_has_the_nickname(self) -> None:
        program = await self.started()
        self.server.people["ann"] = Person(host="evil.example")
        await self.client.send("external:irc:ann", "a secret")
        await program.logs("another person has the nickname ann now")
        self.assertEqual(self.server.texts("ann"), [])
        self.server.people["ann"] = Person(account="ann")
        await self.says("ann", "a secret")

    async def test_long_answer_becomes_lines_that_fit_with_the_prefix(self) -> None:
        self.server.options.host = "a.very.long.host.example." + "x" * 30
        await self.started()
        text = "Größe 🦩 " * 150 + "\n\nsecond\ttab\r\nQUIT :x"
        await self.client.send("external:irc:#room", text)
        await self.server.until(lambda: "QUIT :x" in self.server.texts("#room"), "the last line")
        sent = " ".join(self.server.texts("#room"))
        self.assertEqual(sent.split(), text.split())
        self.assertEqual(len(self.server.clients), 1)

    async def test_styles_become_control_codes_and_choices_a_list(self) -> None:
        await self.started()
        await self.client.send("external:irc:ann", "a **b** *i* `c` [x](https://e.example/)")
        await self.says("ann", "a \x02b\x02 \x1di\x1d \x11c\x11 x <https://e.example/>")

    async def test_notice_and_plain_settings_are_used(self) -> None:
        await self.started(send_as="notice", formatting="plain")
        await self.client.send("external:irc:#room", "a **b**")
        await self.says("#room", "a b")
        self.assertEqual(self.server.received[0].command, "NOTICE")

    async def test_typing_is_shown_while_the_agent_works(self) -> None:
        await self.started()
        self.server.say("ann", "avocet", "count to 40")
        await self.server.until(lambda: "ann" in self.server.typing, "typing")

    async def test_names_with_odd_characters_are_chats_and_come_back(self) -> None:
        await self.started("--channels=#a:b..c")
        await self.server.until(
            lambda: "#a:b..c" in self.server.clients[0].joined, "the second channel"
        )
        self.server.say("bob", "#A:B..c", "avocet: count to 1")
        await self.says("#a:b..c", "1.")
        self.server.people["[x]\\y"] = Person(account="cat")
        self.server.say("[x]\\y", "avocet", "count to 1")
        await self.server.until(lambda: "1." in self.server.texts("{x}|y"), "the reply")

    async def test_chat_that_cannot_be_reached_becomes_a_failed_message(self) -> None:
        await self.started()
        await self.client.send("external:irc:#other", "hello")
        self.server.options.faults = ["404"]
        await self.client.send("external:irc:#room", "banned")
        await self.client.send("external:irc:#room", "welcome")
        await self.server.until(lambda: "welcome" in self.server.texts("#room"), "the next message")
        errors = " ".join(letter["error"] or "" for letter in await self.client.failed_messages())
        self.assertIn("the agent is not in #other; add it to `channels`", errors)
        self.assertIn("the server refuses a message to #room: Not now", errors)

    async def test_busy_server_gets_the_message_again_without_a_mark(self) -> None:
        await self.started()
        self.server.options.faults = ["263"]
        await self.client.send("external:irc:#room", "hello")
        await self.says("#room", "hello")

    async def test_sigterm_ends_in_order(self) -> None:
        program = await self.started()
        self.assertEqual(await program.end(signal.SIGTERM), 0)
        farewell = "QUIT :the program was stopped"
        await self.server.until(lambda: farewell in self.server.lines, farewell)


class FloodTest(IrcTest):
    def options(self) -> Options:
        return Options(flood=(5, 0.05))

    async def test_many_lines_keep_the_limit_of_the_server(self) -> None:
        await self.started(burst=5, seconds_per_line=0.05)
        lines = [f"line {number}" for number in range(20)]
        await self.client.send("external:irc:#room", "\n\n".join(lines))
        await self.server.until(lambda: "line 19" in self.server.texts("#room"), "the last line")
        self.assertEqual(self.server.connections, 1)


class PlainServerTest(IrcTest):
    """A server without capabilities."""

    def options(self) -> Options:
        return Options(
            caps={"account-tag": ""}, support="CASEMAPPING=ascii CHANTYPES=#", has_msgids=False
        )

    async def test_program_works_and_says_that_messages_may_be_lost(self) -> None:
        program = await self.started()
        await program.logs(
            "messages that people write while this program is not connected are lost"
        )
        for number in (1, 1):
            self.server.say("ann", "avocet", f"count to {number}")
        await self.says("ann", "1.", "1.")
        self.assertEqual(self.server.typing, [])

    async def test_message_during_an_absence_of_the_daemon_waits_in_the_program(self) -> None:
        program = await self.started()
        await program.logs("are lost")
        await asyncio.to_thread(self.home.kill)
        self.server.say("ann", "avocet", "count to 1")
        self.server.say("ann", "avocet", "count to 2")
        await program.logs("2 messages wait")
        await asyncio.to_thread(self.home.start)
        await self.says("ann", "1.", "1, 2.")

    async def test_identity_nick_names_people_by_their_nickname(self) -> None:
        await self.started(identity="nick")
        self.server.people["cat"] = Person()
        self.server.say("cat", "avocet", "count to 1")
        await self.says("cat", "1.")


class BouncerTest(IrcTest):
    """A server that sends old messages unasked, without ids."""

    def options(self) -> Options:
        caps = dict.fromkeys(("account-tag", "batch", "server-time", "message-tags"), "")
        return Options(caps=caps, has_msgids=False)

    async def test_old_message_that_comes_twice_is_answered_once(self) -> None:
        await self.started()
        # A message that is much older would come to the model with a remark about its time.
        now, _ = self.server.stamp()
        line = f"@batch=1;time={now};account=ann :ann!u@h PRIVMSG avocet :count to 1"
        for _ in range(2):
            for each in (":znc BATCH +1 znc.in/playback ann", line, ":znc BATCH -1"):
                self.server.clients[0].send(each)
        await self.says("ann", "1.")
        self.server.say("ann", "avocet", "count to 2")
        await self.says("ann", "1.", "1, 2.")


class ClientTest(IrcTest):
    """A program with the rights of a client only."""

    config = (
        CONFIG + '[gateway.clients.irc]\nrole = "channel"\nchats = ["external:irc:*"]\n'
        'token = "0123456789abcdef"\n'
    )

    async def test_client_with_a_token_serves_the_account(self) -> None:
        environment = {"AVOCET_IRC_TOKEN": "0123456789abcdef"}
        program = self.program(environment=environment, client="irc")
        await program.start()
        await self.in_room()
        self.server.say("ann", "avocet", "count to 1")
        await self.says("ann", "1.")
        self.assertNotIn("0123456789abcdef", "".join(program.log))

    async def test_wrong_token_ends_the_program_without_showing_it(self) -> None:
        path = self.home.path / "token"
        path.write_text("fedcba9876543210\n")
        program = self.program(client="irc", token_file=path, log="debug")
        await program.start()
        self.assertEqual(await program.status(), 78)
        self.assertIn("the daemon refuses this program", "".join(program.log))
        self.assertNotIn("fedcba9876543210", "".join(program.log))


class NoDaemonTest(IrcTest):
    with_daemon = False

    async def test_program_waits_for_the_daemon_and_ends_on_sigterm(self) -> None:
        program = self.program()
        await program.start()
        await program.logs("start the daemon with `avocet run`")
        self.assertEqual(self.server.connections, 0)
        self.assertEqual(await program.end(signal.SIGTERM), 0)


if __name__ == "__main__":
    unittest.main()
