"""A channel whose platform is a terminal: lines of stdin are messages of `me`, and messages of the
agent are printed. It needs this in the configuration:

    [channels.external.lines]
    owners = ["me"]
"""

import asyncio
import sys

from avocet_client import Channel, Client

CHAT = "external:lines:me"


async def deliver(channel: Channel) -> None:
    """Print the messages of the agent."""
    async for message in channel:
        print("(again) " * message.repeat + message.text, flush=True)
        await message.confirm()


async def receive(channel: Channel) -> None:
    """Publish the lines of stdin."""
    # The daemon keeps the number of the last line, so that the keys of a new run are new.
    number = int(channel.cursors.get("", "0"))
    while line := await asyncio.to_thread(sys.stdin.readline):
        number += 1
        key = str(number)
        await channel.publish(CHAT, "me", line, key=key, cursor={"position": key})


async def main() -> None:
    async with Client() as avocet, avocet.channel("lines", max_text=400) as channel:
        delivering = asyncio.create_task(deliver(channel))
        receiving = asyncio.create_task(receive(channel))
        # A task that nothing waits for would fail in silence.
        await asyncio.wait([delivering, receiving], return_when=asyncio.FIRST_COMPLETED)
        await channel.close()
        await asyncio.gather(delivering, receiving)


asyncio.run(main())
