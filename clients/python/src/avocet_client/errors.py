"""The errors of the client."""

from .types import ErrorCode


class AvocetError(Exception):
    """The daemon has refused a request, or the client cannot send it.

    `code` is one of `ErrorCode`, `message` names the fault and its correction.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def is_transient(self) -> bool:
        """`True` if the same request may succeed later."""
        return self.code == ErrorCode.UNAVAILABLE


class ConnectionLost(AvocetError):
    """The daemon cannot be reached, or the connection ended before the answer.

    The outcome of a request is unknown. A request with a key may be repeated safely.
    """

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNAVAILABLE, message)
