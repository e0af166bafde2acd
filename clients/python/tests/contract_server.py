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
    again: Callable[[], Awaitable[object]],
    lose: Callable[[], object],
    choose: Callable[[str], Awaitable[object]] | None = None,
    typings: Callable[[], int] | None = None,
) -> None:
    """Serve until the end of the input.

    `again` repeats the last event of a person. `lose` makes the platform accept the next message
    of the agent without an answer. Without `choose`, a choice is sent as a text.
    """
    while line := await asyncio.to_thread(sys.stdin.readline):
        match json.loads(line):
            case "table":
                response: object = table
            case "told":
                response = told()
            case "ready":
                await ready()
                response = None
            case "again":
                await again()
                response = None
            case "lose":
                lose()
                response = None
            case "typings":
                response = typings() if typings else None
            case {"say": text}:
                await say(text)
                response = None
            case {"choose": text}:
                await (choose or say)(text)
                response = None
            case request:
                raise ValueError(f"an unknown request: {request}")
        print(json.dumps(response), flush=True)
