"""The fake server for the contract of all channels. Ann writes in private."""

import asyncio

from fake_server import Said
from irc_support import PLUGIN, FakeServer, Person

from contract_server import serve
from support import child_table

NICK = "avocet"
SETTINGS = ["--no-tls", "--channels=#room", "--server=127.0.0.1", f"--nick={NICK}"]
FAST = ["--burst=50", "--seconds-per-line=0", "--longest-pause-seconds=0.1"]


async def main() -> None:
    """Serve the platform."""
    server = FakeServer()
    server.people["ann"] = Person(account="ann")
    await server.start()
    command = ["-m", "avocet_irc", *SETTINGS, *FAST, f"--port={server.port}"]
    table = child_table("irc", command, plugin=PLUGIN, ports=[server.port])

    async def say(text: str) -> None:
        server.say("ann", NICK, text)

    async def again() -> None:
        server.pass_on(next(said for said in reversed(server.log) if said.target == NICK))

    def lose() -> None:
        def cut(_: Said) -> None:
            server.on_message = None
            server.cut()

        server.on_message = cut

    async def ready() -> None:
        await server.until(
            lambda: any("#room" in client.joined for client in server.clients), "the program joins"
        )

    await serve(
        f'{table}owners = ["ann"]\n',
        say=say,
        told=lambda: server.texts("ann"),
        ready=ready,
        again=again,
        lose=lose,
        typings=lambda: len(server.typing),
    )


asyncio.run(main())
