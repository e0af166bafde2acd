"""The programs of others as processes, and the judge of the kill tests.

`tests/foreign/install` puts the programs below `target/foreign`.
"""

import asyncio
import contextlib
import os
import random
import re
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = (ROOT / os.environ.get("CARGO_TARGET_DIR", "target")).resolve() / "foreign"
DEBIAN = FOREIGN / "debian"
# The time after which a wait fails its test. A delivery of unknown outcome waits for 15 s.
PATIENCE_SECONDS = int(os.environ.get("AVOCET_FOREIGN_PATIENCE", "120"))
KILLS = int(os.environ.get("AVOCET_FOREIGN_KILLS", "50"))


def use(plugin: str) -> Path:
    """Make the program and the test helpers of a plugin importable, and return its folder."""
    folder = ROOT / "plugins" / plugin
    clients = ROOT / "clients/python"
    sys.path[:0] = [
        str(folder / "tests"),
        str(folder),
        *map(str, (clients / "tests", clients / "src")),
    ]
    return folder


def free_port() -> int:
    """Return a free port below those that the system gives to clients.

    A server gets its port back after a restart: no client can have it meanwhile.
    """
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(lowest // 2, lowest)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for the data of a server, on the file system of the programs."""
    if not DEBIAN.exists():
        raise FileNotFoundError(f"{DEBIAN} does not exist; run tests/foreign/install")
    return tempfile.TemporaryDirectory(dir=FOREIGN, prefix="run-", ignore_cleanup_errors=True)


class Server:
    """A server as a group of processes. Its output is in `log`."""

    def __init__(self, *command: str | Path, **environment: str) -> None:
        # A server does not outlive its test.
        self.command = ["setpriv", "--pdeathsig", "KILL", *(str(word) for word in command)]
        self.environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **environment}
        self.log: list[str] = []
        self.process: asyncio.subprocess.Process | None = None

    async def start(self, port: int) -> None:
        """Start the server, and wait until it listens on the port."""
        self.process = await asyncio.create_subprocess_exec(
            *self.command,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            # The group has all its processes, and is killed as a whole.
            start_new_session=True,
        )
        self._reading = asyncio.create_task(self._read(self.process))
        await self.listens(port)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            self.log.append(line.decode("utf-8", "replace"))

    async def listens(self, port: int) -> None:
        """Wait until the server accepts connections."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                assert self.process is not None
                if self.process.returncode is not None:
                    raise AssertionError(f"{self.command[0]} has ended:\n" + "".join(self.log))
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.05)
                else:
                    writer.close()
                    return

    async def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End all processes of the server."""
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass
        await self.process.wait()
        # Its last lines are still in the pipe.
        await asyncio.wait([self._reading], timeout=5)
        self.process = None


def assert_no_faults(log: list[str]) -> None:
    """Fail if a line says that a program has a fault of its own."""
    if path := os.environ.get("AVOCET_FOREIGN_LOG"):
        Path(path).write_text("".join(log))
    # An exception that nobody handles, and the text about one that the program survives.
    faults = [line for line in log if re.search(r"Traceback|panicked| ERROR |a fault of", line)]
    assert not faults, "".join(faults)


def seeded() -> random.Random:
    """Return the source of chance. `AVOCET_FOREIGN_SEED` repeats a run."""
    seed = int(os.environ.get("AVOCET_FOREIGN_SEED", random.randrange(10**6)))
    print(f"seed of the kills: AVOCET_FOREIGN_SEED={seed}", flush=True)
    return random.Random(seed)


async def true(look: Callable[[], Any], what: str, seconds: float = PATIENCE_SECONDS) -> Any:
    """Look again until there is a value."""
    try:
        async with asyncio.timeout(seconds):
            while not (found := look()):
                await asyncio.sleep(0.01)
            return found
    except TimeoutError:
        raise AssertionError(f"not in {seconds} s: {what}") from None


ANSWER = re.compile(r"remembered [^\n]*: the number (\d+)\b")
# A text of unknown outcome is sent once more.
MOST_COPIES = 2
# A notice has one of these beginnings, then the answer or its questions in quotes.
NOTICE = re.compile(
    "I could not (confirm that this message arrived|send this message):"
    "|I dropped (this message|what you asked) because "
)
QUOTED = re.compile(r"the number (\d+)\b")


def question(number: int) -> str:
    """Return the text of a question. The model answers it at once."""
    return f"remember the number {number}"


@dataclass
class Seen:
    """A text that a person has got."""

    text: str
    is_marked: bool = False

    @property
    def answered(self) -> int | None:
        """The number of the question that this text answers."""
        found = ANSWER.match(self.text)
        return int(found[1]) if found else None


    @property
    def is_notice(self) -> bool:
        """Say if this text tells that an answer is lost or uncertain."""
        return NOTICE.match(self.text) is not None


@dataclass
class Chat:
    """The questions of a chat and the texts that came back."""

    name: str
    # The questions that the server passed to the channel, in order.
    asked: list[int] = field(default_factory=list)
    # Questions that died with the channel before the daemon had them.
    excused: set[int] = field(default_factory=set)
    # Questions whose answer and notice are failed messages: kills have hit each send of both.
    reported: set[int] = field(default_factory=set)
    seen: list[Seen] = field(default_factory=list)

    @property
    def open(self) -> list[int]:
        """The questions that have no answer and no notice yet."""
        known = {seen.answered for seen in self.seen} | {
            int(number)
            for seen in self.seen
            if seen.is_notice
            for number in QUOTED.findall(seen.text)
        }
        done = known | self.excused | self.reported
        return [number for number in self.asked if number not in done]


class Judge:
    """Counts lost, doubled and reordered answers."""

    def __init__(self) -> None:
        self.chats: dict[str, Chat] = {}
        self._numbers = 0

    def chat(self, name: str) -> Chat:
        """Return a chat, which is made at its first use."""
        return self.chats.setdefault(name, Chat(name))

    def next(self) -> int:
        """Return the number of a new question."""
        self._numbers += 1
        return self._numbers

    @property
    def open(self) -> dict[str, list[int]]:
        """The open questions by their chats."""
        return {name: chat.open for name, chat in self.chats.items() if chat.open}

    def faults(self) -> list[str]:
        """Return a line for each broken promise."""
        found = [
            f"{name}: lost {chat.open}; the texts: {[seen.text[:200] for seen in chat.seen]}"
            for name, chat in self.chats.items()
            if chat.open
        ]
        for name, chat in self.chats.items():
            answers = [seen for seen in chat.seen if seen.answered is not None]
            plain = [seen.answered for seen in answers if not seen.is_marked]
            doubled = sorted({number for number in plain if plain.count(number) > 1})
            if doubled:
                found.append(f"{name}: doubled without a mark {doubled}")
            copies = [seen.answered for seen in answers]
            copied = sorted({number for number in copies if copies.count(number) > MOST_COPIES})
            if copied:
                found.append(f"{name}: more than {MOST_COPIES} copies {copied}")
            unasked = sorted({seen.answered or 0 for seen in answers} - set(chat.asked))
            if unasked:
                found.append(f"{name}: answers to questions of others {unasked}")
            known = (seen.answered for seen in answers if seen.answered in chat.asked)
            first = list(dict.fromkeys(known))
            if first != sorted(first, key=chat.asked.index):
                texts = [f"{'marked: ' * seen.is_marked}{seen.text[:80]}" for seen in chat.seen]
                asked = f"asked {chat.asked}"
                found.append(f"{name}: out of order {first}; {asked}; the texts: {texts}")
        return found

    def summary(self) -> str:
        """Return the figures of the run."""
        chats = self.chats.values()
        answers = [seen for chat in chats for seen in chat.seen if seen.answered is not None]
        notices = [seen for chat in chats for seen in chat.seen if seen.is_notice]
        return (
            f"{sum(len(chat.asked) for chat in chats)} questions, {len(answers)} answers, "
            f"{sum(seen.is_marked for seen in answers)} of them marked, "
            f"{len(notices)} notices, "
            f"{sum(len(chat.excused) for chat in chats)} questions died with the channel, "
            f"{sum(len(chat.reported) for chat in chats)} only in the list of failed messages"
        )


async def committed(client: Any) -> set[int]:
    """Return the numbers of the questions that the daemon has committed."""
    numbers: set[int] = set()
    after = 0
    while True:
        page = await client.events(after, limit=500, kinds=["message.queued"])
        for event in page["events"]:
            numbers |= {int(each) for each in QUOTED.findall(event["message"]["text"])}
        after = page["next"]
        if after >= page["newest"]:
            return numbers


async def note_reports(client: Any, judge: Judge) -> None:
    """Note the open questions whose notice is a failed message, too.

    The daemon sends a text of unknown outcome twice, then a notice about it twice. Kills may hit
    all four. The operator still sees both texts as unconfirmed.
    """
    letters = await client.failed_messages(limit=200)
    for chat in judge.chats.values():
        for number in chat.open:
            about = [each for each in letters if re.search(rf"the number {number}\b", each["text"])]
            # One is the answer, and another one the notice.
            if len(about) >= 2:
                chat.reported.add(number)


async def all_answered(
    client: Any, judge: Judge, look: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Wait until no question is open, or until the patience ends. `look` reads the chats."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if look is not None:
                    await look()
                await note_reports(client, judge)
                if not judge.open:
                    return
                await asyncio.sleep(0.1)


async def after(lines: Callable[[], int], chance: random.Random, most: int) -> None:
    """Wait for a random number of lines of the server, below `most`, or for a second."""
    end = lines() + chance.randrange(1, most)
    with contextlib.suppress(AssertionError):
        await true(lambda: lines() >= end, "lines", seconds=1)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder by hard links."""
    shutil.copytree(source, target, copy_function=os.link, symlinks=True)
