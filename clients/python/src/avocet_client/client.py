"""The asynchronous client."""

import asyncio
import os
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, Unpack, overload

from .backoff import Backoff
from .chats import Attachment, Channel, ReadFile
from .connection import PROTOCOL, Connection, Endpoint
from .errors import AvocetError, ConnectionLost
from .following import Subscription
from .stdio import StdioEndpoint, served_account
from .types import (
    AskResult,
    AttachParams,
    Capability,
    DaemonStatus,
    DeadLetter,
    ErrorCode,
    EventList,
    Hello,
    JobLimits,
    JobStatus,
    JsonAnswer,
    MessageStatus,
    OpenApproval,
    PublishParams,
    SendResult,
    SessionRow,
    SessionSummary,
    SubmittedJob,
    Subscribe,
    Subscriber,
    TraceSpan,
    TurnEvent,
    TurnRecord,
    Welcome,
)

RETRY_SECONDS = 10.0


def default_path() -> Path:
    """Return the socket of a daemon that runs as this user with the default configuration."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return Path(state) / "avocet/run/avocet.sock"


class Client:
    """A connection to the daemon that is opened when it is needed and after it was lost.

    All methods may run at the same time in one event loop. Methods that change nothing, or that
    have a key, are repeated while the daemon cannot be reached, for `retry_seconds` at most.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        client: str | None = None,
        token: str | None = None,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        """`path` is the socket. Default: `default_path()`.

        A program that the daemon has started uses its standard input and output. The daemon then
        knows its rights, so that `path`, `client` and `token` have no effect.

        `client` is the name of a table `[gateway.clients.NAME]` whose rights the program takes,
        and `token` its secret. The daemon's own user needs neither.
        """
        hello: Hello = {}
        if client is not None:
            hello["client"] = client
        if token is not None:
            hello["token"] = token
        self._endpoint = (
            Endpoint(os.fspath(path or default_path()), retry_seconds, hello)
            if served_account() is None
            else StdioEndpoint(retry_seconds)
        )
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        try:
            await self.connect()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def connect(self) -> None:
        """Connect to the daemon. Without this call, the first request connects.

        Raises `ConnectionLost` if no daemon can be reached within `retry_seconds`.
        """
        await self.call("ping", repeat=True)

    async def rights(self) -> Welcome:
        """Return the sender, the role and the chats of this program."""
        result: Welcome = await self.call("hello", dict(self._endpoint.hello), repeat=True)
        return result

    async def close(self) -> None:
        """End the connection. Iterators of `subscribe` and `attach` have their own."""
        self._is_closed = True
        if self._connection is not None:
            await self._connection.close()

    async def call(self, method: str, params: Any = None, *, repeat: bool = False) -> Any:
        """Call any method of the socket and return its result.

        With `repeat`, the request is repeated after a lost connection, and if the daemon reports
        that it cannot answer now. Give `repeat` only for requests that may run twice.
        """
        backoff = None
        while True:
            try:
                return await (await self._connected()).call(method, params)
            except AvocetError as error:
                if not (repeat and error.is_transient):
                    raise
                backoff = backoff or Backoff(self._endpoint.retry_seconds)
                await backoff.pause(error)

    async def _connected(self) -> Connection:
        async with self._connecting:
            if self._connection is None or not self._connection.is_open:
                self._check_open()
                # Stored before `hello`, so that `close` ends a wait for its answer.
                self._connection = await self._endpoint.open()
                if self._is_closed:
                    await self._connection.close()
                await self._endpoint.greet(self._connection)
            self._check_open()
            return self._connection

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError("the client is closed; make a new one")

    @overload
    async def ask(
        self,
        session: str,
        text: str,
        key: str | None = None,
        wait: Literal[True] = True,
        *,
        timeout: float | None = None,
    ) -> MessageStatus: ...

    @overload
    async def ask(
        self,
        session: str,
        text: str,
        key: str | None = None,
        *,
        wait: Literal[False],
        timeout: float | None = None,
    ) -> AskResult: ...

    async def ask(
        self,
        session: str,
        text: str,
        key: str | None = None,
        wait: bool = True,
        *,
        timeout: float | None = None,
    ) -> MessageStatus | AskResult:
        """Send a message to the agent, and wait for the outcome if `wait`.

        `key` makes a repeated message the same message. Default: a random key, so that a request
        that is repeated after a lost connection is answered once. The reply goes to the chat of
        the session as well. Raises `TimeoutError` after `timeout` seconds; the message stays
        accepted if the daemon has it.
        """
        async with asyncio.timeout(timeout):
            params = {"session": session, "text": text, "key": key or new_key()}
            asked: AskResult = await self.call("ask", params, repeat=True)
            return await self.wait(asked["message"]) if wait else asked

    async def publish(self, session: str, text: str, key: str | None = None) -> AskResult:
        """Send a message to the agent without waiting for the outcome.

        This is `ask` with `wait=False`, and calls the socket's method `ask`. For the socket's
        method `publish`, see `publish_inbound`.
        """
        return await self.ask(session, text, key, wait=False)

    async def publish_inbound(self, **message: Unpack[PublishParams]) -> AskResult:
        """Bring in a message of a person on the program's own platform.

        This calls the socket's method `publish`, which needs the role `channel` and a chat of
        `[channels.external]`. A program that serves all chats of the account uses `channel`. The
        `key` is required, so the request is repeated as in `ask`. Messages with a `cursor` have to
        be published one after the other, since each one sets the position of the account.
        """
        result: AskResult = await self.call("publish", message, repeat=True)
        return result

    async def wait(self, message: str, *, timeout: float | None = None) -> MessageStatus:
        """Wait until a message has its outcome, over restarts of the daemon.

        Raises `ConnectionLost` if the daemon is away for longer than `retry_seconds`, and
        `TimeoutError` after `timeout` seconds.
        """
        backoff = None
        async with asyncio.timeout(timeout):
            while True:
                await self.connect()
                try:
                    status: MessageStatus = await self.call("wait", {"message": message})
                    return status
                except ConnectionLost:
                    # The daemon has ended meanwhile. `connect` waits for the next one.
                    continue
                except AvocetError as error:
                    if not error.is_transient:
                        raise
                    backoff = backoff or Backoff(self._endpoint.retry_seconds)
                    await backoff.pause(error)

    async def send(self, chat: str, text: str, key: str | None = None) -> SendResult:
        """Deliver a text to a chat unchanged. `key` works as in `ask`."""
        params = {"chat": chat, "text": text, "key": key or new_key()}
        result: SendResult = await self.call("send", params, repeat=True)
        return result

    async def ask_json(self, session: str, text: str, schema: Any) -> JsonAnswer:
        """Ask for an answer by a JSON Schema, outside of the conversation.

        The request is not repeated, since each one costs tokens.
        """
        params = {"session": session, "text": text, "schema": schema}
        result: JsonAnswer = await self.call("ask.json", params)
        return result

    def subscribe(
        self,
        name: str | None = None,
        from_: int | None = None,
        session: str | None = None,
        kinds: Iterable[str] = (),
    ) -> Subscription:
        """Follow the events of the log.

        With a `name`, the daemon keeps the position; a second subscription with the same name
        replaces the first one. `from_` is the last event that the program has, 0 for all events.
        Default: the newest one. `kinds` are kinds such as `message.queued`, or `message` for all
        kinds of messages.
        """
        params: Subscribe = {}
        if name is not None:
            params["name"] = name
        if from_ is not None:
            params["from"] = from_
        if session is not None:
            params["session"] = session
        if kinds:
            params["kinds"] = [kinds] if isinstance(kinds, str) else list(kinds)
        return Subscription(self._endpoint, params)

    def attach(
        self, chat: str, *, on_event: Callable[[TurnEvent], None] | None = None
    ) -> Attachment:
        """Receive the messages for a chat of a terminal.

        `on_event` is called with each event of a running turn, for display.
        """
        return Attachment(self._endpoint, chat, on_event)

    def channel(
        self,
        account: str | None = None,
        *,
        channel: str = "external",
        max_text: int | None = None,
        capabilities: Iterable[Capability] | None = None,
        on_typing: Callable[[str], None] | None = None,
        read_file: ReadFile | None = None,
    ) -> Channel:
        """Serve all chats of an account, `[channels.external.ACCOUNT]` in the configuration.

        The default is the account for which the daemon has started the program. `capabilities` are
        the abilities of the program: without `choices` buttons are lines of the text, and without
        `files` the files are. Default: all abilities.

        `max_text` is the number of characters of the platform's longest message. `on_typing` is
        called with a chat while the agent works on an answer for it. `read_file` returns a piece
        of a published file, or raises `FileNotFoundError`.
        """
        own = served_account()
        if own is not None and account not in (None, own):
            message = (
                f"the daemon has started this program for the account {own!r}, and its settings "
                f"name {account!r}; change one of them"
            )
            raise AvocetError(ErrorCode.NOT_ALLOWED, message)
        account = account or own
        if account is None:
            raise AvocetError(ErrorCode.PARAMS, "channel: name the account to serve")
        params: AttachParams = {"channel": channel, "account": account}
        hello: Hello = {"protocol": PROTOCOL}
        if capabilities is not None:
            hello["capabilities"] = list(capabilities)
        if max_text is not None:
            params["max_text"] = max_text

        async def publish(message: dict[str, Any]) -> AskResult:
            result: AskResult = await self.call("publish", message, repeat=True)
            return result

        return Channel(self._endpoint, hello, params, publish, on_typing, read_file)

    async def status(self) -> DaemonStatus:
        """Return the state of the daemon, its providers, channels and queues."""
        result: DaemonStatus = await self.call("status", repeat=True)
        return result

    async def sessions(
        self, *, limit: int = 50, after: SessionRow | None = None
    ) -> list[SessionSummary]:
        """Return a page of sessions, the last used first."""
        params = given(limit=limit, after=after)
        result: list[SessionSummary] = await self.call("sessions.list", params, repeat=True)
        return result

    async def turns(
        self, session: str, *, turns: int = 50, before: str | None = None
    ) -> list[TurnRecord]:
        """Return the last turns of a session, oldest first."""
        params = given(session=session, turns=turns, before=before)
        result: list[TurnRecord] = await self.call("sessions.show", params, repeat=True)
        return result

    async def events(
        self,
        after: int = 0,
        *,
        limit: int = 100,
        session: str | None = None,
        kinds: Iterable[str] = (),
    ) -> EventList:
        """Return a page of events, oldest first. `subscribe` follows new ones."""
        params = given(after=after, limit=limit, session=session, kinds=list(kinds))
        result: EventList = await self.call("events.list", params, repeat=True)
        return result

    async def subscribers(self) -> list[Subscriber]:
        """Return the programs that follow the events under a name, with their positions."""
        result: list[Subscriber] = await self.call("subscriber.list", repeat=True)
        return result

    async def remove_subscriber(self, name: str) -> None:
        """Remove a subscriber with its position."""
        await self.call("subscriber.remove", {"name": name})

    async def trace(self, message: str) -> list[TraceSpan]:
        """Return the timeline of a message."""
        result: list[TraceSpan] = await self.call("trace", {"message": message}, repeat=True)
        return result

    async def approvals(self, *, limit: int = 50, after: str | None = None) -> list[OpenApproval]:
        """Return the calls that wait for an approval."""
        params = given(limit=limit, after=after)
        result: list[OpenApproval] = await self.call("approval.list", params, repeat=True)
        return result

    async def decide(
        self,
        approval: str,
        decision: Literal["once", "for_session", "denied"],
        why: str | None = None,
    ) -> None:
        """Approve or deny a call. `why` is the reason of a denial, for the model.

        After a `ConnectionLost`, read `approvals()` again to see if the decision was taken.
        """
        await self.call("approval.decide", given(id=approval, decision=decision, why=why))

    async def submit_job(
        self,
        task: str,
        *,
        agent: str = "default",
        workspace: str | None = None,
        limits: JobLimits,
        key: str | None = None,
    ) -> SubmittedJob:
        """Submit a job. `key` works as in `ask`."""
        params = {"task": task, "agent": agent, "workspace": workspace, "limits": limits}
        params["key"] = key or new_key()
        result: SubmittedJob = await self.call("job.submit", params, repeat=True)
        return result

    async def job(self, job: str) -> JobStatus:
        """Return a job and its progress."""
        result: JobStatus = await self.call("job.show", {"id": job}, repeat=True)
        return result

    async def failed_messages(
        self, *, limit: int = 50, after: str | None = None
    ) -> list[DeadLetter]:
        """Return the messages that were refused, unconfirmed or dropped, the newest first."""
        params = given(limit=limit, after=after)
        result: list[DeadLetter] = await self.call("dead.list", params, repeat=True)
        return result


def new_key() -> str:
    """Return a key that no other message has."""
    return str(uuid.uuid4())


def given(**params: Any) -> dict[str, Any]:
    """Return the parameters that have a value."""
    return {name: value for name, value in params.items() if value is not None}
