"""Iterators over the messages for a chat, or for all chats of an account that a program serves."""

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, cast

from .connection import Connection, Endpoint, Request
from .errors import ConnectionLost
from .following import Following
from .types import (
    AskResult,
    AttachParams,
    AttachResult,
    ChatKind,
    Choice,
    DeliveryChunk,
    ErrorCode,
    HealthReport,
    Hello,
    PublishedCursor,
    PublishedFile,
    ReadFilePiece,
    SentFile,
    StyleRange,
    UntrustedPart,
    TurnEvent,
)

log = logging.getLogger("avocet_client")

ReadFile = Callable[[str, int, int], Awaitable[bytes]]
"""Returns a piece of a file by its reference, offset and greatest length; empty at the end."""

# Any code other than those of `fail` and `refuse` says that the outcome is unknown.
UNKNOWN = -32000


class Delivery:
    """A message for a chat. Call `confirm` when it is shown or stored.

    If the connection was lost meanwhile, the answer has no effect, and the daemon delivers the
    message again, with `repeat`.
    """

    def __init__(self, connection: Connection, request: Request) -> None:
        chunk = cast(DeliveryChunk, request.params)
        self._connection = connection
        self._request = request
        self.id: str = chunk["id"]
        """The number of the delivery."""
        self.nonce: str = chunk.get("nonce", "")
        """The same for each delivery of this message, and for no other message."""
        self.turn: str | None = chunk.get("turn")
        """The turn that wrote the message; `None` if another program sent it."""
        self.chat: str = chunk["chat"]
        """The chat."""
        self.text: str = chunk["text"]
        """The text: plain on a channel that a program serves, otherwise Markdown."""
        self.styles: list[StyleRange] = chunk.get("styles", [])
        """The styles of plain text. Offsets are bytes in UTF-8."""
        self.reply_to: str | None = chunk.get("reply_to")
        """In a group, the key of the message that this one replies to."""
        self.attachments: list[SentFile] = chunk.get("attachments", [])
        """Files, on a channel that a program serves."""
        self.choices: list[Choice] = chunk.get("choices", [])
        """Buttons."""
        self.repeat: bool = chunk.get("repeat", False)
        """`True` if the message may have arrived before."""

    async def confirm(self, platform_id: str | None = None) -> None:
        """Confirm that the message has arrived. `platform_id` is its name on the platform."""
        result = {} if platform_id is None else {"platform_id": platform_id}
        await self._connection.answer(self._request, result)

    async def fail(self, reason: str, retry_after: float | None = None) -> None:
        """Report that the message has not arrived. The daemon delivers it again later.

        `retry_after` is the number of seconds for which the platform asks to wait.
        """
        data = None if retry_after is None else {"retry_after": retry_after}
        await self._connection.refuse(self._request, ErrorCode.UNAVAILABLE, reason, data)

    async def refuse(self, reason: str) -> None:
        """Report that the platform has refused the message permanently."""
        await self._connection.refuse(self._request, ErrorCode.NOT_ALLOWED, reason)

    async def unknown(self, reason: str) -> None:
        """Report that the message may have arrived. The daemon delivers it again, with `repeat`."""
        await self._connection.refuse(self._request, UNKNOWN, reason)

    async def read_file(self, number: int = 0) -> bytes:
        """Read one of the attachments. Call this before the message is confirmed."""
        content = bytearray()
        while True:
            params = {"delivery": self._request.id, "file": number, "offset": len(content)}
            piece = base64.b64decode((await self._connection.call("file.get", params))["data"])
            if not piece:
                return bytes(content)
            content += piece


class Deliveries(Following):
    """An asynchronous iterator of `Delivery`."""

    def __init__(self, endpoint: Endpoint, params: AttachParams) -> None:
        super().__init__(endpoint)
        self._params = params

    async def __anext__(self) -> Delivery:
        while True:
            connection, request = await self._next_request("deliver")
            try:
                return Delivery(connection, request)
            except (KeyError, TypeError, AttributeError) as error:
                # The messages behind this one still arrive.
                log.warning("refusing a message of the daemon that cannot be read: %r", error)
                reason = f"the program cannot read the message: {error!r}"
                await connection.refuse(request, ErrorCode.NOT_ALLOWED, reason)

    async def _begin(self) -> Connection:
        connection = await self._endpoint.connect(self)
        self._attached(await connection.first_call("attach", self._params))
        return connection

    def _attached(self, result: AttachResult) -> None:
        """Take the result of `attach`."""


class Attachment(Deliveries):
    """The messages for a chat, as an asynchronous iterator of `Delivery`."""

    def __init__(
        self, endpoint: Endpoint, chat: str, on_event: Callable[[TurnEvent], None] | None
    ) -> None:
        super().__init__(endpoint, {"chat": chat})
        self._on_event = on_event

    def notify(self, method: str, params: Any) -> None:
        """Pass on an event."""
        if method == "event" and self._on_event is not None:
            self._on_event(params)


class Channel(Deliveries):
    """The messages for all chats of an account that this program serves."""

    def __init__(
        self,
        endpoint: Endpoint,
        hello: Hello,
        params: AttachParams,
        publish: Callable[[dict[str, Any]], Awaitable[AskResult]],
        on_typing: Callable[[str], None] | None,
        read_file: ReadFile | None,
    ) -> None:
        super().__init__(endpoint, params)
        self._hello: Hello = {**endpoint.hello, **hello}
        self._publish = publish
        self._on_typing = on_typing
        self._read_file = read_file
        # The event loop keeps no reference to a task.
        self._reading: set[asyncio.Task[None]] = set()
        self._health: HealthReport | None = None
        self.account: str = params.get("account") or ""
        """The account."""
        self.cursors: dict[str, str] = {}
        """The positions that were published up to the last connection, by scope."""

    async def publish(
        self,
        chat: str,
        sender: str,
        text: str = "",
        *,
        key: str,
        cursor: PublishedCursor | None = None,
        chat_kind: ChatKind = "private",
        sender_name: str | None = None,
        is_bot: bool = False,
        attachments: Iterable[PublishedFile] = (),
        written_at: int | None = None,
        corrects: str | None = None,
        forwarded: Iterable[UntrustedPart] = (),
        quotes: Iterable[UntrustedPart] = (),
        untrusted: Iterable[UntrustedPart] = (),
    ) -> AskResult:
        """Bring in a message of a person. It counts as accepted when this returns.

        `text` is what the person typed, and nothing else. Text of others within the message goes
        into `forwarded`, `quotes` or `untrusted`: the agent does not take orders from it.

        `key` is the platform's name for the message; a repeated key changes nothing. `cursor` is
        stored with the message. After a transient error, publish the message again. Any other
        error is final: the message is refused, and the cursor has moved.
        """
        params = {
            "chat": chat,
            "chat_kind": chat_kind,
            "sender": sender,
            "sender_name": sender_name,
            "is_bot": is_bot,
            "key": key,
            "text": text,
            "attachments": list(attachments),
            "written_at": written_at,
            "corrects": corrects,
            "cursor": cursor,
            "forwarded": list(forwarded),
            "quotes": list(quotes),
            "untrusted": list(untrusted),
        }
        return await self._publish(params)

    async def move_cursor(self, position: str, scope: str = "") -> None:
        """Store a position without a message. It is stored when this returns."""
        connection = await self._connected()
        if connection is None:
            raise ConnectionLost("the channel is closed")
        account = {"channel": self._params["channel"], "account": self.account}
        cursor: PublishedCursor = {"scope": scope, "position": position}
        await connection.call("cursor.move", {**account, "cursor": cursor})

    async def withdraw_message(self, chat: str, key: str) -> None:
        """Take back a message that was deleted on the platform: it gets no answer any more.

        A message that is unknown or answered changes nothing.
        """
        connection = await self._connected()
        if connection is None:
            raise ConnectionLost("the channel is closed")
        await connection.call("message.withdraw", {"chat": chat, "key": key})

    async def report_health(self, up: bool, reason: str | None = None) -> None:
        """Report the state of the platform, for `avocet status`. It is sent when it changes."""
        report: HealthReport = {"up": up} if up or reason is None else {"up": up, "reason": reason}
        if report != self._health:
            self._health = report
            if self._connection is not None:
                await self._connection.notify("health", report)

    def notify(self, method: str, params: Any) -> None:
        """Pass on that the agent works on an answer."""
        if method == "typing" and self._on_typing is not None:
            self._on_typing(params["chat"])

    def take(self, connection: Connection, request: Request) -> bool:
        """Answer a request for a piece of a file while the program does other work."""
        if request.method != "file.read":
            return False
        task = asyncio.get_running_loop().create_task(self._answer_file(connection, request))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)
        return True

    async def _answer_file(self, connection: Connection, request: Request) -> None:
        params = cast(ReadFilePiece, request.params)
        reference = params["reference"]
        try:
            if self._read_file is None:
                raise FileNotFoundError(f"the program has no files, and no {reference!r}")
            piece = await self._read_file(reference, params["offset"], params["length"])
        except FileNotFoundError as error:
            await connection.refuse(request, ErrorCode.NOT_FOUND, str(error))
        except Exception as error:
            # The agent gets the error of the file.
            await connection.refuse(request, ErrorCode.UNAVAILABLE, str(error))
        else:
            await connection.answer(request, {"data": base64.b64encode(piece).decode()})

    async def _begin(self) -> Connection:
        connection = await self._endpoint.open(self)
        await connection.first_call("hello", self._hello)
        self._attached(await connection.first_call("attach", self._params))
        if self._health is not None:
            await connection.notify("health", self._health)
        return connection

    def _attached(self, result: AttachResult) -> None:
        self.cursors = result.get("cursors", {})
