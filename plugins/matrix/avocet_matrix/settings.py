"""The settings: a TOML file, and secrets from the environment or from separate files."""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from . import ids


class SettingsError(Exception):
    """A setting that cannot be used. The text names the key, the value and the correction."""


@dataclass(frozen=True)
class Settings:
    """All settings but the secrets of the homeserver."""

    homeserver: str
    user: str | None = None
    token_file: Path | None = None
    password_file: Path | None = None
    session_file: Path | None = None
    device_name: str = "Avocet"
    insecure_http: bool = False
    invite_from: tuple[str, ...] = ()
    mention: bool = True
    max_text: int = 4000
    max_file_megabytes: int = 50
    account: str = "matrix"
    socket: Path | None = None
    client: str | None = None
    client_token_file: Path | None = None

    def admits(self, inviter: str) -> bool:
        """Return `True` if invitations of this user are accepted."""
        return inviter in self.invite_from or ids.server_of(inviter) in self.invite_from


_LOCAL = ("localhost", "127.0.0.1", "::1")
_PATHS = ("token_file", "password_file", "session_file", "socket", "client_token_file")
_TYPES: dict[str, type] = {
    "homeserver": str,
    "user": str,
    **dict.fromkeys(_PATHS, str),
    "device_name": str,
    "insecure_http": bool,
    "invite_from": list,
    "mention": bool,
    "max_text": int,
    "max_file_megabytes": int,
    "account": str,
    "client": str,
}
_WORDS = {str: "a text", bool: "true or false", int: "a whole number", list: "a list of texts"}
# The least and the most of numbers. A text of 10,000 characters fits into an event of 64 KiB.
_RANGES = {"max_text": (100, 10_000), "max_file_megabytes": (1, 1000)}


def load(path: Path) -> Settings:
    """Read the settings. Relative paths are below the folder of the file."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not TOML: {error}") from error
    try:
        return _settings(table, path.resolve().parent)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def _settings(table: dict[str, Any], folder: Path) -> Settings:
    for key, value in table.items():
        if key not in _TYPES:
            raise SettingsError(f"unknown key {key!r}; the keys are {', '.join(_TYPES)}")
        if type(value) is not _TYPES[key]:
            raise SettingsError(f"{key} = {value!r} is not {_WORDS[_TYPES[key]]}")
        least, most = _RANGES.get(key, (0, 0))
        if most and isinstance(value, int) and not least <= value <= most:
            raise SettingsError(f"{key} = {value} is not a number from {least} to {most}")
    if "homeserver" not in table:
        raise SettingsError('the homeserver is missing: homeserver = "https://matrix.example.org"')
    paths = {key: folder / Path(table[key]).expanduser() for key in _PATHS if key in table}
    invite_from = tuple(_inviter(entry) for entry in table.get("invite_from", []))
    settings = Settings(**{**table, **paths, "invite_from": invite_from})
    _check_url(settings)
    if settings.user is not None and not ids.is_id("user", settings.user):
        raise SettingsError(
            f"user = {settings.user!r} is not a user id such as @avocet:example.org"
        )
    if not settings.account or any(
        char in ":/\\" or not char.isprintable() for char in settings.account
    ):
        raise SettingsError(f"account = {settings.account!r} is not the name of an account")
    return settings


def _inviter(entry: Any) -> str:
    if ids.is_id("user", entry) or ids.is_id("server", entry):
        return str(entry)
    raise SettingsError(
        f"invite_from: {entry!r} is neither a user id such as @ann:example.org nor a server name "
        "such as example.org"
    )


def _check_url(settings: Settings) -> None:
    url = settings.homeserver
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    is_plain = url.isascii() and url.isprintable() and " " not in url
    if not is_url or not is_plain or parts.query or parts.fragment or "@" in parts.netloc:
        raise SettingsError(f"homeserver = {url!r} is not a URL such as https://matrix.example.org")
    if parts.scheme == "http" and parts.hostname not in _LOCAL and not settings.insecure_http:
        raise SettingsError(
            f"homeserver = {url!r} would send the access token without encryption; use https, or "
            "set insecure_http = true for a private network"
        )


def secret(variable: str, file: Path | None) -> str | None:
    """Return a secret from the environment, or from its file; `None` without both."""
    found = os.environ.get(variable)
    name = variable
    if found is None and file is not None:
        name = str(file)
        try:
            found = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"cannot read the secret in {file}: {error}") from error
    if found is None:
        return None
    found = found.strip()
    if not found or not found.isprintable() or not found.isascii() and "TOKEN" in variable:
        raise SettingsError(
            f"the secret in {name} is empty or contains characters that no token has"
        )
    return found
