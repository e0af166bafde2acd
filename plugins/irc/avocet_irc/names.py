"""Ids for Avocet: chats, people and keys, made of names that anyone on IRC can choose."""

import hashlib
import re

# Longest chat id in bytes, so that the id of the session has room for channel and account.
MAX_CHAT_BYTES = 150
_UNSAFE = re.compile(r"[%:/\\\x00-\x1f\x7f-\x9f]|(?<=\.)\.")
_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")
_KEY = re.compile(r"[A-Za-z0-9_~+=-]{1,200}")


def encode(name: str) -> str:
    """Write a name with `%XX` for characters that an id may not have."""
    return _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), name)


def decode(name: str) -> str:
    """Undo `encode`. Raises `ValueError` for a name that `encode` has not written."""
    decoded = _ESCAPED.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode(), name)
    if encode(decoded) != name:
        raise ValueError(f"{name!r} is not the id of a chat")
    return decoded


def is_usable(name: str) -> bool:
    """Return `True` if a name fits into an id."""
    return bool(name) and len(encode(name).encode()) <= MAX_CHAT_BYTES


def key_of_msgid(msgid: str) -> str:
    """Return the key of a message with an id. Ids with unusual characters are hashed."""
    return f"m{msgid}" if _KEY.fullmatch(msgid) else "h" + digest(msgid)


def msgid_of_key(key: str) -> str | None:
    """Return the id of the message with this key; `None` if the key does not have it."""
    return key[1:] if key.startswith("m") else None


def digest(*parts: str) -> str:
    """Return a short hash of texts."""
    joined = "\0".join(parts).encode("utf-8", "replace")
    return hashlib.sha256(joined).hexdigest()[:40]
