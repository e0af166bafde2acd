"""A program that the daemon starts as a child, and connections through the proxy of its sandbox."""

import asyncio
import os
import unittest
from pathlib import Path
from unittest import mock

from support import PYTHON, SOURCES, DaemonTest, soon, until

from avocet_client import AvocetError, Client, network
from avocet_client.stdio import VARIABLE

HERE = Path(__file__).resolve().parent
CHAT = "external:chat:c1"


class ChildTest(DaemonTest):
    def setUp(self) -> None:
        # The home is known before the daemon starts.
        self.config = f"""
            [channels.chat]
            owners = ["ann"]
            command = ["{PYTHON}", "-B", "{HERE / "child.py"}"]
            env = {{ PYTHONPATH = "{SOURCES}" }}
            read = ["{HERE}", "{SOURCES}"]
            write = ["../../platform"]
        """
        with mock.patch("support.Home.start", make_platform):
            super().setUp()
        self.home.start()

    async def texts(self, number: int) -> list[str]:
        async def enough() -> list[str] | None:
            file = self.home.path / "platform/texts"
            found = file.read_text().splitlines() if file.exists() else []
            return found if len(found) >= number else None

        return await until(enough)

    async def fault(self) -> str | None:
        channels = (await self.client.status())["channels"]
        found = [one["fault"] for one in channels if one["account"] == "external:chat"]
        return found[0]

    async def test_child_is_served_and_its_prints_are_logged(self) -> None:
        self.assertEqual(await self.texts(1), ["1, 2."])
        # The first delivery has ended the fault.

        async def is_up() -> bool | None:
            return await self.fault() is None or None

        await until(is_up)
        log = "".join(self.home.log)
        self.assertIn("the platform is away", log)
        self.assertIn("the program of the channel: a print of a library", log)
        self.assertIn("the program of the channel: an echo", log)
        self.assertEqual(log.count("a line that is no message"), 1, log)
        await soon(asyncio.to_thread(self.home.stop))
        self.assertIn("the daemon has closed the input", "".join(self.home.log))

    async def test_child_gets_buttons_as_text_and_may_ask_for_a_pause(self) -> None:
        await self.texts(1)
        await self.client.send(CHAT, "wait a moment")
        self.assertEqual((await self.texts(3))[1:], ["wait a moment"] * 2)
        async with self.client.channel("chat") as channel:
            self.assertEqual(channel.cursors, {"": "5"})


def make_platform(home: object) -> None:
    """Make the directory of the platform, instead of the first start."""
    (home.path / "platform").mkdir()  # type: ignore[attr-defined]


class StartedTest(unittest.IsolatedAsyncioTestCase):
    async def test_channel_of_another_account_is_refused(self) -> None:
        streams = open(os.devnull, "rb"), open(os.devnull, "wb")
        for stream in streams:
            self.addCleanup(stream.close)
        with (
            mock.patch.dict(os.environ, {VARIABLE: "external:chat"}),
            mock.patch("avocet_client.stdio._taken", streams),
        ):
            with self.assertRaisesRegex(AvocetError, "for the account 'chat'"):
                Client().channel("irc")
        with self.assertRaisesRegex(AvocetError, "name the account"):
            Client().channel()


class ProxyTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.heads: list[str] = []
        self.answer = b"HTTP/1.1 200 OK\r\n\r\nhello"
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.addCleanup(self.server.close)
        proxy = "http://127.0.0.1:{}".format(self.server.sockets[0].getsockname()[1])
        self.inside = {VARIABLE: "external:irc", "HTTPS_PROXY": proxy, "NO_PROXY": "localhost"}
        self.inside["https_proxy"] = proxy

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(self.answer)
        writer.close()

    async def test_open_connection_passes_the_proxy(self) -> None:
        with mock.patch.dict(os.environ, self.inside):
            reader, writer = await network.open_connection("irc.example", 6697, timeout=60)
            self.assertEqual(await soon(reader.read()), b"hello")
            writer.close()
        self.assertTrue(self.heads[0].startswith("CONNECT irc.example:6697 HTTP/1.1\r\n"))

    async def test_create_connection_names_a_refusal(self) -> None:
        self.answer = b"HTTP/1.1 403 irc.example:6697 is not one of the hosts\r\n\r\n"
        with mock.patch.dict(os.environ, self.inside):
            with self.assertRaisesRegex(ConnectionRefusedError, "is not one of the hosts; add it"):
                await asyncio.to_thread(network.create_connection, ("irc.example", 6697), 60)
            self.assertIsNone(network.proxy_for("localhost"))
        self.assertIsNone(network.proxy_for("irc.example"))

    async def test_open_connection_is_direct_outside_of_a_sandbox(self) -> None:
        port = self.server.sockets[0].getsockname()[1]
        reader, writer = await network.open_connection("127.0.0.1", port)
        writer.write(b"GET\r\n\r\n")
        self.assertTrue((await soon(reader.read())).endswith(b"hello"))
        writer.close()


if __name__ == "__main__":
    unittest.main()
