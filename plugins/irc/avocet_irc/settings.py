"""Settings: a TOML file, and flags that override it. Secrets come from the environment or files."""

import argparse
import difflib
import ipaddress
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

# Names of channels begin with one of these on almost all networks (RFC 2811, 2.1).
CHANNEL_PREFIXES = "#&+!"
# The greatest number in any setting. Seconds beyond it make no sense.
MOST = 1_000_000
_NICK = re.compile(r"[^\s\x00-\x20\x7f:@!*?,.#&+0-9-][^\s\x00-\x20\x7f:@!*?,.]*")


class SettingsError(Exception):
    """A setting is missing or wrong. The text names it and its correction."""


def _setting(default: Any, text: str, *, least: float | None = None) -> Any:
    return field(default=default, metadata={"text": text, "least": least})


@dataclass(frozen=True)
class Settings:
    """All settings. The metadata of a field has its description, which is the help of its flag."""

    server: str = _setting("", "name of the IRC server (required)")
    port: int = _setting(0, "port; 0 for 6697 with TLS, 6667 without", least=0)
    tls: bool = _setting(True, "encrypt the connection")
    ca_file: str = _setting("", "file with certificates to trust instead of the system's")
    nick: str = _setting("", "nickname of the agent (required)")
    user: str = _setting("avocet", "user name, the part before @ in the address of the agent")
    real_name: str = _setting("Avocet, a chat agent", "text that WHOIS shows")
    channels: tuple[str, ...] = _setting((), "channels to join, each as `#name` or `#name key`")
    sasl_user: str = _setting("", "account for SASL PLAIN; empty for no login")
    sasl_password_file: str = _setting("", "file with the password of the account")
    server_password_file: str = _setting("", "file with the password of the server")
    identity: str = _setting("account", "names people by `account`, `nick` or `host`")
    mention: bool = _setting(True, "in channels, take only messages to the nickname")
    send_as: str = _setting("privmsg", "command for answers: `privmsg` or `notice`")
    formatting: str = _setting("mirc", "`mirc` for control codes, `plain` for none")
    max_text: int = _setting(1500, "characters of the longest part of an answer", least=100)
    max_file_megabytes: int = _setting(10, "largest file for the upload of a server", least=1)
    burst: int = _setting(5, "lines that may be sent at once", least=1)
    seconds_per_line: float = _setting(2.0, "seconds until one more line may be sent", least=0)
    timeout_seconds: float = _setting(60.0, "longest wait for the server", least=0.1)
    ping_seconds: float = _setting(60.0, "seconds of silence after which a PING is sent", least=0.1)
    longest_pause_seconds: float = _setting(300.0, "longest pause before a reconnect", least=0.1)
    history: int = _setting(5000, "most messages that are read after a pause; 0 for none", least=0)
    account: str = _setting("irc", "account in Avocet: `[channels.external.ACCOUNT]`")
    socket: str = _setting("", "socket of the daemon; empty for the usual place")
    client: str = _setting("", "table `[gateway.clients.NAME]` with the rights of this program")
    token_file: str = _setting("", "file with the token of that table")
    log: str = _setting("info", "least level of log lines: `debug`, `info`, `warning`, `error`")
    sasl_password: str = field(default="", repr=False)
    server_password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)


# A secret, and the variable of the environment that may have it.
SECRETS = {
    "sasl_password": "AVOCET_IRC_SASL_PASSWORD",
    "server_password": "AVOCET_IRC_SERVER_PASSWORD",
    "token": "AVOCET_IRC_TOKEN",
}
_CHOICES = {
    "identity": ("account", "nick", "host"),
    "send_as": ("privmsg", "notice"),
    "formatting": ("mirc", "plain"),
    "log": ("debug", "info", "warning", "error"),
}


def shown() -> list[Any]:
    """Return the fields that a file or a flag may set."""
    return [each for each in fields(Settings) if "text" in each.metadata]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="avocet-irc",
        description="Connect Avocet to an IRC network.",
        epilog="Passwords come from files, or from " + ", ".join(SECRETS.values()) + ".",
    )
    made.add_argument("--config", metavar="FILE", help="read settings from this TOML file")
    made.add_argument("--check", action="store_true", help="check the settings and end")
    hints = get_type_hints(Settings)
    for each in shown():
        flag, text = "--" + each.name.replace("_", "-"), each.metadata["text"].replace("%", "%%")
        options: dict[str, Any] = {"default": None, "help": text, "dest": each.name}
        if hints[each.name] is bool:
            made.add_argument(flag, action=argparse.BooleanOptionalAction, **options)
        elif get_args(hints[each.name]):
            made.add_argument(flag, action="append", metavar="NAME", **options)
        else:
            made.add_argument(flag, type=hints[each.name], metavar="VALUE", **options)
    return made


def load(arguments: argparse.Namespace, environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the file and the flags. Raises `SettingsError`."""
    values = _from_file(arguments.config) if arguments.config else {}
    for each in shown():
        if (flag := getattr(arguments, each.name)) is not None:
            values[each.name] = flag
    values = {name: _typed(name, value) for name, value in values.items()}
    for name, variable in SECRETS.items():
        values[name] = _secret(name, values.get(f"{name}_file", ""), variable, environment)
    settings = Settings(**values)
    _check(settings)
    return settings


def _from_file(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            values = tomllib.load(file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(f"cannot read the settings in {path}: {reason}") from None
    names = [each.name for each in shown()]
    for name in values:
        if name in SECRETS:
            raise SettingsError(
                f"{path}: `{name}` may not stand in this file; write the secret into a file of its "
                f"own and name it in `{name}_file`, or set {SECRETS[name]}"
            )
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise SettingsError(f"{path}: there is no setting `{name}`{hint}")
    return values


def _typed(name: str, value: Any) -> Any:
    wanted = get_type_hints(Settings)[name]
    if wanted is float and type(value) is int:
        return float(value)
    if get_args(wanted):
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        raise SettingsError(f"`{name}` is a list of texts, and not {value!r}")
    if type(value) is not wanted:
        kinds = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
        raise SettingsError(f"`{name}` is {kinds[wanted]}, and not {value!r}")
    return value


def _secret(name: str, path: str, variable: str, environment: Mapping[str, str]) -> str:
    if not path:
        return environment.get(variable, "")
    try:
        secret = Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingsError(f"cannot read `{name}_file` {path}: {reason}") from None
    if not secret:
        raise SettingsError(f"`{name}_file` {path} is empty")
    return secret


def _check(settings: Settings) -> None:
    for name in ("server", "nick"):
        if not getattr(settings, name):
            raise SettingsError(f"`{name}` is missing; set it in the file or with --{name}")
    for name, choices in _CHOICES.items():
        if (value := getattr(settings, name)) not in choices:
            raise SettingsError(f"`{name}` is one of {', '.join(choices)}, and not {value!r}")
    for each in shown():
        least, value = each.metadata["least"], getattr(settings, each.name)
        if least is not None and not value >= least:
            raise SettingsError(f"`{each.name}` is {value}; the least value is {least}")
        if least is not None and value > MOST:
            raise SettingsError(f"`{each.name}` is {value}; the greatest value is {MOST}")
    if settings.port > 65535:
        raise SettingsError(f"`port` is {settings.port}; the greatest value is 65535")
    if settings.max_text > 100_000:
        raise SettingsError(f"`max_text` is {settings.max_text}; the greatest value is 100000")
    _check_names(settings)
    _check_secrets(settings)


def _check_names(settings: Settings) -> None:
    if not _NICK.fullmatch(settings.nick):
        raise SettingsError(
            f"`nick` {settings.nick!r} is not a nickname; it begins with a letter, and has no "
            "spaces and none of : @ ! * ? , ."
        )
    if not re.fullmatch(r"[A-Za-z0-9_.~-]{1,20}", settings.user):
        raise SettingsError(
            f"`user` {settings.user!r} has other characters than letters, digits and _ . ~ -"
        )
    for name in ("real_name", "server", "sasl_user", "sasl_password", "server_password"):
        if any(char in getattr(settings, name) for char in "\r\n\0"):
            raise SettingsError(f"`{name}` contains the end of a line or NUL")
    if len(settings.real_name.encode()) > 200:
        raise SettingsError("`real_name` is longer than 200 bytes")
    for channel in settings.channels:
        name, _, key = channel.partition(" ")
        if name[:1] not in tuple(CHANNEL_PREFIXES) or re.search(r"[,\x00-\x20\x7f]", name + key):
            raise SettingsError(f"`channels`: {channel!r} is neither `#name` nor `#name key`")


def _check_secrets(settings: Settings) -> None:
    if bool(settings.sasl_user) != bool(settings.sasl_password):
        missing = "sasl_password" if settings.sasl_user else "sasl_user"
        how = (
            f"name a file in `{missing}_file`, or set {SECRETS[missing]}"
            if settings.sasl_user
            else "set it"
        )
        raise SettingsError(
            f"`{missing}` is missing; a login with SASL needs a user and a password: {how}"
        )
    has_secret = bool(settings.sasl_password or settings.server_password)
    if has_secret and not settings.tls and not is_local(settings.server):
        raise SettingsError(
            "`tls` is false, so the password would be sent in plain text; use TLS, or no password"
        )
    if len(settings.server_password.encode()) > 400:
        raise SettingsError("`server_password` is longer than 400 bytes")


def is_local(server: str) -> bool:
    """Return `True` if a connection to this server stays on this machine."""
    if server == "localhost":
        return True
    try:
        return ipaddress.ip_address(server).is_loopback
    except ValueError:
        return False


def from_command_line(arguments: Sequence[str] | None = None) -> tuple[Settings, bool]:
    """Return the settings, and `True` if they are only to be checked."""
    parsed = parser().parse_args(arguments)
    return load(parsed), parsed.check
