"""A strict homeserver in memory: it refuses what the specification refuses."""

import asyncio
import base64
import itertools
import json
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

BOT = "@avocet:example.org"
TOKEN = "syt_bot_secret"
PASSWORD = "correct horse"
Json = dict[str, Any]


class Refusal(Exception):
    """An error response."""

    def __init__(self, status: int, errcode: str, **more: Any) -> None:
        super().__init__(errcode)
        self.status, self.body = (
            status,
            {"errcode": errcode, "error": f"refused: {errcode}", **more},
        )


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    def json(self) -> Json:
        if self.headers.get("content-type") != "application/json":
            raise Refusal(400, "M_NOT_JSON")
        try:
            found = json.loads(self.body)
        except ValueError:
            raise Refusal(400, "M_NOT_JSON") from None
        if not isinstance(found, dict):
            raise Refusal(400, "M_BAD_JSON")
        return found


@dataclass
class Fault:
    """The next request that matches gets this instead of its answer."""

    pattern: str
    # `drop` closes before the request is processed, `lose` after that. `hang` never answers.
    action: str = "status"
    status: int = 500
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class FakeRoom:
    id: str
    events: list[tuple[int, Json]] = field(default_factory=list)
    state: dict[tuple[str, str], Json] = field(default_factory=dict)

    def membership(self, user: str) -> str:
        event = self.state.get(("m.room.member", user))
        return event["content"]["membership"] if event else "leave"


class FakeHomeserver:
    """One homeserver with one bot. Other users are moved by the test."""

    def __init__(self) -> None:
        self.rooms: dict[str, FakeRoom] = {}
        self.tokens = {TOKEN}
        self.transactions: dict[tuple[str, ...], str] = {}
        self.media: dict[str, tuple[bytes, str]] = {}
        self.account_data: dict[str, Json] = {}
        self.typing: list[tuple[str, bool]] = []
        self.receipts: list[tuple[str, str]] = []
        self.requests: list[str] = []
        self.faults: list[Fault] = []
        self.versions = ["r0.6.1", "v1.1", "v1.11"]
        self.has_new_media = True
        self.max_timeline = 100
        self.max_upload = 10_000_000
        # Called before each request is processed; it may wait.
        self.before: Callable[[Request], Awaitable[None]] | None = None
        self._position = 0
        self._numbers = itertools.count(1)
        self._changed = asyncio.Condition()
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "FakeHomeserver":
        await self.listen(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def listen(self, port: int) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Refuse connections, and end the open ones."""
        self._server.close()
        for task in list(self._serving):
            task.cancel()
        if self._serving:
            await asyncio.wait(list(self._serving))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    # Moves of the test

    async def create(self, *members: str, room: str | None = None, encrypted: bool = False) -> str:
        """Create a room in which these users are. The bot is one of them only if it is named."""
        room = room or f"!room{next(self._numbers)}:example.org"
        self.rooms[room] = FakeRoom(room)
        for user in members:
            await self.member(room, user, "join")
        if encrypted:
            await self.put_state(
                room, members[0], "m.room.encryption", "", {"algorithm": "m.megolm.v1.aes-sha2"}
            )
        return room

    async def member(self, room: str, user: str, membership: str, by: str | None = None) -> str:
        content = {"membership": membership, "displayname": user[1:].partition(":")[0].title()}
        return await self.put_state(room, by or user, "m.room.member", user, content)

    async def put_state(self, room: str, sender: str, kind: str, key: str, content: Any) -> str:
        before = self.rooms[room].state.get((kind, key))
        unsigned = (
            {"prev_content": before["content"], "replaces_state": before["event_id"]}
            if before
            else {}
        )
        event = {
            "type": kind,
            "state_key": key,
            "sender": sender,
            "content": content,
            "unsigned": unsigned,
        }
        return await self.add(room, event)

    async def say(self, room: str, sender: str, text: str = "", **more: Any) -> str:
        """Send a message of a user."""
        content = {"msgtype": "m.text", "body": text, **more}
        return await self.add(
            room, {"type": "m.room.message", "sender": sender, "content": content}
        )

    async def edit(self, room: str, sender: str, target: str, text: str) -> str:
        """Send the edit of a message."""
        relation = {"rel_type": "m.replace", "event_id": target}
        content = {"msgtype": "m.text", "body": text}
        more = {"m.relates_to": relation, "m.new_content": content}
        return await self.say(room, sender, f"* {text}", **more)

    async def redact(self, room: str, sender: str, target: str) -> str:
        """Delete a message or an edit."""
        event = {"type": "m.room.redaction", "sender": sender, "content": {}, "redacts": target}
        return await self.add(room, event)

    async def add(self, room: str, event: Json) -> str:
        """Add an event to a room and wake the waiting requests."""
        self._position += 1
        event_id = event.get("event_id") or f"$event{self._position:06}_{'x' * 30}"
        event = {"origin_server_ts": int(time.time() * 1000), **event, "event_id": event_id}
        place = self.rooms[room]
        if event["type"] == "m.room.redaction":
            self._redact(place, event)
        place.events.append((self._position, event))
        if "state_key" in event:
            place.state[event["type"], event["state_key"]] = event
        await self._wake()
        return event_id

    def _redact(self, room: FakeRoom, redaction: Json) -> None:
        """Take the content out of an event."""
        target = redaction.get("redacts") or redaction["content"].get("redacts")
        for number, (at, event) in enumerate(room.events):
            if event["event_id"] == target:
                room.events[number] = (at, {**event, "content": {}})

    async def change(self) -> None:
        """Wait for the next change."""
        async with self._changed:
            await self._changed.wait()

    async def wait(self, look: Callable[[], Any]) -> Any:
        """Wait until a look at the server returns a value."""
        async with asyncio.timeout(60), self._changed:
            while not (found := look()):
                await self._changed.wait()
            return found

    def sent(self, room: str) -> list[Json]:
        """Return the contents of the bot's messages in a room."""
        events = [event for _, event in self.rooms[room].events]
        is_message = [event for event in events if event["type"] == "m.room.message"]
        return [event["content"] for event in is_message if event["sender"] == BOT]

    def texts(self, room: str) -> list[str]:
        return [content["body"] for content in self.sent(room)]

    async def replies(self, room: str, count: int = 1) -> list[Json]:
        """Wait until the bot has sent this many messages to a room."""
        await self.wait(lambda: len(self.sent(room)) >= count)
        return self.sent(room)

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    # The wire

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            request = await self._read(reader)
            if request is not None:
                await self._answer(request, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._serving.discard(task)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
        first, *lines = head.strip().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {}
        for line in lines:
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        if "host" not in headers:
            return None
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        parts = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        return Request(method, parts.path, query, headers, body)

    async def _answer(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        name = f"{request.method} {unquote(request.path)}"
        self.requests.append(name)
        await self._wake()
        if self.before is not None:
            await self.before(request)
            await self._wake()
        fault = next((one for one in self.faults if re.search(one.pattern, name)), None)
        headers: dict[str, str] = {}
        if fault is not None:
            self.faults.remove(fault)
        if fault is not None and fault.action == "drop":
            return
        if fault is not None and fault.action == "hang":
            await reader.read()
            return
        if fault is not None and fault.action == "status":
            status, body, headers = fault.status, fault.body, fault.headers
        else:
            try:
                status, body = 200, await self._handle(request)
            except Refusal as refusal:
                status, body = refusal.status, refusal.body
        await self._wake()
        if fault is not None and fault.action == "lose":
            return
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"HTTP/1.1 {status} Status"] + [
            f"{key}: {value}" for key, value in headers.items()
        ]
        if request.path.endswith("/sync"):
            lines.append("Transfer-Encoding: chunked")
            half = len(content) // 2
            pieces = [piece for piece in (content[:half], content[half:]) if piece]
            content = (
                b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
            )
        else:
            lines.append(f"Content-Length: {len(content)}")
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + content)
        await writer.drain()

    async def _handle(self, request: Request) -> Any:
        for method, pattern, needs_token, handle in self._routes():
            match = re.fullmatch(pattern, request.path)
            if match and method == request.method:
                if needs_token:
                    self._check_token(request)
                parts = [unquote(part) for part in match.groups()]
                return await handle(request, *parts)
        raise Refusal(404, "M_UNRECOGNIZED")

    def _check_token(self, request: Request) -> None:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind != "Bearer":
            raise Refusal(401, "M_MISSING_TOKEN")
        if token not in self.tokens:
            raise Refusal(401, "M_UNKNOWN_TOKEN", soft_logout=False)

    def _routes(self) -> list[tuple[str, str, bool, Callable[..., Awaitable[Any]]]]:
        v3, one = "/_matrix/client/v3", "([^/]+)"
        routes = [
            ("GET", "/_matrix/client/versions", False, self._versions),
            ("POST", f"{v3}/login", False, self._login),
            ("GET", f"{v3}/account/whoami", True, self._whoami),
            ("GET", f"{v3}/profile/{one}/displayname", True, self._profile),
            ("GET", f"{v3}/sync", True, self._sync),
            ("POST", f"{v3}/join/{one}", True, self._join),
            ("GET", f"{v3}/rooms/{one}/members", True, self._members),
            ("GET", f"{v3}/rooms/{one}/state/{one}", True, self._state),
            ("GET", f"{v3}/rooms/{one}/event/{one}", True, self._event),
            ("GET", f"{v3}/rooms/{one}/messages", True, self._messages),
            ("PUT", f"{v3}/rooms/{one}/send/{one}/{one}", True, self._send),
            ("PUT", f"{v3}/rooms/{one}/typing/{one}", True, self._typing),
            ("POST", f"{v3}/rooms/{one}/receipt/{one}/{one}", True, self._receipt),
            ("GET", f"{v3}/user/{one}/rooms/{one}/account_data/{one}", True, self._get_data),
            ("PUT", f"{v3}/user/{one}/rooms/{one}/account_data/{one}", True, self._put_data),
            ("POST", "/_matrix/media/v3/upload", True, self._upload),
        ]
        if self.has_new_media:
            routes.append(("GET", "/_matrix/client/v1/media/config", True, self._config))
            routes.append(
                ("GET", f"/_matrix/client/v1/media/download/{one}/{one}", True, self._download)
            )
        else:
            routes.append(("GET", "/_matrix/media/v3/config", True, self._config))
            routes.append(("GET", f"/_matrix/media/v3/download/{one}/{one}", False, self._download))
        return routes

    # The methods

    async def _versions(self, _: Request) -> Json:
        return {"versions": self.versions}

    async def _login(self, request: Request) -> Json:
        body = request.json()
        identifier = body.get("identifier")
        if body.get("type") != "m.login.password" or not isinstance(identifier, dict):
            raise Refusal(400, "M_UNKNOWN")
        if identifier != {"type": "m.id.user", "user": BOT} or body.get("password") != PASSWORD:
            raise Refusal(403, "M_FORBIDDEN")
        token = f"syt_login_{next(self._numbers)}"
        self.tokens.add(token)
        return {"access_token": token, "device_id": "DEVICE", "user_id": BOT}

    async def _whoami(self, _: Request) -> Json:
        return {"user_id": BOT, "device_id": "DEVICE", "is_guest": False}

    async def _profile(self, _: Request, user: str) -> Json:
        return {"displayname": user[1:].partition(":")[0].title()}

    def _room(self, room: str) -> FakeRoom:
        found = self.rooms.get(room)
        if found is None or found.membership(BOT) != "join":
            raise Refusal(403, "M_FORBIDDEN")
        return found

    async def _join(self, request: Request, room: str) -> Json:
        request.json()
        found = self.rooms.get(room)
        if found is None or found.membership(BOT) not in ("invite", "join"):
            raise Refusal(403, "M_FORBIDDEN")
        if found.membership(BOT) != "join":
            await self.member(room, BOT, "join")
        return {"room_id": room}

    async def _members(self, request: Request, room: str) -> Json:
        without = request.query.get("not_membership")
        state = self._room(room).state.values()
        members = [event for event in state if event["type"] == "m.room.member"]
        return {
            "chunk": [event for event in members if event["content"].get("membership") != without]
        }

    async def _state(self, _: Request, room: str, kind: str) -> Any:
        event = self._room(room).state.get((kind, ""))
        if event is None:
            raise Refusal(404, "M_NOT_FOUND")
        return event["content"]

    async def _event(self, _: Request, room: str, event_id: str) -> Json:
        return self._find(self._room(room), event_id)

    def _find(self, room: FakeRoom, event_id: str) -> Json:
        found = [event for _, event in room.events if event["event_id"] == event_id]
        if not found:
            raise Refusal(404, "M_NOT_FOUND")
        return found[0]

    async def _messages(self, request: Request, room: str) -> Json:
        query = request.query
        if query.get("dir") != "b":
            raise Refusal(400, "M_MISSING_PARAM")
        start, end = self._token(query.get("from")), self._token(query.get("to") or "s0")
        limit = min(int(query.get("limit", "10")), self.max_timeline)
        older = [(at, event) for at, event in self._room(room).events if end < at <= start][::-1]
        page = older[:limit]
        answer: Json = {"start": query["from"], "chunk": [event for _, event in page]}
        if len(older) > len(page):
            answer["end"] = f"s{page[-1][0] - 1}"
        return answer

    def _token(self, token: str | None) -> int:
        if token is None or not re.fullmatch("s[0-9]+", token) or int(token[1:]) > self._position:
            raise Refusal(400, "M_UNKNOWN")
        return int(token[1:])

    async def _sync(self, request: Request) -> Json:
        query = request.query
        filter_ = json.loads(query.get("filter", "{}"))
        since = self._token(query["since"]) if "since" in query else None
        limit = min(filter_.get("room", {}).get("timeline", {}).get("limit", 10), self.max_timeline)
        try:
            async with asyncio.timeout(int(query.get("timeout", "0")) / 1000), self._changed:
                while not (found := self._news(since, limit)):
                    if since is None:
                        break
                    await self._changed.wait()
        except TimeoutError:
            found = {}
        return {"next_batch": f"s{self._position}", **({"rooms": found} if found else {})}

    def _news(self, since: int | None, limit: int) -> Json:
        found: Json = {}
        for room in self.rooms.values():
            news = [(at, event) for at, event in room.events if at > (since or 0)]
            membership = room.membership(BOT)
            if not news:
                continue
            if membership == "invite":
                state = [event for event in room.state.values() if event["type"] == "m.room.member"]
                stripped = [
                    {key: event[key] for key in ("type", "state_key", "sender", "content")}
                    for event in state
                ]
                found.setdefault("invite", {})[room.id] = {"invite_state": {"events": stripped}}
            elif membership == "join":
                found.setdefault("join", {})[room.id] = self._joined(room, since, limit)
            elif any(event.get("state_key") == BOT for _, event in news) and since is not None:
                found.setdefault("leave", {})[room.id] = {"timeline": {"events": []}}
        return found

    def _joined(self, room: FakeRoom, since: int | None, limit: int) -> Json:
        entry = max((at for at, event in room.events if event.get("state_key") == BOT), default=0)
        # A room that is new for the bot begins with its last events.
        start = 0 if since is None or entry > since else since
        events = [(at, event) for at, event in room.events if at > start]
        shown = events[-limit:]
        state = list(room.state.values()) if start == 0 else []
        timeline = {
            "events": [event for _, event in shown],
            "limited": len(shown) < len(events),
            "prev_batch": f"s{shown[0][0] - 1}",
        }
        return {"timeline": timeline, "state": {"events": state}}

    async def _send(self, request: Request, room: str, kind: str, transaction: str) -> Json:
        content, place = request.json(), self._room(room)
        if len(json.dumps(content, ensure_ascii=False).encode()) > 65_536 - 2000:
            raise Refusal(413, "M_TOO_LARGE")
        if kind != "m.room.message" or not re.fullmatch(r"[0-9A-Za-z_.~-]{1,64}", transaction):
            raise Refusal(400, "M_BAD_JSON")
        self._check_message(place, content)
        key = (request.headers["authorization"], room, kind, transaction)
        if key not in self.transactions:
            event = {"type": kind, "sender": BOT, "content": content}
            self.transactions[key] = await self.add(room, event)
        return {"event_id": self.transactions[key]}

    def _check_message(self, room: FakeRoom, content: Json) -> None:
        kind, body = content.get("msgtype"), content.get("body")
        if kind not in ("m.text", "m.notice", "m.file", "m.image", "m.audio", "m.video"):
            raise Refusal(400, "M_BAD_JSON")
        if not isinstance(body, str) or not body or not isinstance(content.get("m.mentions"), dict):
            raise Refusal(400, "M_BAD_JSON")
        if ("formatted_body" in content) != (content.get("format") == "org.matrix.custom.html"):
            raise Refusal(400, "M_BAD_JSON")
        if kind not in ("m.text", "m.notice") and content.get("url") not in self.media:
            raise Refusal(400, "M_BAD_JSON")
        relation = content.get("m.relates_to")
        if relation is None:
            return
        for event in (relation.get("event_id"), relation.get("m.in_reply_to", {}).get("event_id")):
            if event is not None:
                self._find(room, event)
        if relation.get("rel_type") not in (None, "m.thread"):
            raise Refusal(400, "M_BAD_JSON")

    async def _typing(self, request: Request, room: str, user: str) -> Json:
        body = request.json()
        if user != BOT or not isinstance(body.get("typing"), bool):
            raise Refusal(403, "M_FORBIDDEN")
        if body["typing"] and not isinstance(body.get("timeout"), int):
            raise Refusal(400, "M_BAD_JSON")
        self._room(room)
        self.typing.append((room, body["typing"]))
        return {}

    async def _receipt(self, request: Request, room: str, kind: str, event: str) -> Json:
        request.json()
        if kind != "m.read":
            raise Refusal(400, "M_INVALID_PARAM")
        self._find(self._room(room), event)
        self.receipts.append((room, event))
        return {}

    async def _get_data(self, request: Request, *names: str) -> Json:
        key = "/".join(names)
        if key not in self.account_data:
            raise Refusal(404, "M_NOT_FOUND")
        return self.account_data[key]

    async def _put_data(self, request: Request, *names: str) -> Json:
        if names[0] != BOT:
            raise Refusal(403, "M_FORBIDDEN")
        self.account_data["/".join(names)] = request.json()
        return {}

    async def _config(self, _: Request) -> Json:
        return {"m.upload.size": self.max_upload}

    async def _upload(self, request: Request) -> Json:
        if len(request.body) > self.max_upload:
            raise Refusal(413, "M_TOO_LARGE")
        if "/" not in request.headers.get("content-type", ""):
            raise Refusal(400, "M_BAD_JSON")
        return {"content_uri": self.keep(request.body, request.headers["content-type"])}

    def keep(self, content: bytes, media_type: str = "application/octet-stream") -> str:
        """Store a file and return its address."""
        number = (
            base64.urlsafe_b64encode(f"media{next(self._numbers)}".encode()).decode().rstrip("=")
        )
        uri = f"mxc://example.org/{number}"
        self.media[uri] = (content, media_type)
        return uri

    async def _download(self, _: Request, server: str, number: str) -> bytes:
        found = self.media.get(f"mxc://{server}/{number}")
        if found is None:
            raise Refusal(404, "M_NOT_FOUND")
        return found[0]
