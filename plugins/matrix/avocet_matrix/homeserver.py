"""The client-server API of Matrix: requests, errors, rate limits."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from .backoff import Backoff
from .http import HttpClient, Interrupted, Response, TooLong, Unreachable
from .text import plain

log = logging.getLogger(__name__)
T = TypeVar("T")

REQUEST_SECONDS = 60.0
# The time that a request waits for its rate limit before it counts as failed.
PATIENCE_SECONDS = 20.0
POLL_SECONDS = 30.0
MAX_JSON_BYTES = 64 * 1024 * 1024
# A pause that the server asks for is cut to this length.
LONGEST_PAUSE_SECONDS = 3600.0
# Bytes per second of the slowest transfer of a file.
SLOWEST_TRANSFER = 64 * 1024
# The code of an error without one, which is not from a homeserver.
NO_CODE = "no error code"
DOWNLOADS = (
    "/_matrix/client/v1/media/download",
    "/_matrix/media/v3/download",
    "/_matrix/media/r0/download",
)


class MatrixError(Exception):
    """An error of the homeserver."""

    def __init__(self, status: int, errcode: str, message: str, pause: float = 0.0) -> None:
        super().__init__(f"{errcode} ({status}): {message}" if message else f"{errcode} ({status})")
        self.status = status
        self.errcode = errcode
        self.pause = pause
        """Seconds after which a request may succeed; 0 if unknown."""

    @property
    def is_rate_limit(self) -> bool:
        """`True` if the server did not take the request because of too many requests."""
        return self.status == 429 or self.errcode == "M_LIMIT_EXCEEDED"

    @property
    def is_transient(self) -> bool:
        """`True` if the same request may succeed later."""
        return self.is_rate_limit or self.status >= 500 or self.errcode in _LATER

    @property
    def ends_access(self) -> bool:
        """`True` if the access token is useless."""
        return self.errcode in _NO_ACCESS or self.status == 401


_LATER = {"M_RESOURCE_LIMIT_EXCEEDED", "M_CONSENT_NOT_GIVEN"}
_NO_ACCESS = {"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED", "M_USER_LOCKED"}

# Errors after which the same request may succeed later.
TRANSIENT = (Unreachable, Interrupted)


def is_transient(error: Exception) -> bool:
    """Return `True` if the same request may succeed later."""
    return isinstance(error, TRANSIENT) or isinstance(error, MatrixError) and error.is_transient


def path(*parts: str) -> str:
    """Return a path below the API of version 3."""
    return "/_matrix/client/v3/" + "/".join(quote(part, safe="") for part in parts)


class Homeserver:
    """Requests to the homeserver as one user and device."""

    def __init__(self, client: HttpClient, token: str | None = None) -> None:
        self._client = client
        self.token = token
        self._downloads = list(DOWNLOADS)

    async def once(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        query: dict[str, str] | None = None,
        timeout: float = REQUEST_SECONDS,
    ) -> dict[str, Any]:
        """Make a request one time and return the JSON object of its response."""
        headers = {"Accept": "application/json", **self._authorization()}
        data = b""
        if body is not None:
            headers["Content-Type"] = "application/json"
            # The size of an event is that of its UTF-8 without escapes.
            data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        if query:
            target = f"{target}?{urlencode(query)}"
        try:
            response = await self._client.request(
                method, target, headers, data, timeout=timeout, limit=MAX_JSON_BYTES
            )
        except TooLong as error:
            raise Interrupted(str(error)) from error
        return _object(response)

    async def call(self, method: str, target: str, body: Any = None, **more: Any) -> dict[str, Any]:
        """Make a request, and wait for the rate limit for a short time."""
        return await self._in_limit(lambda: self.once(method, target, body, **more))

    async def until_answered(
        self, work: Callable[[], Awaitable[T]], purpose: str, most_faults: int | None = None
    ) -> T:
        """Repeat the work after each transient error, without a limit.

        With `most_faults`, raise the error once the server has reported an internal error (500)
        this many times: one broken room must not stop all others. An outage has other errors.
        """
        backoff, faults = Backoff(), 0
        while True:
            try:
                return await work()
            except (*TRANSIENT, MatrixError) as error:
                faults += isinstance(error, MatrixError) and error.status == 500
                if not is_transient(error) or faults == most_faults:
                    raise
                least = error.pause if isinstance(error, MatrixError) else 0.0
                pause = backoff.next(least)
                log.warning("cannot %s: %s; retrying in %.1f s", purpose, error, pause)
            await asyncio.sleep(pause)

    async def sync(self, since: str | None, filter_: dict[str, Any], seconds: float) -> Any:
        """Wait for events behind a position, for `seconds` at most."""
        query = {"filter": json.dumps(filter_), "timeout": str(int(seconds * 1000))}
        if since is not None:
            query["since"] = since
        timeout = seconds + REQUEST_SECONDS
        try:
            return await self.once("GET", path("sync"), query=query, timeout=timeout)
        except MatrixError as error:
            if error.errcode == NO_CODE and not error.ends_access:
                # A proxy in front of the homeserver has answered.
                raise Interrupted(f"the homeserver is not there: {error}") from error
            raise

    async def upload(self, name: str, media_type: str, content: bytes) -> str:
        """Upload a file and return its `mxc` URI."""
        target = f"/_matrix/media/v3/upload?{urlencode({'filename': name})}"
        headers = {"Content-Type": media_type, **self._authorization()}
        timeout = REQUEST_SECONDS + len(content) / SLOWEST_TRANSFER

        async def post() -> Response:
            return await self._client.request(
                "POST", target, headers, content, timeout=timeout, limit=MAX_JSON_BYTES
            )

        async def work() -> str:
            return str(_object(await post()).get("content_uri"))

        return await self._in_limit(work)

    async def max_upload(self) -> int | None:
        """Return the size of the largest file that the server takes; `None` if it is unknown."""
        for target in ("/_matrix/client/v1/media/config", "/_matrix/media/v3/config"):
            try:
                size = (await self.call("GET", target)).get("m.upload.size")
            except MatrixError as error:
                if error.is_transient or error.ends_access:
                    raise
                continue
            return size if isinstance(size, int) and size > 0 else None
        return None

    async def download(self, uri: str, limit: int, sink: Callable[[bytes], object]) -> None:
        """Write a file of the media repository to a sink. Raise `TooLong` above the limit."""
        while True:
            base = self._downloads[0]
            # A server without authenticated media needs no token, so it gets none.
            headers = self._authorization() if base == DOWNLOADS[0] else {}
            timeout = REQUEST_SECONDS + limit / SLOWEST_TRANSFER
            target = f"{base}/{quote(uri.removeprefix('mxc://'), safe='/:')}"
            response = await self._client.request(
                "GET", target, headers, timeout=timeout, limit=limit, sink=sink
            )
            if response.status == 200:
                return
            error = _error(response)
            is_unknown = error.errcode in ("M_UNRECOGNIZED", NO_CODE) and error.status in (404, 405)
            if not is_unknown or len(self._downloads) == 1:
                raise error
            log.info("the homeserver has no %s; trying %s", base, self._downloads[1])
            del self._downloads[0]

    def _authorization(self) -> dict[str, str]:
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}

    async def _in_limit(self, work: Callable[[], Awaitable[T]]) -> T:
        backoff, waited = Backoff(), 0.0
        while True:
            try:
                return await work()
            except MatrixError as error:
                pause = backoff.next(error.pause)
                if not error.is_rate_limit or waited + pause > PATIENCE_SECONDS:
                    raise
                log.info("rate limit of the homeserver: waiting for %.1f s", pause)
            waited += pause
            await asyncio.sleep(pause)


def _object(response: Response) -> dict[str, Any]:
    if response.status != 200:
        raise _error(response)
    found = _json(response.body)
    if found is None:
        raise Interrupted("the response is not a JSON object; check the URL of the homeserver")
    return found


def _json(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _error(response: Response) -> MatrixError:
    found = _json(response.body) or {}
    errcode, message = found.get("errcode"), found.get("error")
    errcode = plain(errcode, 60) if isinstance(errcode, str) else NO_CODE
    message = plain(message, 200) if isinstance(message, str) else ""
    return MatrixError(response.status, errcode, message, _pause(response, found))


def _pause(response: Response, found: dict[str, Any]) -> float:
    """Return the pause that the server asks for. `retry_after_ms` is the older form."""
    after, millis = response.headers.get("retry-after", ""), found.get("retry_after_ms")
    pause = 0.0
    if after.isascii() and after.isdigit() and len(after) < 9:
        pause = float(after)
    elif isinstance(millis, int | float) and millis >= 0:
        pause = millis / 1000
    return min(pause, LONGEST_PAUSE_SECONDS)
