"""The configuration file. Each table is a dataclass, and its fields are the settings."""

import dataclasses
import ipaddress
import os
import ssl
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from .addresses import parse_address

Table = TypeVar("Table")

MEGABYTE = 1024 * 1024


class ConfigError(Exception):
    """A fault of the configuration, and its correction."""


@dataclass(frozen=True)
class Server:
    """The settings that an IMAP and an SMTP server share."""

    host: str = ""
    # 0 for the usual port of `security`.
    port: int = 0
    security: str = "tls"
    # Allows `security = "plain"` for a host that is not this machine.
    insecure: bool = False
    # Empty for the address of the account.
    username: str = ""
    password_env: str = ""
    password_file: str = ""
    # Certificates of authorities in PEM. Empty for those of the system.
    ca_file: str = ""
    timeout_seconds: int = 60
    # Filled in from the environment or the file.
    password: str = field(default="", repr=False)

    def tls(self) -> ssl.SSLContext:
        """Return a context that checks the name and the certificate of the server."""
        return ssl.create_default_context(cafile=self.ca_file or None)


@dataclass(frozen=True)
class ImapConfig(Server):
    """`[imap]`."""

    folder: str = "INBOX"
    # The folder for answered mail. Empty to leave mail where it is.
    move_to: str = ""
    # Below the 29 minutes after which a server may end the connection (RFC 2177).
    idle_seconds: int = 25 * 60
    poll_seconds: int = 60


@dataclass(frozen=True)
class SmtpConfig(Server):
    """`[smtp]`."""

    # `False` for a relay that needs no login.
    login: bool = True


@dataclass(frozen=True)
class AuthenticationConfig:
    """`[authentication]`."""

    mode: str = "strict"
    authserv_id: str = ""
    # The number of topmost `Authentication-Results` headers of this server that are trusted.
    headers: int = 1


@dataclass(frozen=True)
class Config:
    """The whole file."""

    address: str = ""
    name: str = ""
    subject: str = "Message from Avocet"
    chats: str = "thread"
    max_answers_per_hour: int = 20
    max_message_megabytes: int = 25
    max_attachments_megabytes: int = 18
    quote_characters: int = 400
    log: str = "info"
    socket: str = ""
    account: str = "email"
    client: str = ""
    token_env: str = ""
    token_file: str = ""
    authentication: AuthenticationConfig = AuthenticationConfig()
    imap: ImapConfig = ImapConfig()
    smtp: SmtpConfig = SmtpConfig()
    token: str = field(default="", repr=False)

    @property
    def domain(self) -> str:
        """The part of the address behind the `@`."""
        return self.address.rpartition("@")[2]


# Filled in by the program.
SECRETS = ("password", "token")
POSITIVE = {
    "max_answers_per_hour",
    "max_message_megabytes",
    "max_attachments_megabytes",
    "timeout_seconds",
    "idle_seconds",
    "poll_seconds",
    "headers",
}
CHOICES = {
    "security": ("tls", "starttls", "plain"),
    "mode": ("strict", "dmarc", "none"),
    "chats": ("thread", "correspondent"),
    "log": ("debug", "info", "warning", "error"),
}
PORTS = {"imap": {"tls": 993}, "smtp": {"tls": 465}}
OTHER_PORTS = {"imap": 143, "smtp": 587}


def load(path: str) -> Config:
    """Read and check the file, and fetch the secrets."""
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error
    try:
        return check(read(Config, table, ""))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def read(kind: type[Table], table: dict[str, Any], prefix: str) -> Table:
    """Make a dataclass out of a table."""
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    known = [name for name in fields if name not in SECRETS]
    values = {}
    for name, value in table.items():
        if name not in known:
            raise ConfigError(f"unknown setting `{prefix}{name}`; known: {', '.join(known)}")
        default: Any = fields[name].default
        expected = type(default)
        if dataclasses.is_dataclass(default) and isinstance(value, dict):
            value = read(expected, value, f"{name}.")
        elif type(value) is not expected:
            wanted = {str: "a text", int: "a number", bool: "true or false"}.get(
                expected, "a table"
            )
            raise ConfigError(f"`{prefix}{name}` must be {wanted}")
        if name in CHOICES and value not in CHOICES[name]:
            raise ConfigError(f"`{prefix}{name}` must be one of: {', '.join(CHOICES[name])}")
        if isinstance(value, str) and any(not c.isprintable() for c in value):
            raise ConfigError(f"`{prefix}{name}` contains a control character; remove it")
        if name in POSITIVE and value < 1:
            raise ConfigError(f"`{prefix}{name}` is {value}; it must be 1 or more")
        values[name] = value
    return kind(**values)


def check(config: Config) -> Config:
    """Check settings that depend on each other, and fill in defaults and secrets."""
    address = parse_address(config.address)
    if address is None:
        raise ConfigError("`address` is not an e-mail address; set it to that of the agent")
    check_authentication(config.authentication)
    imap = check_server("imap", config.imap, address)
    inherited = config.smtp
    if not (inherited.password_env or inherited.password_file):
        inherited = dataclasses.replace(
            inherited, password_env=imap.password_env, password_file=imap.password_file
        )
    smtp = check_server("smtp", inherited, address)
    token = secret("token", config.token_env, config.token_file)
    return dataclasses.replace(config, address=address, imap=imap, smtp=smtp, token=token)


def check_authentication(config: AuthenticationConfig) -> None:
    """Refuse a configuration that would trust every `From`, except with `mode = "none"`."""
    if config.mode != "none" and not config.authserv_id:
        raise ConfigError(
            "`authentication.authserv_id` is missing. A `From` header can be forged, and the "
            "sender decides about rights. Set it to the name with which your server begins its "
            "`Authentication-Results` headers; open the source of a received mail to see it"
        )


def check_server(name: str, server: Any, address: str) -> Any:
    """Check the settings of a server, and fill in its port, user name and password."""
    if not server.host:
        raise ConfigError(f"`{name}.host` is missing; set it to the name of the server")
    is_open = server.security == "plain" and not is_loopback(server.host)
    if is_open and not server.insecure:
        raise ConfigError(
            f'`{name}.security = "plain"` would send the password and the mail unencrypted to '
            f'{server.host}; use "tls" or "starttls", or set `{name}.insecure = true`'
        )
    if server.ca_file and not os.access(server.ca_file, os.R_OK):
        raise ConfigError(f"`{name}.ca_file`: cannot read {server.ca_file}")
    password = ""
    if getattr(server, "login", True):
        password = secret(f"{name}.password", server.password_env, server.password_file)
        if not password:
            raise ConfigError(f"set `{name}.password_env` or `{name}.password_file`")
    port = server.port or PORTS[name].get(server.security, OTHER_PORTS[name])
    if not 0 < port < 65536:
        raise ConfigError(f"`{name}.port` is {port}; it must be from 1 to 65535")
    username = server.username or address
    return dataclasses.replace(server, port=port, username=username, password=password)


def is_loopback(host: str) -> bool:
    """Return `True` for this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def secret(name: str, variable: str, path: str) -> str:
    """Return a secret from the environment or a file; empty if neither is set."""
    if variable:
        value = os.environ.get(variable, "")
        if not value:
            raise ConfigError(
                f"`{name}_env`: the environment variable {variable} is empty or unset"
            )
        return value
    if not path:
        return ""
    try:
        value = Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"`{name}_file`: cannot read {path}: {reason}") from None
    if not value:
        raise ConfigError(f"`{name}_file`: {path} is empty")
    return value
