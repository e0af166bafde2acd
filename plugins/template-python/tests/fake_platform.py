"""A chat server that speaks JSON lines. Run it, and write to the agent as `ann`.

python3 tests/fake_platform.py [PORT]
"""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any


class FakePlatform:
    """Keeps the messages of people, and the answers of the agent."""

    def __init__(self, on_answer: Callable[[dict[str, Any]], None] = lambda _: None) -> None:
        self.messages: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []
        # The number of answers that are kept without a confirmation; then the connection ends.
        self.unconfirmed = 0
        self._on_answer = on_answer
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self, port: int = 0) -> int:
        """Listen, and return the port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        return int(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        """End all connections, and listen no more."""
        self._server.close()
        for writer in self._writers:
            writer.close()

    def is_connected(self) -> bool:
        """Return `True` if a program follows the messages."""
        return bool(self._writers)

    def write(self, sender: str, text: str, chat: str = "lobby") -> None:
        """Write a message as a person."""
        number = str(len(self.messages) + 1)
        message = {"id": number, "chat": chat, "sender": sender, "text": text}
        self.messages.append(message)
        for writer in self._writers:
            self._send(writer, message)

    def write_line(self, line: bytes) -> None:
        """Send any bytes as a line to all programs."""
        for writer in self._writers:
            writer.write(line + b"\n")

    def write_again(self) -> None:
        """Send the last message to all programs again."""
        for writer in self._writers:
            self._send(writer, self.messages[-1])

    def _send(self, writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
        writer.write(json.dumps(message).encode() + b"\n")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            since = int(json.loads(await reader.readline())["since"])
            for message in self.messages[since:]:
                self._send(writer, message)
            self._writers.add(writer)
            while line := await reader.readline():
                answer = json.loads(line)
                self.answers.append(answer)
                self._on_answer(answer)
                if self.unconfirmed:
                    self.unconfirmed -= 1
                    return
                self._send(writer, {"sent": answer["nonce"]})
        except asyncio.CancelledError:
            # The loop ends. A server of Python 3.11 reports handlers that are cancelled.
            pass
        finally:
            self._writers.discard(writer)
            writer.close()


async def main() -> None:
    """Pass lines of the terminal to the agent, and print its answers."""
    platform = FakePlatform(lambda answer: print(f"{answer['chat']}> {answer['text']}"))
    print("listening on port", await platform.start(int((sys.argv[1:] or ["7000"])[0])))
    while line := await asyncio.to_thread(sys.stdin.readline):
        platform.write("ann", line.strip())


if __name__ == "__main__":
    asyncio.run(main())
