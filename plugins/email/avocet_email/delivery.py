"""The sending half: hands the agent's messages to the SMTP server."""

import asyncio

from avocet_client import AvocetError, Channel, Delivery

from . import smtp
from .addresses import Chat, parse_chat
from .compose import Answer, SentFile, compose
from .config import MEGABYTE, Config
from .imap import ImapError
from .log import log, shown
from .mail import own_id
from .mailbox import Mailbox

# Connections to the SMTP server. The daemon sends one message at a time for each correspondent.
MOST_AT_ONCE = 4


class Deliverer:
    """Delivers messages until the channel is closed."""

    def __init__(self, config: Config, channel: Channel, mailbox: Mailbox) -> None:
        self._config = config
        self._channel = channel
        self._mailbox = mailbox
        self._places = asyncio.Semaphore(MOST_AT_ONCE)
        self._running: set[asyncio.Task[None]] = set()
        self._is_ending = False

    async def run(self) -> None:
        """Start a task for each delivery."""
        async for delivery in self._channel:
            task = asyncio.create_task(self._deliver(delivery))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def drain(self, seconds: float) -> None:
        """Begin no more deliveries, and wait for those that have begun."""
        self._is_ending = True
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)

    async def _deliver(self, delivery: Delivery) -> None:
        async with self._places:
            if self._is_ending:
                await delivery.fail("the e-mail program ends")
                return
            chat = parse_chat(delivery.chat)
            if chat is None:
                await delivery.refuse(f"{delivery.chat} does not name an e-mail address")
                return
            try:
                await self._send(delivery, chat)
            except (smtp.NotSent, ImapError, AvocetError) as error:
                log.warning(
                    "cannot send to %s: %s; the daemon repeats it", chat.address, shown(error, 400)
                )
                await delivery.fail(str(error))
            except smtp.Refused as error:
                log.warning("mail to %s was refused: %s", chat.address, shown(error, 400))
                await delivery.refuse(str(error))
            except smtp.Unknown as error:
                log.warning(
                    "mail to %s has an unknown outcome: %s", chat.address, shown(error, 400)
                )
                await delivery.unknown(str(error))
            except Exception as error:
                # The mail was not sent: only `smtp.send` sends, and its errors are handled above.
                log.exception("cannot write a mail to %s; please report this fault", chat.address)
                await delivery.refuse(f"the mail cannot be written: {error!r}")

    async def _send(self, delivery: Delivery, chat: Chat) -> None:
        config = self._config
        size = sum(file["bytes"] for file in delivery.attachments)
        if size > config.max_attachments_megabytes * MEGABYTE:
            most = config.max_attachments_megabytes
            raise smtp.Refused(f"the files have {size} bytes; the limit is {most} MB")
        files = [
            SentFile(file["name"], file.get("media_type", ""), await delivery.read_file(number))
            for number, file in enumerate(delivery.attachments)
        ]
        thread = await self._mailbox.thread(chat)
        answer = Answer(
            delivery.nonce, delivery.text, delivery.styles, delivery.choices, delivery.repeat, files
        )
        mail = compose(config, chat, thread, answer)
        # A thread, because `smtplib` blocks. Its connections have a timeout.
        accepted = await asyncio.to_thread(
            smtp.send, config.smtp, config.address, chat.address, mail
        )
        log.info("mail to %s was sent: %s", chat.address, accepted)
        await delivery.confirm(own_id(delivery.nonce, chat.thread, config).strip("<>"))
