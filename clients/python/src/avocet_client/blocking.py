"""The client for programs without an event loop."""

import asyncio
import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Literal, Self, Unpack, overload

from .chats import Attachment, Delivery
from .client import RETRY_SECONDS, Client
from .following import Subscription
from .types import AskResult, LogEvent, MessageStatus, PublishParams, SendResult


class BlockingClient:
    """Works as `Client`, and returns when the work is done. For one thread only."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        client: str | None = None,
        token: str | None = None,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._runner = asyncio.Runner()
        self._client = Client(path, client=client, token=token, retry_seconds=retry_seconds)

    def __enter__(self) -> Self:
        try:
            self.connect()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def connect(self) -> None:
        """Connect to the daemon. Without this call, the first request connects."""
        self._runner.run(self._client.connect())

    def close(self) -> None:
        """End all connections, those of iterators included."""
        self._runner.run(self._client.close())
        self._runner.close()

    def call(self, method: str, params: Any = None, *, repeat: bool = False) -> Any:
        """Call any method of the socket and return its result. See `Client.call`."""
        return self._runner.run(self._client.call(method, params, repeat=repeat))

    @overload
    def ask(
        self,
        session: str,
        text: str,
        key: str | None = None,
        wait: Literal[True] = True,
        *,
        timeout: float | None = None,
    ) -> MessageStatus: ...

    @overload
    def ask(
        self,
        session: str,
        text: str,
        key: str | None = None,
        *,
        wait: Literal[False],
        timeout: float | None = None,
    ) -> AskResult: ...

    def ask(
        self,
        session: str,
        text: str,
        key: str | None = None,
        wait: bool = True,
        *,
        timeout: float | None = None,
    ) -> MessageStatus | AskResult:
        """Send a message to the agent, and wait for the outcome if `wait`. See `Client.ask`."""
        if wait:
            return self._runner.run(self._client.ask(session, text, key, timeout=timeout))
        return self._runner.run(self._client.ask(session, text, key, wait=False, timeout=timeout))

    def publish(self, session: str, text: str, key: str | None = None) -> AskResult:
        """Send a message to the agent without waiting for the outcome. See `Client.publish`."""
        return self._runner.run(self._client.publish(session, text, key))

    def publish_inbound(self, **message: Unpack[PublishParams]) -> AskResult:
        """Bring in a message of a person on the program's own platform.

        See `Client.publish_inbound`.
        """
        return self._runner.run(self._client.publish_inbound(**message))

    def wait(self, message: str, *, timeout: float | None = None) -> MessageStatus:
        """Wait until a message has its outcome. See `Client.wait`."""
        return self._runner.run(self._client.wait(message, timeout=timeout))

    def send(self, chat: str, text: str, key: str | None = None) -> SendResult:
        """Deliver a text to a chat unchanged. See `Client.send`."""
        return self._runner.run(self._client.send(chat, text, key))

    def subscribe(
        self,
        name: str | None = None,
        from_: int | None = None,
        session: str | None = None,
        kinds: Iterable[str] = (),
    ) -> "BlockingSubscription":
        """Follow the events of the log. See `Client.subscribe`."""
        subscription = self._client.subscribe(name, from_, session, kinds)
        return BlockingSubscription(self._runner, subscription)

    def attach(self, chat: str) -> "BlockingAttachment":
        """Receive the messages for a chat of a terminal. See `Client.attach`."""
        return BlockingAttachment(self._runner, self._client.attach(chat))


class BlockingSubscription:
    """The events of the log as an iterator. See `Subscription`."""

    def __init__(self, runner: asyncio.Runner, subscription: Subscription) -> None:
        self._runner = runner
        self._subscription = subscription

    @property
    def position(self) -> int | None:
        """The last confirmed event; `None` before the first one."""
        return self._subscription.position

    def __enter__(self) -> Self:
        self._runner.run(self._subscription.open())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> LogEvent:
        try:
            return self._runner.run(self._subscription.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self) -> None:
        """End the connection."""
        self._runner.run(self._subscription.close())


class BlockingDelivery:
    """A message for the chat. Call `confirm` when it is shown or stored. See `Delivery`."""

    def __init__(self, runner: asyncio.Runner, delivery: Delivery) -> None:
        self._runner = runner
        self._delivery = delivery
        self.id = delivery.id
        self.turn = delivery.turn
        self.chat = delivery.chat
        self.text = delivery.text
        self.choices = delivery.choices
        self.repeat = delivery.repeat

    def confirm(self) -> None:
        """Confirm the message to the daemon."""
        self._runner.run(self._delivery.confirm())


class BlockingAttachment:
    """The messages for a chat of a terminal as an iterator. See `Attachment`."""

    def __init__(self, runner: asyncio.Runner, attachment: Attachment) -> None:
        self._runner = runner
        self._attachment = attachment

    def __enter__(self) -> Self:
        self._runner.run(self._attachment.open())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> BlockingDelivery:
        try:
            delivery = self._runner.run(self._attachment.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None
        return BlockingDelivery(self._runner, delivery)

    def close(self) -> None:
        """End the connection."""
        self._runner.run(self._attachment.close())
