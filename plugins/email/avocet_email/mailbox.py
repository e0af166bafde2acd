"""The mailbox as a memory: threads and files are read again when the program needs them."""

import asyncio
import json
from collections import OrderedDict

from .addresses import Chat
from .compose import Thread
from .config import MEGABYTE, Config
from .imap import Imap
from .mail import Envelope, MailFile, Skip, parse, read_envelope, read_files

MAX_THREADS = 1000
# Mails of a correspondent that are searched for a thread, the newest first.
MAX_SEARCHED = 100
MAX_CACHE = 64 * MEGABYTE


class Mailbox:
    """Caches recently used threads and files, and reads others from the server."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._threads: OrderedDict[Chat, Thread] = OrderedDict()
        self._files: OrderedDict[str, bytes] = OrderedDict()
        self._one_at_a_time = asyncio.Lock()

    async def connect(self) -> Imap:
        """Open a second connection, because the connection of the intake waits for mail."""
        config = self._config
        return await Imap.connect(config.imap, config.max_message_megabytes * MEGABYTE)

    @property
    def _folders(self) -> list[str]:
        imap = self._config.imap
        return [imap.folder, imap.move_to] if imap.move_to else [imap.folder]

    def remember(self, envelope: Envelope) -> None:
        """Keep the newest mail of a chat."""
        thread = Thread(envelope.message_id, envelope.references, envelope.subject)
        self._threads[envelope.chat] = thread
        self._threads.move_to_end(envelope.chat)
        if len(self._threads) > MAX_THREADS:
            self._threads.popitem(last=False)

    async def thread(self, chat: Chat) -> Thread | None:
        """Return the mail to which the next answer refers; `None` to begin a thread."""
        if chat not in self._threads:
            async with self._one_at_a_time, await self.connect() as imap:
                for folder in self._folders:
                    await imap.select(folder)
                    if (envelope := await self._newest(imap, chat)) is not None:
                        self.remember(envelope)
                        break
        return self._threads.get(chat)

    async def _newest(self, imap: Imap, chat: Chat) -> Envelope | None:
        found = await imap.search("FROM", f'"{chat.address}"')
        for uid in reversed(found[-MAX_SEARCHED:]):
            values = await imap.fetch(uid, "UID", "BODY.PEEK[HEADER]")
            try:
                envelope = read_envelope(
                    parse((values or {}).get("BODY[HEADER]", b"")), self._config
                )
            except Skip:
                continue
            if envelope.chat == chat:
                return envelope
        return None

    def keep(self, references: list[str], files: list[MailFile]) -> None:
        """Keep the content of files that the daemon will probably read soon."""
        for reference, file in zip(references, files, strict=False):
            self._files[reference] = file.content
            self._files.move_to_end(reference)
        while len(self._files) > 1 and sum(map(len, self._files.values())) > MAX_CACHE:
            self._files.popitem(last=False)

    async def read_file(self, reference: str, offset: int, length: int) -> bytes:
        """Return a piece of a file. Raises `FileNotFoundError` if its mail is gone."""
        if reference not in self._files:
            async with self._one_at_a_time:
                if reference not in self._files:
                    await self._load(reference)
        return self._files[reference][offset : offset + length]

    async def _load(self, reference: str) -> None:
        try:
            place = json.loads(reference)
            validity, uid, name = int(place["validity"]), int(place["uid"]), str(place["id"])
        except (ValueError, KeyError, TypeError):
            raise FileNotFoundError(f"{reference!r} is no file of a mail") from None
        async with await self.connect() as imap:
            raw = await self._mail(imap, validity, uid, name)
        if raw is None:
            raise FileNotFoundError("the mail with this file is gone from the mailbox")
        try:
            files = read_files(parse(raw), self._config.max_message_megabytes * MEGABYTE)
        except Skip as error:
            raise FileNotFoundError(str(error)) from None
        names = [file_reference(validity, uid, name, number) for number in range(len(files))]
        self.keep(names, files)
        if reference not in self._files:
            raise FileNotFoundError("the mail has no such file")

    async def _mail(self, imap: Imap, validity: int, uid: int, name: str) -> bytes | None:
        folder, *others = self._folders
        if (await imap.select(folder)).validity == validity:
            values = await imap.fetch(uid, "UID", "BODY.PEEK[]")
            if values is not None:
                return bytes(values.get("BODY[]", b""))
        for other in [*others, folder]:
            await imap.select(other)
            # A message id has no quotes and no backslash, except in forms that are not searched.
            if name and name.isascii() and not set(name) & set('"\\'):
                for found in await imap.search("HEADER", "Message-ID", f'"{name}"'):
                    values = await imap.fetch(found, "UID", "BODY.PEEK[]")
                    if values is not None:
                        return bytes(values.get("BODY[]", b""))
        return None


def file_reference(validity: int, uid: int, message_id: str, number: int) -> str:
    """Return the name of a file of a mail. The message id finds the mail after it was moved."""
    name = message_id if len(message_id) < 600 else ""
    place = {"validity": validity, "uid": uid, "id": name, "file": number}
    return json.dumps(place, separators=(",", ":"))
