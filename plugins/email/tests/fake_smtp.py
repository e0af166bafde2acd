"""A strict SMTP server in memory. It refuses mail that is not in the form of RFC 5321 and 5322."""

import asyncio
import base64
import email
import email.policy
import re
import ssl
from collections import deque
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any, cast


@dataclass
class TakenMail:
    """A mail that the server has accepted."""

    sender: str
    recipient: str
    raw: bytes

    @property
    def message(self) -> EmailMessage:
        return cast(EmailMessage, email.message_from_bytes(self.raw, policy=email.policy.default))

    @property
    def text(self) -> str:
        body = self.message.get_body(("plain",))
        assert body is not None
        return str(body.get_content()).replace("\r\n", "\n").rstrip("\n")


def fault(raw: bytes) -> str | None:
    """Return the fault of a mail; `None` if it has none."""
    if re.search(rb"(?<!\r)\n|\r(?!\n)", raw) or not raw.endswith(b"\r\n"):
        return "lines end with CRLF"
    if not raw.isascii() or b"\0" in raw:
        return "only ASCII without 8BITMIME"
    if max(map(len, raw.split(b"\r\n"))) > 998:
        return "a line is longer than 998 bytes"
    names = [key.lower() for key in email.message_from_bytes(raw).keys()]
    for name in ("from", "to", "date", "message-id", "subject"):
        if names.count(name) != 1:
            return f"{names.count(name)} headers {name}"
    return None


class FakeSmtp:
    """The server. `script` has reactions for the next mails: a step and an answer.

    An empty answer ends the connection at this step. `taken` takes the mail and loses the answer.
    """

    def __init__(self, security: str = "plain", context: ssl.SSLContext | None = None) -> None:
        self.security = security
        self.context = context
        self.password = 'se cret"\\'
        self.script: deque[tuple[str, str]] = deque()
        self.mails: list[TakenMail] = []
        self.faults: list[str] = []
        self.size = 0
        # Set while mails are to be accepted; cleared, they wait at the end of DATA.
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.waiting = 0

    async def start(self) -> None:
        tls = self.context if self.security == "tls" else None
        self.server = await asyncio.start_server(
            self._serve, "127.0.0.1", 0, ssl=tls, limit=1 << 26
        )
        self.port = self.server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self.server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await Conversation(self, reader, writer).run()
        except (OSError, EOFError, asyncio.CancelledError):
            # The end of a connection, or of the test.
            pass
        finally:
            writer.close()


class Conversation:
    """One connection."""

    def __init__(self, server: FakeSmtp, reader: Any, writer: Any) -> None:
        self.server, self.reader, self.writer = server, reader, writer
        self.is_secure = server.security == "tls"
        self.is_greeted = self.is_in = False
        self.sender = self.recipient = ""

    def say(self, text: str) -> None:
        self.writer.write(text.encode() + b"\r\n")

    async def run(self) -> None:
        self.say("220 mx.example.net ready")
        while True:
            line = await self.reader.readuntil(b"\r\n")
            command = line[:-2].decode("ascii")
            step = command.split(" ")[0].split(":")[0].upper()
            if self.server.script and self.server.script[0][0] == step:
                answer = self.server.script.popleft()[1]
                if not answer:
                    return
                self.say(answer)
                continue
            if step == "QUIT":
                self.say("221 bye")
                return
            if step == "DATA":
                await self.data()
            elif step == "STARTTLS":
                await self.starttls()
            else:
                self.say(self.answer(step, command))

    def answer(self, step: str, command: str) -> str:
        if step == "EHLO":
            self.is_greeted = True
            lines = ["mx.example.net", f"SIZE {self.server.size}"]
            if self.server.security == "starttls" and not self.is_secure:
                lines.append("STARTTLS")
            else:
                lines.append("AUTH PLAIN")
            return "\r\n".join([*(f"250-{line}" for line in lines[:-1]), f"250 {lines[-1]}"])
        if not self.is_greeted:
            return "503 EHLO first"
        if step == "AUTH":
            return self.auth(command)
        if not self.is_in:
            return "530 authentication required"
        if step == "MAIL":
            found = re.fullmatch(r"MAIL FROM:<([^<>\s]+)>(?: size=\d+)?", command, re.IGNORECASE)
            if not found or self.sender:
                return "501 MAIL FROM:<address>"
            self.sender = found[1]
            return "250 ok"
        if step == "RCPT":
            found = re.fullmatch(r"RCPT TO:<([^<>\s]+@[^<>\s]+)>", command, re.IGNORECASE)
            if not found or not self.sender:
                return "503 MAIL first"
            self.recipient = found[1]
            return "250 ok"
        return "502 unknown command"

    def auth(self, command: str) -> str:
        if self.server.security == "starttls" and not self.is_secure:
            return "538 encryption required"
        found = re.fullmatch(r"AUTH PLAIN (\S+)", command)
        wanted = f"\0bot@example.net\0{self.server.password}".encode()
        if not found or base64.b64decode(found[1]) != wanted:
            return "535 wrong name or password"
        self.is_in = True
        return "235 welcome"

    async def starttls(self) -> None:
        if self.server.security != "starttls" or self.is_secure:
            self.say("502 no STARTTLS")
            return
        self.say("220 go on")
        await self.writer.start_tls(self.server.context)
        self.is_secure, self.is_greeted = True, False

    async def data(self) -> None:
        if not self.recipient:
            self.say("503 RCPT first")
            return
        self.say("354 go on")
        raw: bytes = (await self.reader.readuntil(b"\r\n.\r\n"))[:-3]
        raw = re.sub(rb"(?m)^\.\.", b".", raw)
        sender, recipient, self.sender, self.recipient = self.sender, self.recipient, "", ""
        if (found := fault(raw)) is not None:
            self.server.faults.append(found)
            self.say(f"554 {found}")
            return
        self.server.waiting += 1
        await self.server.goes_on.wait()
        self.server.waiting -= 1
        step, answer = self.server.script[0] if self.server.script else ("", "")
        if step in ("end", "taken"):
            self.server.script.popleft()
        if step == "end":
            if answer:
                self.say(answer)
                return
            raise EOFError("the script ends the connection")
        self.server.mails.append(TakenMail(sender, recipient, raw))
        if step == "taken":
            raise EOFError("the script loses the answer")
        self.say("250 queued")
