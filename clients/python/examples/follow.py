"""Print each reply on any channel, also after a restart of the daemon or of this program.

The daemon keeps the position under the name `printer`.
"""

import asyncio
import contextlib

from avocet_client import Client


async def main() -> None:
    async with (
        Client() as avocet,
        avocet.subscribe("printer", from_=0, kinds=["delivery.sent"]) as events,
    ):
        async for event in events:
            delivery = event.get("delivery")
            # The details of an old event may have been removed.
            if delivery is not None:
                print(event["seq"], delivery["chat"], delivery["text"], flush=True)


with contextlib.suppress(KeyboardInterrupt):
    asyncio.run(main())
