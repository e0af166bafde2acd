"""E-mail addresses, and the ids of their chats."""

import hashlib
import re
from typing import NamedTuple

from .headers import decoded

# An address that can be a part of a chat's address without escapes.
LOCAL = r"[A-Za-z0-9!#$%&'*+=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+=?^_`{|}~-]+)*"
DOMAIN = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*"
ADDRESS = re.compile(rf"{LOCAL}@{DOMAIN}")
MAX_ADDRESS = 150

PHRASE = r'(?:"(?:[^"\\]|\\.)*"|[^<>()@,;:\\"])*'
# The only forms of a `From` that are accepted. All parsers read them in the same way.
NAMED = re.compile(rf"(?P<name>{PHRASE})<(?P<address>[^<>\s]+)>", re.DOTALL)
COMMENTED = re.compile(r"(?P<address>[^<>()\s]+)\s*\((?P<name>[^()\\]*)\)")
BARE = re.compile(r"(?P<address>[^<>()\s]+)(?P<name>)")
MAX_AUTHOR = 1000


class Author(NamedTuple):
    """The author of a mail."""

    address: str
    name: str


class Chat(NamedTuple):
    """A correspondent, and the thread if threads are chats."""

    address: str
    thread: str


def parse_address(text: str) -> str | None:
    """Return the address in lower case; `None` if it has another form."""
    if len(text) > MAX_ADDRESS or not ADDRESS.fullmatch(text):
        return None
    return text.lower()


def parse_author(value: str) -> Author | None:
    """Parse a `From` header with exactly one address; `None` for anything else."""
    stripped = value.strip()
    if len(stripped) > MAX_AUTHOR:
        return None
    for form in (NAMED, COMMENTED, BARE):
        if found := form.fullmatch(stripped):
            address = parse_address(found["address"])
            name = re.sub(r"\\(.)", r"\1", found["name"].strip().strip('"'))
            return address and Author(address, decoded(name)[:100])  # type: ignore[return-value]
    return None


def domain_of(address: str) -> str:
    """Return the part behind the `@`."""
    return address.rpartition("@")[2]


def thread_of(root: str, address: str) -> str:
    """Return the short name of the thread that begins with the message `root`."""
    content = f"{root}\0{address}".encode("utf-8", "surrogateescape")
    return hashlib.sha256(content).hexdigest()[:16]


def chat_id(account: str, chat: Chat) -> str:
    """Return the address of a chat in the daemon."""
    whole = f"external:{account}:{chat.address}"
    return f"{whole}:{chat.thread}" if chat.thread else whole


def parse_chat(text: str) -> Chat | None:
    """Parse the address of a chat in the daemon; `None` if its chat is not an e-mail address."""
    _, _, rest = text.split(":", 2)
    name, _, thread = rest.partition(":")
    address = parse_address(name)
    return address and Chat(address, thread)  # type: ignore[return-value]
