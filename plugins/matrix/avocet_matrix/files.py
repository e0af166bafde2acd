"""Files of people, which the daemon reads in pieces."""

import asyncio
import tempfile
from collections import OrderedDict
from typing import IO

from . import ids
from .homeserver import Homeserver, MatrixError
from .http import TooLong

# Files that are kept between two pieces. The daemon reads one file of a message after the other.
MOST_KEPT = 4


class Files:
    """Copies of files from the media repository, which has no requests for pieces."""

    def __init__(self, server: Homeserver, max_bytes: int) -> None:
        self._server = server
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, IO[bytes]] = OrderedDict()
        self._lock = asyncio.Lock()

    async def read(self, reference: str, offset: int, length: int) -> bytes:
        """Return a piece. Raise `FileNotFoundError` if the file is gone or too large."""
        async with self._lock:
            file = await self._get(reference)
            file.seek(offset)
            piece = file.read(length)
            if not piece:
                self._kept.pop(reference).close()
            return piece

    def close(self) -> None:
        """Remove all copies."""
        while self._kept:
            self._kept.popitem()[1].close()

    async def _get(self, reference: str) -> IO[bytes]:
        file = self._kept.get(reference)
        if file is not None:
            return file
        if not ids.is_id("file", reference):
            raise FileNotFoundError(f"{reference!r:.80} is not a file of Matrix")
        file = tempfile.TemporaryFile(prefix="avocet-matrix-")
        try:
            await self._server.download(reference, self._max_bytes, file.write)
        except BaseException as error:
            file.close()
            if isinstance(error, TooLong):
                raise FileNotFoundError(f"{reference}: {error}; see max_file_megabytes") from error
            if isinstance(error, MatrixError) and not (error.is_transient or error.ends_access):
                raise FileNotFoundError(f"{reference}: {error}") from error
            raise
        self._kept[reference] = file
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)[1].close()
        return file
