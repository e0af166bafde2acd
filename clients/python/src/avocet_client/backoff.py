"""The pauses between attempts to reach the daemon."""

import asyncio

FIRST_SECONDS = 0.05
LONGEST_SECONDS = 5.0


class Backoff:
    """Pauses that double, from 50 ms to 5 s."""

    def __init__(self, limit_seconds: float | None = None) -> None:
        """`limit_seconds` is the time from now until the last attempt; `None` for no limit."""
        self._next = FIRST_SECONDS
        now = asyncio.get_running_loop().time()
        self._end = None if limit_seconds is None else now + limit_seconds

    async def pause(self, error: Exception) -> None:
        """Wait before the next attempt. Raise the error of the last one if the time is over."""
        if self._end is not None:
            left = self._end - asyncio.get_running_loop().time()
            if left <= 0:
                raise error
            self._next = min(self._next, left)
        await asyncio.sleep(self._next)
        self._next = min(self._next * 2, LONGEST_SECONDS)
