"""Odd lines of the daemon. The daemon is a script on a Unix socket."""

import asyncio
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from support import soon

from avocet_client import AvocetError, Client

ODD_LINES = [
    b"no JSON",
    b"null",
    b"[]",
    b"17",
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "2.0", "id": ["a"], "result": 1}',
    b'{"jsonrpc": "2.0", "id": {}, "error": "odd"}',
    b'{"jsonrpc": "2.0", "id": 99, "result": 1}',
    b"\xff\xfe",
    b"[" * 50_000,
]
DELIVERY = {"id": "o1", "chat": "external:irc:c1", "text": "good", "new": {"field": [1]}}


class OddLinesTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.socket = str(Path(directory.name) / "avocet.sock")
        self.answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.connections = 0
        server = await asyncio.start_unix_server(self.serve, self.socket)
        self.addCleanup(server.close)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer each request behind odd lines, and send messages after `attach`."""
        self.connections += 1
        while line := await reader.readline():
            request = json.loads(line)
            if "method" not in request:
                self.answers.put_nowait(request)
                continue
            for odd in ODD_LINES:
                writer.write(odd + b"\n")
            answer: dict[str, Any] = {"id": request["id"], "result": {"new": 1}, "error": None}
            if request["method"] == "fail":
                answer = {"id": request["id"], "error": ["odd"]}
            writer.write(json.dumps(answer).encode() + b"\n")
            if request["method"] == "attach":
                for number, params in enumerate(([], {"id": "o0", "chat": "c"}, DELIVERY)):
                    message = {"id": f"d{number}", "method": "deliver", "params": params}
                    writer.write(json.dumps(message).encode() + b"\n")
        writer.close()

    async def test_answers_arrive_behind_odd_lines(self) -> None:
        async with Client(self.socket) as client:
            with self.assertLogs("avocet_client", "WARNING") as logged:
                self.assertEqual(await soon(client.call("ping")), {"new": 1})
                with self.assertRaisesRegex(AvocetError, "an error that cannot be read"):
                    await soon(client.call("fail"))
            self.assertEqual(self.connections, 1)
        self.assertIn("no JSON", logged.output[0])

    async def test_odd_deliveries_are_refused_and_the_next_one_arrives(self) -> None:
        async with Client(self.socket) as client:
            with self.assertLogs("avocet_client", "WARNING"):
                async with client.channel("irc") as channel:
                    delivery = await soon(anext(channel))
                    self.assertEqual((delivery.text, delivery.repeat), ("good", False))
                    await delivery.confirm()
                    answers = [await soon(self.answers.get()) for _ in range(3)]
        self.assertEqual([answer["id"] for answer in answers], ["d0", "d1", "d2"])
        self.assertTrue(all("cannot read" in one["error"]["message"] for one in answers[:2]))
        self.assertEqual(answers[2]["result"], {})


if __name__ == "__main__":
    unittest.main()
