"""The fake platform of a channel, for the contract of all channels (`tests/service/contract.rs`).

Each line of standard input is a request, and each line of standard output is its response.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable


async def serve(
    table: str,
    *,
    say: Callable[[str], Awaitable[object]],
    told: Callable[[], list[str]],
    ready: Callable[[], Awaitable[object]],
    choose: Callable[[str], Awaitable[object]] | None = None,
) -> None:
    """Serve until the end of the input. Without `choose`, a choice is said like any text."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        match json.loads(line):
            case "table":
                response: object = table
            case "told":
                response = told()
            case "ready":
                await ready()
                response = None
            case {"say": text}:
                await say(text)
                response = None
            case {"choose": text}:
                await (choose or say)(text)
                response = None
            case request:
                raise ValueError(f"an unknown request: {request}")
        print(json.dumps(response), flush=True)
