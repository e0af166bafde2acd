"""The fake servers for the contract of all channels. Ann writes one mail after the other."""

import asyncio
import itertools
import sys
from pathlib import Path

from world import ANN, BOT, PASSWORD, PLUGIN, FakeImap, FakeSmtp, child_table, mail, true

from contract_server import serve


async def main() -> None:
    """Serve the platform."""
    imap, smtp = FakeImap(), FakeSmtp()
    for fake in (imap, smtp):
        await fake.start()
    settings = Path(sys.argv[1]) / "email.toml"
    server = 'host = "127.0.0.1"\nsecurity = "plain"\npassword_env = "PASSWORD"\n'
    settings.write_text(
        f'address = "{BOT}"\nname = "Avocet"\n'
        '[authentication]\nauthserv_id = "mx.example.net"\n'
        f"[imap]\n{server}port = {imap.port}\n[smtp]\n{server}port = {smtp.port}\n"
    )
    table = child_table(
        "email",
        ["-m", "avocet_email", str(settings)],
        plugin=PLUGIN,
        ports=[imap.port, smtp.port],
        read=[settings],
        PASSWORD=PASSWORD,
    )

    numbers = itertools.count(1)

    sent: list[bytes] = []

    async def say(text: str) -> None:
        sent.append(mail(text, Message_ID=f"<{next(numbers)}@example.org>"))
        imap.deliver(sent[-1])

    async def again() -> None:
        imap.deliver(sent[-1])

    async def choose(text: str) -> None:
        # The answer to a question is a reply to its mail.
        question = str(smtp.mails[-1].message["Message-ID"])
        imap.deliver(mail(text, Message_ID=f"<{next(numbers)}@example.org>", In_Reply_To=question))

    async def ready() -> None:
        await true(lambda: imap.idles)

    await serve(
        f'{table}owners = ["{ANN}"]\n',
        say=say,
        told=lambda: [taken.text for taken in smtp.mails],
        ready=ready,
        again=again,
        lose=lambda: smtp.script.append(("taken", "")),
        choose=choose,
    )


asyncio.run(main())
