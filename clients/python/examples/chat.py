"""A chat in lines: each line of stdin goes to the agent, each message for the chat is printed.

The name of the chat is the argument: `chat.py terminal:local:bot`. Ctrl-D ends it.
"""

import asyncio
import sys

from avocet_client import Attachment, Client


async def show(chat: Attachment) -> None:
    """Print the messages for the chat."""
    async for delivery in chat:
        mark = "(again) " if delivery.repeat else ""
        print(mark + delivery.text, flush=True)
        await delivery.confirm()


async def main(name: str) -> None:
    async with Client() as avocet, avocet.attach(name) as chat:
        showing = asyncio.create_task(show(chat))
        while line := await asyncio.to_thread(sys.stdin.readline):
            await avocet.publish(name, line)
        await chat.close()
        await showing


asyncio.run(main(sys.argv[1]))
