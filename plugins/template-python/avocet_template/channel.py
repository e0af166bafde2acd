"""The channel: people's messages to the daemon, and its answers to the platform.

Both functions run until the daemon ends the connection. A fault of one message is logged, and the next
message follows. A fault of the connection is reported for `avocet status`, and the program connects again.
"""

import asyncio
import logging

from avocet_client import AvocetError, Channel, Delivery

from .platform import Platform

log = logging.getLogger("avocet_template")

# The pauses between attempts to connect double up to the longest one.
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
RETRY_SECONDS = 1.0
# Put before a text that may have arrived already.
AGAIN = "(sent again) "


async def receive(platform: Platform, channel: Channel) -> None:
    """Publish the messages of people. The daemon keeps the position, so the program keeps no files."""
    position = channel.cursors.get("", "0")
    pause = FIRST_PAUSE
    while True:
        try:
            await platform.connect(position)
            await channel.report_health(True)
            async for message in platform.messages():
                await publish(channel, message)
                position, pause = message["id"], FIRST_PAUSE
        except OSError as error:
            reason = f"cannot reach the chat server: {error}"
            log.warning("%s; connecting again in %.1f s", reason, pause)
        except Exception as error:
            # A fault of this program must not leave it deaf.
            reason = f"receiving has failed: {error!r}"
            log.exception("%s; connecting again in %.1f s", reason, pause)
        finally:
            platform.disconnect()
        await channel.report_health(False, reason)
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


async def publish(channel: Channel, message: dict[str, str]) -> None:
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
        except Exception:
            # Connecting again would bring the same message, so it is skipped.
            log.exception("skipping a message that cannot be published: %r", message)
            return
        else:
            return


async def deliver(platform: Platform, channel: Channel) -> None:
    """Send the answers, until the daemon ends the connection."""
    async for delivery in channel:
        try:
            await send(platform, delivery)
        except Exception as error:
            log.exception("cannot send the message %s", delivery.id)
            await delivery.unknown(f"the program has failed: {error!r}")


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
