"""The receiving half: publishes new mail, and marks it as seen after the commit."""

import asyncio
import random
import time
from collections import OrderedDict, deque
from datetime import UTC, datetime
from typing import Any, NamedTuple

from avocet_client import AvocetError, Channel, ErrorCode

from .addresses import chat_id
from .config import MEGABYTE, Config
from .imap import Folder, Imap, ImapError, ImapRefused, string
from .log import log, shown
from .mail import Envelope, Skip, parse, read_envelope, read_files, read_text, too_large
from .mailbox import Mailbox, file_reference

HOUR = 3600
MAX_WATCHED = 10_000
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 120.0


class Position(NamedTuple):
    """The mail from which to continue."""

    validity: int
    # The last mail that was accepted, or the one after the last that was skipped. An accepted mail
    # is read again after a start, in case its flags are not set yet.
    uid: int
    # The latest arrival, in seconds since 1970. It finds the place after a change of UIDVALIDITY.
    arrived: int

    def __str__(self) -> str:
        return f"{self.validity} {self.uid} {self.arrived}"


def parse_position(text: str) -> Position | None:
    """Parse a stored position; `None` if there is none."""
    try:
        return Position(*map(int, text.split()))
    except (ValueError, TypeError):
        return None


class Guard:
    """Counts the mails of each correspondent, so that no loop of mails runs for long."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def allows(self, address: str, arrived: float) -> bool:
        """Count a mail. Return `False` if there were too many within an hour."""
        times = self._times.setdefault(address, deque())
        self._times.move_to_end(address)
        if len(self._times) > MAX_WATCHED:
            self._times.popitem(last=False)
        while times and times[0] <= arrived - HOUR:
            times.popleft()
        if len(times) >= self._most:
            return False
        times.append(arrived)
        return True

    def forget_last(self, address: str) -> None:
        """Undo the count of a mail that was already known, or that is read again."""
        if times := self._times.get(address):
            times.pop()


class Intake:
    """Reads the folder and follows it."""

    def __init__(self, config: Config, channel: Channel, mailbox: Mailbox) -> None:
        self._config = config
        self._channel = channel
        self._mailbox = mailbox
        self._guard = Guard(config.max_answers_per_hour)
        self._position: Position | None = None
        self._pause = FIRST_PAUSE

    async def run(self) -> None:
        """Receive until the task is cancelled. A lost connection is opened again."""
        while True:
            try:
                async with await self._mailbox.connect() as imap:
                    await self._follow(imap)
            except ImapError as error:
                # Half of the pause is random, so that many clients do not return at once.
                seconds = self._pause * random.uniform(0.5, 1)
                self._pause = min(self._pause * 2, LONGEST_PAUSE)
                log.warning("cannot read mail: %s; trying again in %.1f s", error, seconds)
                await self._channel.report_health(False, f"cannot read mail: {error}")
                await asyncio.sleep(seconds)

    async def _follow(self, imap: Imap) -> None:
        config = self._config.imap
        if config.move_to:
            await create(imap, config.move_to)
        folder = await imap.select(config.folder)
        await self._channel.report_health(True)
        if self._position is None:
            self._position = parse_position(self._channel.cursors.get(config.folder, ""))
        if self._position is None:
            log.info("first start: mail from now on is read; older mail stays as it is")
            await self._skip(Position(folder.validity, folder.next, int(time.time())))
        waits = "IDLE" if "IDLE" in imap.capabilities else f"polls every {config.poll_seconds} s"
        log.info("reading %s on %s:%d (%s)", config.folder, config.host, config.port, waits)
        if self._position and self._position.validity != folder.validity:
            await self._recover(imap, folder)
        while True:
            imap.is_news = False
            first = self._position.uid if self._position else folder.next
            # `*` is the last mail, even if its UID is lower.
            for uid in await imap.search("UID", f"{first}:*"):
                if uid >= first:
                    await self._take(imap, folder, uid)
            self._pause = FIRST_PAUSE
            if not imap.is_news:
                await imap.wait()

    async def _recover(self, imap: Imap, folder: Folder) -> None:
        """Find the place in a folder whose UIDs have changed, by the time of arrival."""
        assert self._position is not None
        since = self._position.arrived
        log.warning(
            "UIDVALIDITY of the folder has changed; reading mail since %s again", day(since)
        )
        # SEARCH knows days without a time zone.
        for uid in await imap.search("SINCE", day(since - 24 * HOUR)):
            values = await imap.fetch(uid, "UID", "INTERNALDATE")
            if values is not None and arrival(values) >= since:
                await self._take(imap, folder, uid)
        if self._position.validity != folder.validity:
            await self._skip(Position(folder.validity, folder.next, since))

    async def _take(self, imap: Imap, folder: Folder, uid: int) -> None:
        """Publish a mail, or skip it."""
        items = ("UID", "INTERNALDATE", "RFC822.SIZE", "BODY.PEEK[HEADER]")
        values = await imap.fetch(uid, *items)
        if values is None:
            return
        arrived = arrival(values)
        latest = max(arrived, self._position.arrived if self._position else 0)
        here = Position(folder.validity, uid, latest)
        try:
            envelope = read_envelope(parse(bytes(values.get("BODY[HEADER]", b""))), self._config)
            if not self._guard.allows(envelope.author.address, arrived):
                most = self._config.max_answers_per_hour
                raise Skip(f"{most} mails of {envelope.author.address} came within an hour")
            message = await self._read(imap, here, envelope, values)
        except Skip as reason:
            log.info("mail %d is left unread: %s", uid, shown(reason, 400))
            await self._skip(here._replace(uid=uid + 1))
            return
        except ImapError:
            # The mail is read again after the next connection.
            self._guard.forget_last(envelope.author.address)
            raise
        except Exception:
            log.exception(
                "mail %d is left unread: it cannot be read; please report this fault", uid
            )
            await self._skip(here._replace(uid=uid + 1))
            return
        await self._publish(imap, here, envelope, message)

    async def _read(
        self, imap: Imap, here: Position, envelope: Envelope, values: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the text and the files of a mail."""
        size = int(values.get("RFC822.SIZE", b"0"))
        if too_large(size, self._config):
            most = self._config.max_message_megabytes
            text = (
                f"(A mail of {size // MEGABYTE} MB came. It was not read: the limit is {most} MB.)"
            )
            return {"text": f"Subject: {envelope.subject}\n\n{text}"}
        whole = await imap.fetch(here.uid, "UID", "BODY.PEEK[]")
        if whole is None:
            raise Skip("it was removed meanwhile")
        message = parse(bytes(whole.get("BODY[]", b"")))
        files = read_files(message, self._config.max_message_megabytes * MEGABYTE)
        place = (here.validity, here.uid, envelope.message_id)
        references = [file_reference(*place, number) for number in range(len(files))]
        self._mailbox.keep(references, files)
        attachments = [
            {
                "reference": reference,
                "kind": file.kind,
                "name": file.name,
                "media_type": file.media_type,
                "bytes": len(file.content),
            }
            for reference, file in zip(references, files, strict=True)
        ]
        content = read_text(message, envelope, self._config)
        return {**content.published(), "attachments": attachments}

    async def _publish(
        self, imap: Imap, here: Position, envelope: Envelope, message: dict[str, Any]
    ) -> None:
        address = envelope.author.address
        # Remembered first, because an answer may come before the result.
        self._mailbox.remember(envelope)
        try:
            accepted = await self._channel.publish(
                chat_id(self._config.account, envelope.chat),
                address,
                key=envelope.key,
                sender_name=envelope.author.name or None,
                written_at=envelope.written_at,
                cursor={"scope": self._config.imap.folder, "position": str(here)},
                **message,
            )
        except AvocetError as error:
            if error.is_transient:
                self._guard.forget_last(address)
                raise ImapError(f"the daemon cannot take mail: {error}") from error
            log.info("mail %d of %s was not accepted: %s", here.uid, address, shown(error, 400))
            if error.code == ErrorCode.PARAMS:
                # Refused before the daemon has stored the position.
                await self._skip(here._replace(uid=here.uid + 1))
        else:
            if accepted["duplicate"]:
                self._guard.forget_last(address)
            log.info("mail %d of %s is message %s", here.uid, address, accepted["message"])
            await self._mark(imap, here.uid)
        self._position = here._replace(uid=here.uid + 1)

    async def _mark(self, imap: Imap, uid: int) -> None:
        try:
            await imap.mark_seen(uid)
            if self._config.imap.move_to:
                await imap.move(uid, self._config.imap.move_to)
        except ImapRefused as error:
            log.warning(
                "cannot mark or move mail %d: %s; check the rights on the folder", uid, error
            )

    async def _skip(self, position: Position) -> None:
        """Store a position without a message."""
        try:
            await self._channel.move_cursor(str(position), self._config.imap.folder)
        except AvocetError as error:
            if error.is_transient:
                raise ImapError(f"the daemon cannot store a position: {error}") from error
            if error.code == ErrorCode.PARAMS:
                log.error("the daemon has not stored a position: %s", error)
        self._position = position


async def create(imap: Imap, folder: str) -> None:
    """Create a folder. A server refuses that for one that exists."""
    try:
        await imap.command("CREATE", string(folder))
    except ImapRefused as error:
        log.debug("CREATE %s: %s", folder, error)


def day(seconds: float) -> str:
    """Return a date as SEARCH needs it."""
    months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    date = datetime.fromtimestamp(seconds, UTC)
    return f"{date.day}-{months[date.month - 1]}-{date.year}"


def arrival(values: dict[str, Any]) -> int:
    """Return the time at which the server has received the mail, in seconds since 1970."""
    try:
        text = bytes(values["INTERNALDATE"]).decode("ascii").strip()
        return int(datetime.strptime(text, "%d-%b-%Y %H:%M:%S %z").timestamp())
    except (KeyError, ValueError, TypeError):
        return int(time.time())
