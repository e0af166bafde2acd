"""The identity on the homeserver: an access token that is given, or one from a login."""

import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

from . import ids
from .homeserver import Homeserver, MatrixError, path
from .settings import Settings, SettingsError, secret

log = logging.getLogger(__name__)

TOKEN_VARIABLE = "AVOCET_MATRIX_TOKEN"
PASSWORD_VARIABLE = "AVOCET_MATRIX_PASSWORD"
# The first version of the specification with the paths of version 3.
LEAST_VERSION = (1, 1)


class LoginError(Exception):
    """The homeserver does not let the program in."""


async def log_in(server: Homeserver, settings: Settings) -> str:
    """Set the access token, and return the id of the user."""
    await _check_versions(server, settings)
    server.token = secret(TOKEN_VARIABLE, settings.token_file)
    origin = f"the token in {TOKEN_VARIABLE} or token_file"
    if server.token is None:
        origin = str(settings.session_file)
        server.token = await _session(server, settings)
    try:
        found = await server.until_answered(
            lambda: server.once("GET", path("account", "whoami")), "ask for the user of the token"
        )
    except MatrixError as error:
        raise LoginError(
            f"the homeserver does not accept {origin}: {error}; {remedy(settings)}"
        ) from error
    user = found.get("user_id")
    if not ids.is_id("user", user):
        raise LoginError(f"the homeserver reports the user {user!r:.80}, which is not a user id")
    if settings.user not in (None, user):
        raise LoginError(f"{origin} belongs to {user}, and not to user = {settings.user!r}")
    return str(user)


def remedy(settings: Settings) -> str:
    """Return the correction for a useless access token."""
    if settings.token_file is None and TOKEN_VARIABLE not in os.environ:
        return f"remove {settings.session_file}, so that the next start logs in again"
    return f"put a new access token into {TOKEN_VARIABLE} or token_file"


async def _check_versions(server: Homeserver, settings: Settings) -> None:
    try:
        found = await server.until_answered(
            lambda: server.once("GET", "/_matrix/client/versions"),
            "ask the homeserver for its versions",
        )
    except MatrixError as error:
        raise LoginError(f"there is no homeserver at {settings.homeserver}: {error}") from error
    versions = found.get("versions")
    versions = versions if isinstance(versions, list) else []
    if not any(_version(name) >= LEAST_VERSION for name in versions):
        raise LoginError(
            f"the homeserver is too old: it has the versions {versions!r:.200}, not v1.1"
        )


def _version(name: Any) -> tuple[int, ...]:
    parts = name.removeprefix("v").split(".") if isinstance(name, str) and name[:1] == "v" else []
    numbers = [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 6]
    return tuple(numbers) if len(numbers) == len(parts) else ()


async def _session(server: Homeserver, settings: Settings) -> str:
    """Return the token of an earlier login, or log in."""
    file = settings.session_file
    password = secret(PASSWORD_VARIABLE, settings.password_file)
    if file is None or settings.user is None:
        raise SettingsError(
            f"there is no access token: set {TOKEN_VARIABLE} or token_file, or user and "
            f"session_file with a password in {PASSWORD_VARIABLE} or password_file"
        )
    if (token := _stored(file, settings)) is not None:
        return token
    if password is None:
        raise SettingsError(
            f"{file} does not exist yet: a login needs {PASSWORD_VARIABLE} or password_file"
        )
    body = {
        "type": "m.login.password",
        "identifier": {"type": "m.id.user", "user": settings.user},
        "password": password,
        "initial_device_display_name": settings.device_name,
    }
    try:
        found = await server.until_answered(
            lambda: server.once("POST", path("login"), body), "log in"
        )
    except MatrixError as error:
        raise LoginError(
            f"the homeserver refuses the login of {settings.user}: {error}; check the password"
        ) from error
    token = found.get("access_token")
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
        raise LoginError("the homeserver has sent no access token after the login")
    stored = {"homeserver": settings.homeserver, "user_id": settings.user, "access_token": token}
    _store(file, {**stored, "device_id": found.get("device_id")})
    log.info("logged in as %s; the access token is in %s", settings.user, file)
    return token


def _stored(file: Path, settings: Settings) -> str | None:
    try:
        if file.stat().st_mode & 0o077:
            raise SettingsError(f"{file} can be read by other users; run: chmod 600 {file}")
        found = json.loads(file.read_text("utf-8"))
        token = found["access_token"]
        owner = (found["homeserver"], found["user_id"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"cannot read {file}: {error}; remove it to log in again") from error
    if owner != (settings.homeserver, settings.user):
        raise SettingsError(
            f"{file} belongs to {owner[1]} on {owner[0]}; name another session_file"
        )
    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        raise SettingsError(f"{file} has no access token; remove it to log in again")
    return token


def _store(file: Path, content: dict[str, Any]) -> None:
    """Replace the file in one step. Its mode is 0600 from the start."""
    number, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(number, "w", encoding="utf-8") as out:
            json.dump(content, out)
            out.flush()
            os.fsync(out.fileno())
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise
