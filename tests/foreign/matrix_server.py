"""Synapse on SQLite, and people with the client-server API of Matrix."""

import asyncio
import hashlib
import hmac
import http.client
import itertools
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from real import FOREIGN, PATIENCE_SECONDS, Server, folder, free_port

NAME = "real.test"
SECRET = "the shared secret of the test"
# The limits are high enough for the test, and low enough that Synapse refuses some requests (429).
CONFIG = """
server_name: {name}
listeners:
  - bind_addresses: [127.0.0.1]
    port: {port}
    type: http
    resources: [{{names: [client, media]}}]
database:
  name: sqlite3
  args: {{database: {place}/homeserver.db}}
log_config: {place}/log.yaml
media_store_path: {place}/media
pid_file: {place}/pid
signing_key_path: {place}/signing.key
registration_shared_secret: "{secret}"
report_stats: false
trusted_key_servers: []
enable_media_repo: true
url_preview_enabled: false
presence: {{enabled: false}}
max_upload_size: 5M
rc_message: {{per_second: {rate}, burst_count: 20}}
rc_login:
  address: {{per_second: 100, burst_count: 100}}
  account: {{per_second: 100, burst_count: 100}}
rc_joins:
  local: {{per_second: 100, burst_count: 100}}
rc_invites:
  per_room: {{per_second: 100, burst_count: 100}}
  per_user: {{per_second: 100, burst_count: 100}}
"""
LOG = """
version: 1
formatters: {short: {format: "%(levelname)s %(name)s %(message)s"}}
handlers: {console: {class: logging.StreamHandler, formatter: short}}
root: {level: WARNING, handlers: [console]}
loggers: {synapse.access.http: {level: INFO}}
"""
Json = dict[str, Any]


class Refused(Exception):
    """An error response of the homeserver."""

    def __init__(self, status: int, body: Json) -> None:
        super().__init__(f"{status} {body}")
        self.status, self.body = status, body


class Synapse:
    """The homeserver."""

    def __init__(self, rate: int = 10) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.place = folder()
        place = Path(self.place.name)
        config = place / "homeserver.yaml"
        config.write_text(
            CONFIG.format(name=NAME, port=self.port, place=place, secret=SECRET, rate=rate)
        )
        (place / "log.yaml").write_text(LOG)
        python = FOREIGN / "synapse/bin/python"
        self.server = Server(python, "-m", "synapse.app.homeserver", "--config-path", config)
        # Synapse makes its signing key with another option, and then ends.
        self._keys = [str(python), "-m", "synapse.app.homeserver", "--config-path", str(config)]

    async def start(self) -> None:
        """Start the homeserver on the port of before."""
        if not (Path(self.place.name) / "signing.key").exists():
            making = await asyncio.create_subprocess_exec(
                *self._keys,
                "--generate-keys",
                env={"PATH": os.environ["PATH"]},
                stdin=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
            )
            assert await making.wait() == 0
        await self.server.start(self.port)

    async def remove(self) -> None:
        """End the homeserver and remove its folder."""
        await self.server.end()
        self.place.cleanup()

    async def register(self, name: str) -> "Person":
        """Register a user with the shared secret."""
        path = "/_synapse/admin/v1/register"
        nobody = Person(self.port, "", "")
        nonce = (await nobody.call("GET", path))["nonce"]
        parts = [nonce, name, "correct horse", "notadmin"]
        mac = hmac.new(SECRET.encode(), "\0".join(parts).encode(), hashlib.sha1).hexdigest()
        body = {"nonce": nonce, "username": name, "password": "correct horse", "admin": False}
        found = await nobody.call("POST", path, {**body, "mac": mac, "displayname": name.title()})
        return Person(self.port, found["user_id"], found["access_token"])


class Person:
    """A user of the homeserver."""

    _numbers = itertools.count(1)

    def __init__(self, port: int, id: str, token: str) -> None:
        self.port, self.id, self.token = port, id, token
        self._since: dict[str, str] = {}
        self.events: dict[str, list[Json]] = {}

    async def call(self, method: str, path: str, body: Any = None, kind: str = "") -> Any:
        """Make a request, again until the homeserver is there and has no limit of rate for it."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    return await asyncio.to_thread(self._call, method, path, body, kind)
                except Refused as error:
                    if error.status != 429 and error.status < 500:
                        raise
                    await asyncio.sleep(error.body.get("retry_after_ms", 100) / 1000)
                except (OSError, http.client.HTTPException):
                    await asyncio.sleep(0.1)

    def _call(self, method: str, path: str, body: Any, kind: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        data = (
            body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        )
        if data is not None:
            headers["Content-Type"] = kind or "application/json"
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        is_json = response.headers.get_content_type() == "application/json"
        if response.status >= 400:
            raise Refused(response.status, json.loads(content) if is_json else {})
        return json.loads(content) if is_json else content

    async def room(self, *others: str, **more: Any) -> str:
        """Create a room, and invite others."""
        body = {"preset": "private_chat", "invite": others, "is_direct": len(others) == 1, **more}
        found = await self.call("POST", "/_matrix/client/v3/createRoom", body)
        return str(found["room_id"])

    async def join(self, room: str) -> None:
        """Accept an invitation."""
        await self.call("POST", f"/_matrix/client/v3/join/{quote(room)}", {})

    async def say(self, room: str, text: str, **more: Any) -> str:
        """Write a message. It is sent until the homeserver has it once."""
        content = {"msgtype": "m.text", "body": text, **more}
        path = f"/_matrix/client/v3/rooms/{quote(room)}/send/m.room.message/p{next(self._numbers)}"
        return str((await self.call("PUT", path, content))["event_id"])

    async def read(self, room: str) -> list[Json]:
        """Return the messages of a room, in the order of the homeserver."""
        events = self.events.setdefault(room, [])
        while True:
            query = {"dir": "f", "limit": "100"}
            if room in self._since:
                query["from"] = self._since[room]
            path = f"/_matrix/client/v3/rooms/{quote(room)}/messages?{urlencode(query)}"
            page = await self.call("GET", path)
            events += [each for each in page["chunk"] if each["type"] == "m.room.message"]
            if "end" not in page or not page["chunk"]:
                return events
            self._since[room] = page["end"]

    async def until(self, room: str, author: str, count: int) -> list[Json]:
        """Wait for messages of somebody, and return their contents."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    found = [
                        each["content"]
                        for each in await self.read(room)
                        if each["sender"] == author
                    ]
                    if len(found) >= count:
                        return found
                    await asyncio.sleep(0.05)
        except TimeoutError:
            bodies = [each["content"].get("body") for each in self.events[room]]
            raise AssertionError(f"not {count} messages of {author} in {bodies}") from None
