"""Pauses between attempts: they double and have jitter, so that programs do not return at once."""

import random


class Backoff:
    """Pauses from 1 s up to `longest` seconds."""

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self.reset()

    def reset(self) -> None:
        """Begin with the first pause again."""
        self._next = min(1.0, self._longest)

    def next(self) -> float:
        """Return the next pause in seconds."""
        pause = self._next * random.uniform(0.5, 1.0)
        self._next = min(self._next * 2, self._longest)
        return pause
