"""Hands mails to the SMTP server. The kind of an error states what is known of the outcome."""

import re
import smtplib
import socket
import ssl
from collections.abc import Callable

from avocet_client import network

from .config import SmtpConfig
from .log import shown

# The name in EHLO. It needs no resolver and tells nothing about this machine (RFC 5321, 4.1.3).
HELO = "[127.0.0.1]"


class NotSent(Exception):
    """The server does not have the mail; a later attempt may work."""


class Refused(Exception):
    """The server has refused the mail permanently."""


class Unknown(Exception):
    """The server may have the mail: the connection ended before its answer."""


class Smtp(smtplib.SMTP):
    """Connects through the proxy of a sandbox, if there is one."""

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return network.create_connection((host, port), timeout)


class SmtpTls(smtplib.SMTP_SSL):
    """Works as `Smtp`, with encryption from the start."""

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        plain = network.create_connection((host, port), timeout)
        return self.context.wrap_socket(plain, server_hostname=host)


def send(config: SmtpConfig, sender: str, recipient: str, mail: bytes) -> str:
    """Send a mail, and return the answer of the server. Blocks."""
    try:
        server = connect(config)
    except smtplib.SMTPAuthenticationError as error:
        raise NotSent(
            f"the SMTP server has refused the login of {config.username}: "
            f"{answer(error.smtp_code, error.smtp_error)}; check `smtp.username` and the password"
        ) from None
    except (OSError, smtplib.SMTPException) as error:
        where = f"{config.host}:{config.port}"
        raise NotSent(f"cannot send over {where}: {shown(error)}") from error
    try:
        return transfer(server, sender, recipient, mail)
    finally:
        server.close()


def connect(config: SmtpConfig) -> smtplib.SMTP:
    """Connect, encrypt and log in."""
    seconds = float(config.timeout_seconds)
    server: smtplib.SMTP
    if config.security == "tls":
        server = SmtpTls(
            config.host, config.port, HELO, timeout=seconds, context=config.tls()
        )
    else:
        server = Smtp(config.host, config.port, HELO, timeout=seconds)
    try:
        server.ehlo_or_helo_if_needed()
        if config.security == "starttls":
            # Raises an error if the server offers no encryption.
            server.starttls(context=config.tls())
            server.ehlo_or_helo_if_needed()
        if config.login:
            server.login(config.username, config.password)
    except BaseException:
        server.close()
        raise
    return server


def transfer(server: smtplib.SMTP, sender: str, recipient: str, mail: bytes) -> str:
    """Send the mail, which ends with a line end, over an open connection."""
    size = int(server.esmtp_features.get("size") or 0)
    if size and len(mail) > size:
        raise Refused(f"the mail has {len(mail)} bytes, and the server accepts {size}")
    # The permission to send is a matter of the operator, so a refused sender is not final.
    before(lambda: server.mail(sender), 250, "MAIL", can_refuse=False)
    before(lambda: server.rcpt(recipient), 250, "RCPT", can_refuse=True)
    before(lambda: server.docmd("DATA"), 354, "DATA", can_refuse=True)
    # A line that begins with a dot gets a second one (RFC 5321, 4.5.2).
    stuffed = re.sub(rb"(?m)^\.", b"..", mail)
    try:
        server.send(stuffed + b".\r\n")
        code, text = server.getreply()
    except (OSError, smtplib.SMTPException, ssl.SSLError) as error:
        raise Unknown(f"the connection ended before the answer: {shown(error)}") from error
    if not 200 <= code < 600:
        raise Unknown(f"the answer of the SMTP server is malformed: {answer(code, text)}")
    check(code, text, 250, "the mail", can_refuse=True)
    return answer(code, text)


def before(step: Callable[[], tuple[int, bytes]], good: int, name: str, can_refuse: bool) -> None:
    """Make a step before the mail itself is sent."""
    try:
        code, text = step()
    except (OSError, smtplib.SMTPException) as error:
        raise NotSent(f"the connection ended at {name}: {shown(error)}") from error
    check(code, text, good, name, can_refuse)


def check(code: int, text: bytes, good: int, name: str, can_refuse: bool) -> None:
    """Raise an error for an answer that is not the expected one."""
    if code == good or (name == "RCPT" and code == 251):
        return
    message = f"the SMTP server has refused {name}: {answer(code, text)}"
    if can_refuse and 500 <= code < 600:
        raise Refused(message)
    raise NotSent(message)


def answer(code: int, text: bytes | str) -> str:
    """Return an answer of the server for messages."""
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return f"{code} {shown(words)}"
