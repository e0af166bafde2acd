"""Pauses between attempts, with jitter so that many clients do not return at the same time."""

import asyncio
import random

FIRST_SECONDS = 0.2
LONGEST_SECONDS = 60.0


class Backoff:
    """Pauses that double. Jitter shortens each by up to a half."""

    def __init__(self, longest: float = LONGEST_SECONDS) -> None:
        self._next = FIRST_SECONDS
        self._longest = longest

    def next(self, least: float = 0.0) -> float:
        """Return the length of the next pause in seconds, `least` or more."""
        length = self._next * random.uniform(0.5, 1.0)
        self._next = min(self._next * 2, self._longest)
        return max(length, least)

    async def pause(self, least: float = 0.0) -> None:
        """Wait before the next attempt."""
        await asyncio.sleep(self.next(least))
