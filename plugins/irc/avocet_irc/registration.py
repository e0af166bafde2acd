"""The registration on a server: capabilities, login with SASL, and the nickname."""

import base64
import logging
import random
from collections.abc import Callable

from . import wire
from .errors import Lost, Refused
from .settings import Settings
from .wire import Message

log = logging.getLogger("avocet_irc")

# The capabilities that the program uses, if the server offers them.
WANTED = (
    "message-tags",
    "server-time",
    "batch",
    "echo-message",
    "account-tag",
    "chghost",
    "draft/chathistory",
    "sasl",
)
# AUTHENTICATE carries at most this many characters ("SASL 3.1").
AUTHENTICATE_CHARS = 400


class Registration:
    """Answers the lines of a server until it has accepted the program, and later those of CAP."""

    def __init__(self, settings: Settings, write: Callable[[bytes], None]) -> None:
        """`write` sends a line at once."""
        self._settings = settings
        self._write = write
        self.nick = settings.nick
        self.caps: set[str] = set()
        self.is_registered = False
        self.is_logged_in = False
        self._offered: dict[str, str] = {}
        self._open_requests = 0
        self._nick_attempts = 0
        self._is_short = False

    def begin(self) -> None:
        """Send the first lines."""
        settings = self._settings
        self._write(b"CAP LS 302\r\n")
        if settings.server_password:
            self._write(wire.line("PASS", settings.server_password))
        self._write(wire.line("NICK", self.nick))
        self._write(wire.line("USER", settings.user, "0", "*", settings.real_name))

    def on_cap(self, message: Message) -> None:
        verb, is_more = (
            message.param(1).upper(),
            message.param(2) == "*" and len(message.params) > 3,
        )
        names = message.last.split()
        if verb in ("LS", "NEW"):
            self._offered |= {
                name: value for name, _, value in (each.partition("=") for each in names)
            }
            if not is_more:
                self._request_caps(is_new=verb == "NEW")
        elif verb == "ACK":
            for name in names:
                (self.caps.discard if name.startswith("-") else self.caps.add)(name.lstrip("-~="))
            self._cap_answered()
        elif verb == "NAK":
            self._open_requests += len(names) if len(names) > 1 else 0
            for name in names if len(names) > 1 else []:
                self._write(wire.line("CAP", "REQ", name))
            self._cap_answered()
        elif verb == "DEL":
            self.caps -= set(names)

    def _request_caps(self, *, is_new: bool) -> None:
        wanted = [name for name in WANTED if name in self._offered and name not in self.caps]
        if not self._settings.sasl_user or is_new:
            wanted = [name for name in wanted if name != "sasl"]
        if wanted:
            self._open_requests += 1
            self._write(f"CAP REQ :{' '.join(wanted)}\r\n".encode())
        elif not is_new and not self.is_registered:
            self._negotiated()

    def _cap_answered(self) -> None:
        self._open_requests -= 1
        if self._open_requests == 0 and not self.is_registered:
            self._negotiated()

    def _negotiated(self) -> None:
        if not self._settings.sasl_user:
            self._write(b"CAP END\r\n")
        elif "sasl" not in self.caps:
            raise Lost("the server offers no login with SASL now; its services may be away")
        else:
            mechanisms = self._offered.get("sasl", "")
            if mechanisms and "PLAIN" not in mechanisms.upper().split(","):
                raise Refused(
                    f"the server offers SASL with {mechanisms}, and this program knows PLAIN only"
                )
            self._write(b"AUTHENTICATE PLAIN\r\n")

    def on_authenticate(self, message: Message) -> None:
        if message.param(0) != "+" or self.is_registered:
            return
        settings = self._settings
        secret = f"{settings.sasl_user}\0{settings.sasl_user}\0{settings.sasl_password}".encode()
        text = base64.b64encode(secret).decode()
        parts = [
            text[at : at + AUTHENTICATE_CHARS] for at in range(0, len(text), AUTHENTICATE_CHARS)
        ]
        if len(parts[-1]) == AUTHENTICATE_CHARS:
            parts.append("+")
        for part in parts:
            self._write(wire.line("AUTHENTICATE", part))

    def on_903(self, _: Message) -> None:
        self.is_logged_in = True
        self._write(b"CAP END\r\n")

    def sasl_failed(self, message: Message) -> None:
        if not self.is_registered:
            raise Refused(
                f"the server refuses the login of {self._settings.sasl_user}: {message.last}; "
                "check `sasl_user` and the password"
            )

    def on_464(self, message: Message) -> None:
        if not self.is_registered:
            raise Refused(
                f"the server refuses the password: {message.last}; check `server_password_file`"
            )

    def on_465(self, message: Message) -> None:
        self._error = f"the server bans this program: {message.last}"

    def on_432(self, message: Message) -> None:
        if self.is_registered:
            return
        if self.nick == self._settings.nick or self._is_short:
            raise Refused(
                f"the server refuses the nickname {self.nick}: {message.last}; change `nick`"
            )
        # The nickname of the settings fits, and is too long with a tail.
        self._is_short = True
        self.next_nick(message)

    def next_nick(self, message: Message) -> None:
        self._nick_attempts += 1
        if self._nick_attempts > 8:
            raise Lost(f"all nicknames like {self._settings.nick} are in use: {message.last}")
        self._is_short = self._is_short or self._nick_attempts >= 4
        tail = "_" if self._nick_attempts == 1 else str(random.randrange(100, 1000))
        # NICKLEN is not known yet; 9 is the least (RFC 1459, 1.2).
        base = self._settings.nick[: 9 - len(tail)] if self._is_short else self._settings.nick
        self.nick = base + tail
        log.warning(
            "the nickname %s cannot be used: %s; trying %s",
            message.param(1),
            message.last,
            self.nick,
        )
        self._write(wire.line("NICK", self.nick))
