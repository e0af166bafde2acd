"""OpenSMTPD and Dovecot, with a folder of their own as root, and the mailboxes of people."""

import asyncio
import email
import email.policy
import imaplib
import os
import re
import shutil
import smtplib
from email.message import EmailMessage
from pathlib import Path

from real import DEBIAN, PATIENCE_SECONDS, ROOT, Server, copy_tree, folder, free_port

DOMAIN = "mx.example.net"
USERS = {
    "root": 0,
    "mail": 8,
    "opensmtpd": 901,
    "opensmtpq": 902,
    "dovecot": 903,
    "dovenull": 904,
    "nobody": 65534,
}
# Each address has a mailbox. OpenSMTPD needs a filter to check DMARC, so the test writes the header
# of such a filter. OpenSMTPD allows a login over TLS only. Its build in Debian 12 fails at the
# handshake ("EVP lib"), so the channel uses it as a relay without a login.
SMTPD = """
table everyone {{ "@" = "mail" }}
listen on 127.0.0.1 port {smtp} hostname {domain}
action "local" maildir "/mail/%{{rcpt.user}}/Maildir" virtual <everyone>
match from any for any action "local"
"""
DOVECOT = """
base_dir = /run/dovecot
state_dir = /run/dovecot
log_path = /dev/stderr
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = </etc/tls.pem
ssl_key = </etc/tls.pem
mail_location = maildir:/mail/%n/Maildir
mail_uid = mail
mail_gid = mail
first_valid_uid = 1
auth_cache_size = 0
passdb {{
  driver = passwd-file
  args = /etc/users
}}
userdb {{
  driver = static
  args = uid=mail gid=mail home=/mail/%n
}}
service imap-login {{
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = {imaps}
  }}
}}
"""


class Mail:
    """A mail in a mailbox."""

    def __init__(self, message: EmailMessage) -> None:
        self.message = message
        body = message.get_body(("plain",))
        # The plain part.
        self.text = body.get_content().strip() if body else ""
        found = re.search(r"with ESMTP id ([0-9a-f]+)", str(message["Received"]))
        # The id that OpenSMTPD gave the mail when it took it. Its own copies have the same.
        self.queue_id = found[1] if found else ""


class MailServers:
    """Both servers. They see `root` only, and their users are in its `/etc/passwd`."""

    def __init__(self, bot: str, password: str) -> None:
        self.bot, self.password = bot, password
        self._mails: dict[Path, Mail] = {}
        # The mails that OpenSMTPD has taken, with their places in its log.
        self._order: dict[str, int] = {}
        self._read_lines = 0
        self.smtp, self.imap, self.imaps = free_port(), free_port(), free_port()
        self.place = folder()
        os.chmod(self.place.name, 0o755)
        self.root = Path(self.place.name) / "root"
        copy_tree(DEBIAN, self.root)
        self._fill()
        self.smtpd = Server("chroot", self.root, "/usr/sbin/smtpd", "-d", "-f", "/etc/smtpd.conf")
        self.dovecot = Server(
            "chroot", self.root, "/usr/sbin/dovecot", "-F", "-c", "/etc/dovecot.conf"
        )

    def _fill(self) -> None:
        for name in ("tmp", "dev", "run", "mail", "var/spool", "var/lib/opensmtpd/empty"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        (self.root / "tmp").chmod(0o1777)
        (self.root / "var/lib/opensmtpd/empty").chmod(0o711)
        (self.root / "var/run").symlink_to("/run")
        # An empty file does for it, and needs no right to make devices.
        self._write("dev/null", "", 0o666)
        self._write(
            "etc/passwd",
            "".join(f"{name}:x:{id}:{id}::/mail:/bin/sh\n" for name, id in USERS.items()),
        )
        self._write("etc/group", "".join(f"{name}:x:{id}:\n" for name, id in USERS.items()))
        self._write("etc/hosts", "127.0.0.1 localhost\n")
        self._write("etc/mailname", "localhost\n")
        self._write("etc/users", f"{self.bot}:{{PLAIN}}{self.password}\n")
        certificate = ROOT / "tests/e2e/certificates/localhost.pem"
        self._write("etc/tls.pem", certificate.read_text(), 0o600)
        self._write("etc/smtpd.conf", SMTPD.format(domain=DOMAIN, smtp=self.smtp))
        self._write("etc/dovecot.conf", DOVECOT.format(imap=self.imap, imaps=self.imaps))
        shutil.chown(self.root / "mail", USERS["mail"], USERS["mail"])

    def _write(self, name: str, text: str, mode: int = 0o644) -> None:
        # The file may be a link to the unpacked one.
        (self.root / name).unlink(missing_ok=True)
        (self.root / name).write_text(text)
        (self.root / name).chmod(mode)

    async def start(self) -> None:
        """Start both servers."""
        await self.smtpd.start(self.smtp)
        await self.dovecot.start(self.imaps)

    async def remove(self) -> None:
        """End both servers and remove their folder."""
        await self.smtpd.end()
        await self.dovecot.end()
        self.place.cleanup()

    async def send(self, sender: str, raw: bytes) -> None:
        """A person sends a mail to the agent. It is sent again until the server has taken it."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    return await asyncio.to_thread(self._send, sender, raw)
                except smtplib.SMTPRecipientsRefused:
                    raise
                except (OSError, smtplib.SMTPException):
                    await asyncio.sleep(0.1)

    def _send(self, sender: str, raw: bytes) -> None:
        with smtplib.SMTP("127.0.0.1", self.smtp, "[127.0.0.1]", timeout=20) as server:
            server.sendmail(sender, [self.bot], raw)

    def mails(self, address: str) -> list[Mail]:
        """Return the mails of a mailbox, in the order in which OpenSMTPD took them."""
        box = self.root / "mail" / address.partition("@")[0] / "Maildir"
        found = [self._mail(place) for part in ("new", "cur") for place in box.glob(f"{part}/*")]
        for line in self.smtpd.log[self._read_lines :]:
            if match := re.search(r"smtp message msgid=([0-9a-f]+)", line):
                self._order[match[1]] = len(self._order)
        self._read_lines = len(self.smtpd.log)
        # The log line of the newest mail may not have been read yet.
        return sorted(found, key=lambda mail: self._order.get(mail.queue_id, len(self._order)))

    def _mail(self, place: Path) -> Mail:
        """Read a mail once."""
        if place not in self._mails:
            message = email.message_from_bytes(place.read_bytes(), policy=email.policy.default)
            assert isinstance(message, EmailMessage)
            self._mails[place] = Mail(message)
        return self._mails[place]

    def inbox(self) -> list[tuple[str, str]]:
        """Return the text and the flags of each mail of the agent, as Dovecot numbers them."""
        with imaplib.IMAP4("127.0.0.1", self.imap, timeout=20) as imap:
            imap.login(self.bot, self.password)
            imap.select("INBOX", readonly=True)
            _, lines = imap.fetch("1:*", "(FLAGS BODY.PEEK[TEXT])")
            pairs = [line for line in lines if isinstance(line, tuple)]
            return [(text.decode().strip(), head.decode()) for head, text in pairs]

    def renumber(self) -> None:
        """Let Dovecot give the mailbox a new UIDVALIDITY, as after a restored backup."""
        for place in (self.root / "mail" / self.bot.partition("@")[0] / "Maildir").glob("dovecot*"):
            place.unlink()
