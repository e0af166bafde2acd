"""Lost connections, refused logins and hostile lines."""

import asyncio
import signal
import ssl
import unittest

from fake_server import CAPS, FakeServer, Options
from irc_support import ROOT, IrcTest, Program

CERTIFICATES = ROOT / "tests/e2e/certificates"


def answer(number: int) -> str:
    """Return the answer to `count to NUMBER`."""
    return ", ".join(map(str, range(1, number + 1))) + "."


class ReconnectTest(IrcTest):
    async def test_messages_of_an_absence_are_read_once_in_their_order(self) -> None:
        program = await self.started()
        self.server.say("ann", "avocet", "count to 1")
        await self.says("ann", "1.")
        await program.end(signal.SIGTERM)
        # More than two pages of the history.
        for number in range(120):
            self.server.say("bob", "#room", f"not for the agent {number}")
        self.server.say("bob", "#room", "avocet: count to 2")
        self.server.say("ann", "avocet", "count to 3")
        self.server.say("ann", "avocet", "count to 4")
        await program.start()
        await self.says("ann", "1.", answer(3), answer(4))
        await self.says("#room", "1, 2.")
        await program.end(signal.SIGTERM)
        await program.start()
        await program.logs("read 125 messages")
        self.server.say("ann", "avocet", "count to 1")
        await self.says("ann", "1.", answer(3), answer(4), "1.")

    async def test_first_message_survives_a_kill_before_its_commit(self) -> None:
        program = await self.started()
        await self.server.until(
            lambda: any("WHOIS" in line for line in self.server.lines), "the registration"
        )
        await self.position()
        await asyncio.to_thread(self.home.kill)
        self.server.say("ann", "avocet", "count to 2")
        await program.logs("1 messages wait")
        await program.end(signal.SIGKILL)
        await asyncio.to_thread(self.home.start)
        await program.start()
        await self.says("ann", "1, 2.")

    async def position(self) -> None:
        """Wait until the daemon has a position."""
        async with asyncio.timeout(20):
            while True:
                async with self.client.channel("irc") as channel:
                    if channel.cursors:
                        return
                await asyncio.sleep(0.01)

    async def test_silent_server_is_left_and_joined_again(self) -> None:
        program = await self.started(ping_seconds=0.2, timeout_seconds=0.5)
        self.server.options.is_silent = True
        await program.logs("the server sent nothing for 0.5 s")
        self.server.options.is_silent = False
        await self.in_room()
        self.server.say("ann", "avocet", "count to 1")
        await self.says("ann", "1.")

    async def test_server_that_is_away_is_tried_again(self) -> None:
        await self.server.stop()
        program = self.program()
        await program.start()
        await program.logs("cannot connect to 127.0.0.1")
        await self.server.start()
        await self.in_room()

    async def test_nickname_in_use_is_shortened_for_a_server_with_short_nicknames(self) -> None:
        self.server.options.longest_nick = 9
        self.server.options.taken = {"my-avocet"}
        program = await self.started(nick="my-avocet")
        await program.logs("registered on 127.0.0.1 as my-avo")
        self.server.say("ann", self.server.clients[0].nick, "count to 1")
        await self.says("ann", "1.")

    async def test_nickname_in_use_is_replaced_and_taken_back(self) -> None:
        self.server.options.taken = {"Avocet"}
        program = await self.started(ping_seconds=0.2)
        self.server.say("bob", "#room", "avocet_: count to 1")
        self.server.say("bob", "#room", "avocet: count to 2")
        await self.says("#room", "1.", "1, 2.")
        self.server.options.taken = set()
        await program.logs("the nickname is now avocet")
        self.server.say("ann", "avocet", "count to 1")
        await self.says("ann", "1.")

    async def test_kick_is_followed_by_another_join(self) -> None:
        program = await self.started("--channels=#secret key", ping_seconds=0.2)
        client = self.server.clients[0]
        client.joined.discard("#room")
        client.send(":op!o@h KICK #room avocet :\x1b[31mout\x85now")
        await self.in_room()
        await self.client.send("external:irc:#secret", "hello")
        await self.says("#secret", "hello")
        self.assertIn("op has kicked the agent from #room: ?[31mout?now\n", "".join(program.log))

    async def test_hostile_lines_do_not_end_the_program(self) -> None:
        program = await self.started()
        client = self.server.clients[0]
        for line in [
            b"\xff\xfe\x00:@!\r\n",
            b"@\r\n:\r\n :\r\n@a=\\\\ :x\r\n",
            b":ann!u@h PRIVMSG\r\n:ann!u@h PRIVMSG avocet\r\n",
            b"CAP\r\nNICK\r\nKICK\r\n005\r\n433\r\n401\r\nBATCH\r\nBATCH -x\r\nJOIN\r\n",
            b"AUTHENTICATE\r\nGONE\r\nMESSAGE\r\n",
            b":" + b"x" * 200_000 + b"\r\n",
            b":\x1b[31m!\x07@\x00 PRIVMSG #room :avocet: hi\x00\x01\r\n",
            b"@time=9999-99-99T99:99:99Z;msgid=../../x :eve!e@h PRIVMSG #room :avocet: hi\r\n",
            b"@account=client:root;msgid=1 :eve!e@h PRIVMSG #room :avocet: hi\r\n",
            b":avocet!a@b PRIVMSG avocet :count to 9\r\n",
            b":irc.test PRIVMSG avocet :count to 9\r\n",
            b":" + b"n" * 400 + b"!u@h PRIVMSG avocet :count to 9\r\n",
            b"@account=ann :ann!u@h PRIVMSG avocet :count to 1\r\n",
        ]:
            client.raw(line)
        await self.says("ann", "1.")
        self.assertEqual(self.server.connections, 1)
        self.assertNotIn("Traceback", "".join(program.log))


class TimestampTest(IrcTest):
    """A server whose old messages are found by their time only."""

    def options(self) -> Options:
        options = Options(has_msgids=False)
        options.support += " MSGREFTYPES=timestamp"
        return options

    async def test_pages_of_old_messages_are_read_by_their_times(self) -> None:
        program = await self.started()
        self.server.say("ann", "avocet", "count to 1")
        await self.says("ann", "1.")
        await program.end(signal.SIGTERM)
        for number in range(120):
            self.server.say("bob", "#room", f"not for the agent {number}")
        self.server.say("bob", "#room", "avocet: count to 2")
        await program.start()
        await self.says("#room", "1, 2.")
        await self.says("ann", "1.")


class LoginTest(IrcTest):
    with_daemon = False

    def options(self) -> Options:
        return Options(accounts={"bot": "pass word"}, password="let me in")

    async def assert_ends(self, program: Program, text: str) -> None:
        await program.start()
        self.assertEqual(await program.status(), 78)
        self.assertIn(text, "".join(program.log))

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        await asyncio.to_thread(self.home.start)

    async def test_login_with_sasl_and_a_server_password_works(self) -> None:
        environment = {
            "AVOCET_IRC_SASL_PASSWORD": "pass word",
            "AVOCET_IRC_SERVER_PASSWORD": "let me in",
        }
        program = self.program(environment=environment, sasl_user="bot", log="debug")
        await program.start()
        await self.in_room()
        self.assertEqual(self.server.clients[0].account, "bot")
        self.assertNotIn("pass word", "".join(program.log))
        self.assertNotIn("let me in", "".join(program.log))

    async def test_long_password_is_sent_in_parts(self) -> None:
        # The encoded texts have 400, 800 and 804 characters.
        for length in (292, 592, 593):
            self.server.options.accounts["bot"] = "x" * length
            environment = {
                "AVOCET_IRC_SASL_PASSWORD": "x" * length,
                "AVOCET_IRC_SERVER_PASSWORD": "let me in",
            }
            program = self.program(environment=environment, sasl_user="bot")
            await program.start()
            await self.in_room()
            self.assertEqual(await program.end(signal.SIGTERM), 0)
            await self.server.until(lambda: not self.server.clients, "the end")

    async def test_refused_login_ends_the_program_with_the_reason(self) -> None:
        environment = {
            "AVOCET_IRC_SASL_PASSWORD": "wrong",
            "AVOCET_IRC_SERVER_PASSWORD": "let me in",
        }
        program = self.program(environment=environment, sasl_user="bot")
        await self.assert_ends(
            program, "the server refuses the login of bot: SASL authentication failed"
        )
        self.assertNotIn("wrong", "".join(program.log))

    async def test_refused_server_password_ends_the_program_with_the_reason(self) -> None:
        program = self.program(environment={"AVOCET_IRC_SERVER_PASSWORD": "wrong"})
        await self.assert_ends(program, "the server refuses the password: Password incorrect")

    async def test_server_without_accounts_is_refused_with_the_other_identities(self) -> None:
        self.server.options.password = ""
        del self.server.options.caps["account-tag"]
        await self.assert_ends(self.program(), 'set `identity` to "nick"')

    async def test_server_without_sasl_is_tried_again(self) -> None:
        self.server.options.password = ""
        caps = dict(CAPS)
        del self.server.options.caps["sasl"]
        program = self.program(
            environment={"AVOCET_IRC_SASL_PASSWORD": "pass word"}, sasl_user="bot"
        )
        await program.start()
        await program.logs("the server offers no login with SASL now")
        self.server.options.caps = caps
        await self.in_room()

    async def test_account_without_a_table_ends_the_program(self) -> None:
        await self.assert_ends(self.program(account="other"), "the daemon refuses this program")


class TlsTest(IrcTest):
    def tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(CERTIFICATES / "localhost.pem")
        return context

    async def test_certificate_of_a_known_authority_is_accepted(self) -> None:
        program = self.program("--tls", server="localhost", ca_file=CERTIFICATES / "authority.pem")
        await program.start()
        await self.in_room()
        self.server.say("ann", "avocet", "count to 1")
        await self.says("ann", "1.")

    async def test_other_certificates_are_refused_before_anything_is_sent(self) -> None:
        # The server's side of a refused connection would be printed.
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        for settings, reason in [
            ({"server": "localhost"}, "its certificate is not valid"),
            (
                {"server": "127.0.0.1", "ca_file": CERTIFICATES / "authority.pem"},
                "IP address mismatch",
            ),
        ]:
            environment = {"AVOCET_IRC_SERVER_PASSWORD": "let me in"}
            program = self.program("--tls", environment=environment, **settings)
            await program.start()
            await program.logs(reason)
            await program.end(signal.SIGTERM)
        self.assertEqual(self.server.lines, [])

    async def test_missing_file_of_certificates_ends_the_program(self) -> None:
        program = self.program("--tls", ca_file="/none.pem")
        await program.start()
        self.assertEqual(await program.status(), 78)
        self.assertIn("cannot read `ca_file` /none.pem", "".join(program.log))

    async def test_tls_to_a_plain_server_is_refused_with_a_hint(self) -> None:
        plain = FakeServer()
        await plain.start()
        self.addAsyncCleanup(plain.stop)
        plain.options.is_silent = True
        program = self.program("--tls", port=plain.port, timeout_seconds=0.5)
        await program.start()
        await program.logs("cannot connect to 127.0.0.1")
        self.assertFalse(any("NICK" in line for line in plain.lines), plain.lines)


if __name__ == "__main__":
    unittest.main()
