"""The channel: people's messages to the daemon, and its answers to the platform."""

import asyncio
import logging
from typing import Any

from avocet_client import AvocetError, Channel, Delivery

from .platform import Platform

log = logging.getLogger("avocet_template")

RETRY_SECONDS = 1.0
# Put before a text that may have arrived already.
AGAIN = "(sent again) "


async def receive(platform: Platform, channel: Channel) -> None:
    """Publish the messages of people. The daemon keeps the position, so the program keeps no files."""
    position = channel.cursors.get("", "0")
    while True:
        try:
            async for message in platform.messages(position):
                await channel.report_health(True)
                await publish(channel, message)
                position = message["id"]
        except OSError as error:
            log.warning("cannot reach the chat server: %s", error)
            await channel.report_health(False, f"cannot reach the chat server: {error}")
            await asyncio.sleep(RETRY_SECONDS)


async def publish(channel: Channel, message: dict[str, Any]) -> None:
    """Publish one message. It counts as accepted once the daemon has answered."""
    chat = f"external:{channel.account}:{message['chat']}"
    while True:
        try:
            await channel.publish(
                chat,
                message["sender"],
                message["text"],
                key=message["id"],
                cursor={"position": message["id"]},
            )
        except AvocetError as error:
            if not error.is_transient:
                # The person may not speak, for example. The position has moved over the message.
                log.info("a message of %s was refused: %s", message["sender"], error)
                return
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return


async def deliver(platform: Platform, channel: Channel) -> None:
    """Send the answers, until the daemon ends the connection."""
    async for delivery in channel:
        await send(platform, delivery)


async def send(platform: Platform, delivery: Delivery) -> None:
    """Send one message, and report what is known of its outcome."""
    if not platform.is_connected:
        return await delivery.fail("the chat server cannot be reached", RETRY_SECONDS)
    text = AGAIN + delivery.text if delivery.repeat else delivery.text
    try:
        await platform.send(delivery.chat.split(":", 2)[2], text, delivery.nonce)
    except OSError as error:
        await delivery.unknown(f"the connection was lost before the confirmation: {error}")
    else:
        await delivery.confirm()
