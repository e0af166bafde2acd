"""The fakes, the program and the daemon together, and helpers of the tests."""

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
from email.message import EmailMessage
from email.utils import formatdate
from pathlib import Path
from typing import Any

PLUGIN = Path(__file__).resolve().parents[1]
ROOT = PLUGIN.parents[1]
CLIENT = ROOT / "clients/python"
for path in (PLUGIN, CLIENT / "src", CLIENT / "tests"):
    sys.path.insert(0, str(path))

from fake_imap import FakeImap  # noqa: E402
from fake_smtp import FakeSmtp, TakenMail  # noqa: E402
from support import PATIENCE_SECONDS, DaemonTest, child_table, until  # noqa: E402

from avocet_email.config import AuthenticationConfig, Config, ImapConfig, SmtpConfig  # noqa: E402

CERTIFICATES = ROOT / "tests/e2e/certificates"
AUTHORITY = str(CERTIFICATES / "authority.pem")
BOT = "bot@example.net"
ANN = "ann@example.org"
BOB = "bob@example.org"
PASSWORD = 'se cret"\\'
DAEMON = f'[channels.external.email]\nowners = ["{ANN}"]\nallow = ["{BOB}"]\n'
PEOPLE = [f"p{number}@example.org" for number in range(5)]
PEOPLE_DAEMON = f"[channels.external.email]\nallow = {json.dumps([ANN, BOB, *PEOPLE])}\n"
RESULTS = "mx.example.net; dmarc=pass (p=reject) header.from={domain}"


def tls() -> ssl.SSLContext:
    """Return the context of a server with the certificate of `localhost`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "localhost.pem")
    return context


def settings(**more: Any) -> Config:
    """Return a configuration for tests without servers."""
    values: dict[str, Any] = {
        "address": BOT,
        "name": "Avocet",
        "authentication": AuthenticationConfig(authserv_id="mx.example.net"),
    }
    return Config(**(values | more))


def imap_config(fake: FakeImap, **more: Any) -> ImapConfig:
    """Return the settings for a fake."""
    return ImapConfig(**(server(fake) | more))


def smtp_config(fake: FakeSmtp, **more: Any) -> SmtpConfig:
    """Return the settings for a fake."""
    return SmtpConfig(**(server(fake) | more))


def server(fake: FakeImap | FakeSmtp) -> dict[str, Any]:
    """Return the settings that both servers have."""
    return {
        "host": "localhost",
        "port": fake.port,
        "security": fake.security,
        "username": BOT,
        "password": PASSWORD,
        "ca_file": "" if fake.security == "plain" else AUTHORITY,
        "timeout_seconds": PATIENCE_SECONDS,
    }


def mail(text: str, *, sender: str = ANN, subject: str = "", **headers: str) -> bytes:
    """Return a mail as the server stores it. An underscore in a header's name is a hyphen."""
    message = EmailMessage()
    message["Authentication-Results"] = RESULTS.format(domain=sender.rpartition("@")[2])
    message["From"] = f"Person <{sender}>"
    message["To"] = BOT
    if subject:
        message["Subject"] = subject
    message["Date"] = formatdate()
    for name, value in headers.items():
        del message[name.replace("_", "-")]
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return crlf(message)


def crlf(message: EmailMessage) -> bytes:
    """Return a mail with the line ends of the network."""
    return message.as_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


class Program:
    """The running program."""

    def __init__(self, config: Path) -> None:
        paths = os.pathsep.join([str(PLUGIN), str(CLIENT / "src")])
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-m", "avocet_email", str(config)],
            env={"PYTHONPATH": paths, "PASSWORD": PASSWORD, "PATH": os.environ.get("PATH", "")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log: list[str] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr:
            self.log.extend(self.process.stderr)

    def _line(self, text: str) -> str | None:
        return next((line for line in self.log if text in line), None)

    async def logs(self, text: str) -> str:
        """Wait for a log line."""

        async def look() -> str | None:
            return self._line(text)

        try:
            return await until(look)
        except TimeoutError:
            raise AssertionError(f"no line {text!r} in:\n" + "".join(self.log)) from None

    async def stop(self) -> int:
        """End the program in order, and return its status."""
        return await asyncio.to_thread(self._end, signal.SIGTERM)

    async def ended(self) -> int:
        """Wait for the end, and return the status."""
        return await asyncio.to_thread(self._end, None)

    def kill(self) -> None:
        """End the program with SIGKILL."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals | None) -> int:
        if number is not None and self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(PATIENCE_SECONDS)
        self._reading.join()
        return status


class EmailTest(DaemonTest):
    """A test with the daemon, both servers and the program."""

    config = DAEMON
    settings = ""
    imap_settings = ""
    # `False` to let the test start the program.
    starts = True

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.imap, self.smtp = FakeImap(), FakeSmtp()
        for fake in (self.imap, self.smtp):
            await fake.start()
            self.addAsyncCleanup(fake.stop)
        self.place = self.home.path / "email.toml"
        self.write_settings()
        self.program: Program | None = None
        self.addCleanup(self.end_program)
        if self.starts:
            await self.start_program()

    def write_settings(self) -> None:
        server = 'host = "localhost"\nsecurity = "plain"\npassword_env = "PASSWORD"\n'
        self.place.write_text(
            f'address = "{BOT}"\nname = "Avocet"\nsocket = "{self.home.socket}"\n{self.settings}\n'
            '[authentication]\nauthserv_id = "mx.example.net"\n'
            f"[imap]\n{server}port = {self.imap.port}\n{self.imap_settings}\n"
            f"[smtp]\n{server}port = {self.smtp.port}\n"
        )

    def end_program(self) -> None:
        if self.program is not None:
            self.program.kill()
        # The strict servers have seen no fault.
        self.assertEqual((self.imap.bad, self.smtp.faults), ([], []))

    async def start_program(self) -> Program:
        """Start the program, and wait until it reads mail."""
        self.program = Program(self.place)
        await self.program.logs("reading INBOX")
        return self.program

    async def mails(self, count: int) -> list[TakenMail]:
        """Wait until the SMTP server has this number of mails."""

        async def look() -> list[TakenMail] | None:
            return self.smtp.mails if len(self.smtp.mails) >= count else None

        try:
            found = await until(look)
        except TimeoutError:
            log = "".join(self.program.log if self.program else [])
            texts = [mail.text for mail in self.smtp.mails]
            raise AssertionError(f"{texts} instead of {count} mails:\n{log}") from None
        self.assertEqual(len(found), count, [mail.text for mail in found])
        return found


def sends(files: list[str]) -> str:
    """Return the text that makes the fake model send files."""
    return f"message {json.dumps({'files': files})}"


async def true(look: Any) -> None:
    """Wait until a function returns `True`."""

    async def check() -> bool | None:
        return look() or None

    await until(check)
