"""Flood control: a token bucket, since servers end connections that send too fast."""

import asyncio
from collections.abc import Awaitable, Callable


class Bucket:
    """Allows `burst` lines at once, and one more line each `seconds`."""

    def __init__(
        self,
        burst: int,
        seconds: float,
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._burst = burst
        self._seconds = seconds
        self._now = now
        self._sleep = sleep
        # The time at which the bucket is full again.
        self._full_at = now()

    def take_now(self) -> None:
        """Count a line that cannot wait, such as PONG."""
        self._full_at = max(self._full_at, self._now()) + self._seconds

    def has_spare(self) -> bool:
        """`True` if half of the bucket is left, so that a line without importance may be sent."""
        return self._full_at - self._now() <= self._burst / 2 * self._seconds

    async def take(self) -> None:
        """Wait until a line may be sent."""
        while (wait := self._full_at - self._now() - (self._burst - 1) * self._seconds) > 1e-9:
            await self._sleep(wait)
        self.take_now()
