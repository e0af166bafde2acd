"""The people and private chats of IRC, as ids for Avocet.

A nickname proves nothing, so the id has the account of the network or the host, by `identity`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .connection import Whois
from .names import encode
from .wire import Message

Fold = Callable[[str], str]


@dataclass(frozen=True)
class Person:
    """The author of a message."""

    sender: str
    chat: str


def person(message: Message, identity: str, fold: Fold) -> Person:
    """Return the ids of the author and of the private chat with them."""
    nick = fold(message.nick)
    mask = fold(message.source)
    if identity == "nick":
        return Person(encode(nick), encode(nick))
    if identity == "host":
        return Person(encode(mask), encode(mask))
    account = fold(message.tags.get("account", ""))
    if not account or any(char in account for char in "!@*~"):
        # No account begins with `~`, so this id cannot be registered.
        return Person(encode(f"~{mask}"), encode(f"{nick}@*"))
    return Person(encode(account), encode(nick if nick == account else f"{nick}@{account}"))


def nick_of(chat: str) -> str:
    """Return the nickname in the decoded id of a private chat."""
    return chat.split("!", 1)[0].split("@", 1)[0]


def is_same(chat: str, found: Whois, identity: str, fold: Fold) -> bool:
    """Return `True` if the person who has the nickname now is the person of the chat."""
    nick, _, rest = chat.partition("@")
    if identity == "nick":
        return True
    if identity == "host":
        return chat == f"{nick_of(chat)}!{fold(found.user)}@{fold(found.host)}"
    if rest == "*":
        return not found.account
    account = rest or nick
    return fold(found.account) == account or (
        found.has_own_nick and not found.account and nick == account
    )
