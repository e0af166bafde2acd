"""The channel: joins the connection to the IRC server with the connection to the daemon."""

import asyncio
import contextlib
import logging
import secrets
import time
from collections import OrderedDict, deque
from typing import Any

from avocet_client import AvocetError, Channel, Client

from . import history, wire
from .backoff import Backoff
from .connection import Connection
from .errors import Lost
from .inbound import Converter, Inbound, written
from .names import decode
from .outbound import Outbound
from .people import nick_of
from .settings import Settings
from .wire import Message

log = logging.getLogger("avocet_irc")

# Messages that wait for the daemon. Beyond them, the program leaves the server until there is room.
MOST_WAITING = 5000
# Ids of the agent's own messages, to recognise answers to them.
MOST_OWN = 1000
MOST_SEEN = 1000
# Seconds between two typing notices in a chat ("typing client tag": at most one in 3 s).
TYPING_SECONDS = 3.0
# A connection that lived this long resets the pauses between attempts.
STABLE_SECONDS = 60.0
STOP_SECONDS = 5.0


class Bridge:
    """Serves the account until `stop` is called."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self.settings = settings
        self.seen: dict[str, tuple[str, float]] = {}
        self._client = client
        self._channel: Channel | None = None
        self._connection: Connection | None = None
        self._is_connected = asyncio.Event()
        self._is_stopping = asyncio.Event()
        self._waiting: deque[Inbound] = deque()
        self._has_waiting = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        # Live messages that wait until the older ones are read; `None` if they do not wait.
        self._held: list[tuple[Message, bool]] | None = None
        # The time of the last message that was committed, or is in `_waiting`.
        self._position = ""
        self._own: OrderedDict[str, None] = OrderedDict()
        self._keys = (f"c{secrets.token_hex(8)}", 0)
        self._typed: dict[str, float] = {}
        self._outbound = Outbound(self)
        self._deliveries: set[asyncio.Task[None]] = set()
        self._lost = 0

    def stop(self) -> None:
        """End in order: answer the deliveries that run, commit waiting messages, say goodbye."""
        self._is_stopping.set()

    async def run(self) -> None:
        """Serve. Raises `Refused`, or `AvocetError` if the daemon refuses the program."""
        self._channel = await self._attach()
        if self._channel is None:
            return
        self._position = self._channel.cursors.get("", "")
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(work)
            for work in (self._serve_irc(), self._publish(), self._deliver(self._channel))
        ]
        stopping = asyncio.create_task(self._is_stopping.wait())
        try:
            done, _ = await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
            if stopping in done:
                await self._drain()
        finally:
            await self._close([*tasks, stopping])
        for task in done - {stopping}:
            task.result()

    async def _attach(self) -> Channel | None:
        """Attach to the account, as soon as the daemon runs. Returns `None` after `stop`."""
        settings, backoff = self.settings, Backoff(30.0)
        while not self._is_stopping.is_set():
            channel = self._client.channel(
                settings.account,
                max_text=settings.max_text,
                on_typing=self._typing,
            )
            opening = asyncio.create_task(channel.open())
            stopping = asyncio.create_task(self._is_stopping.wait())
            await asyncio.wait([opening, stopping], return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not opening.done():
                opening.cancel()
                await channel.close()
                return None
            try:
                opening.result()
            except AvocetError as error:
                await channel.close()
                if not error.is_transient:
                    raise
                pause = backoff.next()
                log.warning("%s; trying again in %.1f s", error, pause)
                await self._pause(pause)
            else:
                return channel
        return None

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_stopping.wait()

    async def _drain(self) -> None:
        """Give messages and deliveries that are under way a short time."""
        log.info("stopping")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                while self._waiting:
                    self._has_room.clear()
                    await self._has_room.wait()
                if self._deliveries:
                    await asyncio.wait(self._deliveries)

    async def _close(self, tasks: list[asyncio.Task[Any]]) -> None:
        if self._connection is not None:
            await self._connection.quit("the program was stopped")
        for task in [*tasks, *self._deliveries]:
            task.cancel()
        await asyncio.gather(*tasks, *self._deliveries, return_exceptions=True)
        if self._channel is not None:
            await self._channel.close()
        if self._waiting and not self._can_read_again():
            log.error("%d messages were not given to the daemon and are lost", len(self._waiting))

    def _can_read_again(self) -> bool:
        return self._connection is not None and self._connection.has_history

    async def _serve_irc(self) -> None:
        backoff = Backoff(self.settings.longest_pause_seconds)
        while True:
            await self._has_room.wait()
            began = time.monotonic()
            try:
                await self._one_connection()
            except Lost as error:
                if time.monotonic() - began >= STABLE_SECONDS:
                    backoff.reset()
                pause = backoff.next()
                log.warning(
                    "%s: %s; connecting again in %.1f s", self.settings.server, error, pause
                )
                await self._report_health(False, f"{self.settings.server}: {error}")
                await asyncio.sleep(pause)

    async def _report_health(self, up: bool, reason: str | None = None) -> None:
        """Report the state of the connection to the server, for `avocet status`."""
        assert self._channel is not None
        await self._channel.report_health(up, reason)

    async def _one_connection(self) -> None:
        connection = Connection(self.settings, self._take, self._gone)
        self._connection = connection
        self.seen.clear()
        tasks = []
        try:
            await connection.connect()
            self._converter = Converter(
                self.settings, connection, self._own.__contains__, self._next_key
            )
            self._held = []
            tasks = [
                asyncio.create_task(connection.run()),
                asyncio.create_task(self._begin(connection)),
            ]
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            # The reading task knows the reason best.
            for task in tasks:
                if task in done:
                    task.result()
        finally:
            self._is_connected.clear()
            await connection.quit("leaving")
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if not (connection.has_history and self._position):
                self._release([])
            self._held = None

    async def _begin(self, connection: Connection) -> None:
        """Join and read old messages after the registration, then look after the nickname."""
        try:
            async with asyncio.timeout(self.settings.timeout_seconds * 2):
                await asyncio.shield(connection.ready)
        except TimeoutError:
            raise Lost("the server does not complete the registration") from None
        log.info("registered on %s as %s", self.settings.server, connection.nick)
        self._is_connected.set()
        await self._report_health(True)
        if bot := connection.support.get("BOT", ""):
            await connection.write(wire.line("MODE", connection.nick, f"+{bot[:1]}"))
        await self._join(connection)
        # The answer has the address of the agent as other people see it.
        await connection.write(wire.line("WHOIS", connection.nick))
        await connection.barrier()
        await self._catch_up(connection)
        while True:
            await asyncio.sleep(self.settings.ping_seconds)
            await self._join(connection)
            if not connection.is_me(self.settings.nick):
                await connection.write(wire.line("NICK", self.settings.nick))

    async def _join(self, connection: Connection) -> None:
        for channel in self.settings.channels:
            name, _, key = channel.partition(" ")
            if connection.fold(name) not in connection.joined:
                await connection.write(connection.join(name, key))

    async def _catch_up(self, connection: Connection) -> None:
        if not connection.has_history:
            log.warning(
                "%s keeps no messages (draft/chathistory): messages that people write while this "
                "program is not connected are lost",
                self.settings.server,
            )
            self._release([])
            return
        if not self._position:
            await self._set_first_position(connection)
            self._release([])
            return
        names = [channel.partition(" ")[0] for channel in self.settings.channels]
        joined = [name for name in names if connection.fold(name) in connection.joined]
        old = await history.read(connection, self._position, joined, self.settings.history)
        log.info("read %d messages since %s", len(old), self._position)
        self._release([(message, True) for message in old])

    async def _set_first_position(self, connection: Connection) -> None:
        """Store the present time as the position, so that an early crash loses no message."""
        now = connection.server_time or written(time.time())
        assert self._channel is not None
        with contextlib.suppress(AvocetError):
            await self._channel.move_cursor(now)
        self._position = now

    def _release(self, old: list[tuple[Message, bool]]) -> None:
        """Queue old messages, then the live ones that have arrived meanwhile."""
        held, self._held = self._held or [], None
        keys: set[tuple[str, str]] = set()
        for message, is_old in [*old, *held]:
            try:
                self._queue(message, is_old, keys)
            except Lost:
                raise
            except Exception:
                # The server would send it again after the next start.
                log.exception("skipping %s of the server", message.command)

    def _take(self, message: Message, is_old: bool) -> None:
        if self._is_stopping.is_set() and self._can_read_again():
            return
        if self._held is not None:
            if len(self._held) >= MOST_WAITING:
                raise Lost("too many messages arrived before the older ones were read")
            self._held.append((message, is_old))
        else:
            self._queue(message, is_old, None)

    def _queue(self, message: Message, is_old: bool, keys: set[tuple[str, str]] | None) -> None:
        connection = self._connection
        if connection is None:
            return
        if connection.is_me(message.nick):
            self.remember(message.tags.get("msgid", ""))
            return
        inbound = self._converter.convert(message, is_old)
        if inbound is None:
            return
        if keys is not None:
            name = (inbound.params["chat"], inbound.params["key"])
            if name in keys:
                return
            keys.add(name)
        if len(self._waiting) >= MOST_WAITING and keys is None:
            self._overflow(connection)
            return
        if inbound.params["chat_kind"] == "private" and not is_old:
            self._saw(inbound)
        position = max(self._position, inbound.time)
        if inbound.time and connection.has_history:
            self._position = position
            inbound.params["cursor"] = {"position": position}
        self._waiting.append(inbound)
        self._has_waiting.set()

    def _overflow(self, connection: Connection) -> None:
        if connection.has_history:
            # The messages are read again after the next connection, from the position on.
            self._has_room.clear()
            raise Lost(
                f"{MOST_WAITING} messages wait for the daemon; leaving until it has taken them"
            )
        self._lost += 1
        if self._lost.bit_count() == 1:
            log.error("%d messages are lost: the daemon does not take messages", self._lost)

    def _saw(self, inbound: Inbound) -> None:
        if len(self.seen) >= MOST_SEEN:
            self.seen.clear()
        chat = decode(inbound.params["chat"].split(":", 2)[2])
        self.seen[nick_of(chat)] = (chat, asyncio.get_running_loop().time())

    def _gone(self, nick: str) -> None:
        if self._connection is not None:
            self.seen.pop(self._connection.fold(nick), None)

    def _next_key(self) -> str:
        connection, number = self._keys
        self._keys = (connection, number + 1)
        return f"{connection}-{number + 1}"

    async def _publish(self) -> None:
        """Give messages to the daemon, one after the other, each until its commit."""
        assert self._channel is not None
        backoff = Backoff(10.0)
        while True:
            while not self._waiting:
                self._has_waiting.clear()
                await self._has_waiting.wait()
            inbound = self._waiting[0]
            try:
                await self._channel.publish(**inbound.params)
            except AvocetError as error:
                if error.is_transient:
                    pause = backoff.next()
                    waiting = len(self._waiting)
                    log.warning(
                        "cannot publish: %s; %d messages wait; again in %.1f s",
                        error,
                        waiting,
                        pause,
                    )
                    await asyncio.sleep(pause)
                    continue
                log.info("a message of %s is not taken: %s", inbound.params["sender"], error)
            backoff.reset()
            self._waiting.popleft()
            if len(self._waiting) <= MOST_WAITING // 2:
                self._has_room.set()

    async def _deliver(self, channel: Channel) -> None:
        async for delivery in channel:
            task = asyncio.create_task(self._outbound.deliver(delivery))
            self._deliveries.add(task)
            task.add_done_callback(self._delivered)

    def _delivered(self, task: asyncio.Task[None]) -> None:
        self._deliveries.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a delivery has failed", exc_info=error)

    def _typing(self, chat: str) -> None:
        connection, now = self._connection, time.monotonic()
        if (
            connection is None
            or not self._is_connected.is_set()
            or "message-tags" not in connection.caps
        ):
            return
        if now - self._typed.get(chat, -TYPING_SECONDS) < TYPING_SECONDS:
            return
        with contextlib.suppress(ValueError, IndexError):
            name = decode(chat.split(":", 2)[2])
            target = name if connection.is_channel(name) else nick_of(name)
            if connection.write_spare(wire.line("TAGMSG", target, tags={"+typing": "active"})):
                if len(self._typed) >= MOST_SEEN:
                    self._typed.clear()
                self._typed[chat] = now

    async def connection(self, seconds: float) -> Connection | None:
        """Return the registered connection, or wait for one."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_connected.wait()
        return self._connection if self._is_connected.is_set() else None

    def wants(self, channel: str) -> bool:
        """Return `True` for a channel of the settings."""
        fold = self._connection.fold if self._connection else str.lower
        return fold(channel) in {fold(each.partition(" ")[0]) for each in self.settings.channels}

    def remember(self, msgid: str) -> None:
        """Keep the id of a message of the agent, so that answers to it are recognised."""
        if msgid:
            self._own[msgid] = None
            if len(self._own) > MOST_OWN:
                self._own.popitem(last=False)
