"""A channel that the daemon starts. Its platform is the file `texts` in its working directory."""

import asyncio
import os
import subprocess

from avocet_client import Client, served_account


async def main() -> None:
    print("the library has not begun: the daemon ignores this line", flush=True)
    client = Client()
    # From now on, prints and the output of other programs go to standard error.
    print("a print of a library")
    subprocess.run(["/bin/echo", "an echo"], check=True)
    assert os.read(0, 1) == b"", "standard input is not free"
    async with client, client.channel(max_text=400, capabilities=["typing"]) as channel:
        chat = f"external:{served_account()}:c1"
        await channel.report_health(False, "the platform is away")
        await channel.move_cursor("5")
        await channel.withdraw_message(chat, "unknown")
        await channel.publish(chat, "ann", "count to 2", key="k1")
        async for delivery in channel:
            with open("texts", "a") as texts:
                texts.write(delivery.text + "\n")
            if delivery.text.startswith("wait") and not delivery.repeat:
                await delivery.fail("too many messages", retry_after=0.1)
            else:
                await delivery.confirm()
            await channel.report_health(True)
    print("the daemon has closed the input")


asyncio.run(main())
