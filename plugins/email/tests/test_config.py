"""The configuration: the shipped example, defaults, faults and secrets; and the check command."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
from dataclasses import fields
from pathlib import Path
from typing import Any
from unittest import mock

from world import CLIENT, PASSWORD, PLUGIN, FakeImap, FakeSmtp, mail

from avocet_email.config import (
    SECRETS,
    AuthenticationConfig,
    Config,
    ConfigError,
    ImapConfig,
    SmtpConfig,
    load,
)

EXAMPLE = PLUGIN / "config.example.toml"
GOOD = (
    'address = "Bot@Example.net"\n[authentication]\nauthserv_id = "mx"\n'
    '[imap]\nhost = "h"\npassword_env = "PASSWORD"\n[smtp]\nhost = "h"\n'
)


class ConfigTest(unittest.TestCase):
    def load(self, text: str) -> Config:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "email.toml"
            path.write_text(text)
            with mock.patch.dict(os.environ, {"PASSWORD": "s3cret", "EMPTY": ""}):
                return load(str(path))

    def test_example_has_all_settings_with_their_defaults(self) -> None:
        text = re.sub(r"(?m)^#(\w+ = )", r"\1", EXAMPLE.read_text())
        table = tomllib.loads(text)
        kinds: list[tuple[Any, dict[str, Any]]] = [
            (Config(), table),
            (AuthenticationConfig(), table["authentication"]),
            (ImapConfig(), table["imap"]),
            (SmtpConfig(), table["smtp"]),
        ]
        for default, found in kinds:
            names = {field.name for field in fields(default)} - set(SECRETS)
            self.assertEqual(set(found), names)
            shown = re.findall(r"(?m)^#(\w+) = ", EXAMPLE.read_text())
            for name in set(found) & set(shown) - {"password_env", "password_file"}:
                if not isinstance(found[name], dict) and name not in ("name", "address"):
                    self.assertEqual(found[name], getattr(default, name), name)

    def test_defaults_depend_on_other_settings(self) -> None:
        config = self.load(GOOD)
        self.assertEqual((config.address, config.domain), ("bot@example.net", "example.net"))
        for server, port in ((config.imap, 993), (config.smtp, 465)):
            self.assertEqual(
                (server.port, server.username, server.password), (port, config.address, "s3cret")
            )
        self.assertNotIn("s3cret", repr(config))
        starttls = GOOD.replace('host = "h"', 'host = "h"\nsecurity = "starttls"')
        config = self.load(starttls)
        self.assertEqual((config.imap.port, config.smtp.port), (143, 587))
        self.assertEqual(self.load(GOOD + "login = false\n").smtp.password, "")

    def test_faults_are_named_with_their_correction(self) -> None:
        table = [
            ("", "`address` is not an e-mail address"),
            ("x = ", "cannot read"),
            ("addres = 1\n" + GOOD, "unknown setting `addres`; known: address"),
            (GOOD + "prt = 1", "unknown setting `smtp.prt`"),
            (GOOD + 'port = "1"', "`smtp.port` must be a number"),
            (GOOD + "port = 70000", "`smtp.port` is 70000"),
            (GOOD + "timeout_seconds = 0", "it must be 1 or more"),
            (GOOD + 'security = "ssl"', "must be one of: tls, starttls, plain"),
            (GOOD + 'security = "plain"', "would send the password and the mail unencrypted to h"),
            (GOOD + 'ca_file = "/nonexistent"', "cannot read /nonexistent"),
            (GOOD.replace('authserv_id = "mx"', ""), "A `From` header can be forged"),
            (GOOD.replace('password_env = "PASSWORD"', ""), "set `imap.password_env`"),
            (GOOD.replace("PASSWORD", "EMPTY"), "the environment variable EMPTY is empty or unset"),
            (
                GOOD.replace('_env = "PASSWORD"', '_file = "/nonexistent"'),
                "cannot read /nonexistent",
            ),
            ('name = "a\\nb"\n' + GOOD, "contains a control character"),
            ("imap = 3\n", "`imap` must be a table"),
        ]
        for text, expected in table:
            with self.assertRaises(ConfigError) as fault:
                self.load(text)
            self.assertIn(expected, str(fault.exception))
        self.load(GOOD + 'security = "plain"\ninsecure = true')
        self.load(GOOD.replace('"h"', '"::1"\nsecurity = "plain"'))
        self.load(GOOD.replace('authserv_id = "mx"', 'mode = "none"'))


class CheckTest(unittest.IsolatedAsyncioTestCase):
    async def run_program(self, *arguments: str) -> tuple[int, str]:
        paths = os.pathsep.join([str(PLUGIN), str(CLIENT / "src")])
        ran = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-B", "-m", "avocet_email", *arguments],
            env={"PYTHONPATH": paths, "PASSWORD": PASSWORD},
            capture_output=True,
            text=True,
        )
        return ran.returncode, ran.stdout + ran.stderr

    async def test_check_logs_in_and_names_the_servers_of_the_newest_mail(self) -> None:
        imap, smtp = FakeImap(), FakeSmtp()
        for fake in (imap, smtp):
            await fake.start()
            self.addAsyncCleanup(fake.stop)
        imap.deliver(mail("x"))
        plain = 'host = "127.0.0.1"\nsecurity = "plain"\nport = '
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "email.toml"
            text = GOOD.replace('host = "h"', f"{plain}{imap.port}", 1)
            path.write_text(text.replace('host = "h"', f"{plain}{smtp.port}"))
            status, printed = await self.run_program(str(path), "--check")
            self.assertEqual(status, 0, printed)
            self.assertIn("IMAP: ok", printed)
            self.assertIn("from the top: mx.example.net", printed)
            self.assertIn("SMTP: ok", printed)
            imap.password = smtp.password = "other"
            status, printed = await self.run_program(str(path), "--check")
            self.assertEqual(status, 1)
            self.assertIn("IMAP: the server has refused the login of bot@example.net", printed)
            self.assertIn("SMTP: (535", printed)
        status, printed = await self.run_program("/nonexistent")
        self.assertEqual((status, "cannot read /nonexistent" in printed), (2, True))


if __name__ == "__main__":
    unittest.main()
