"""The programs of the README and of `examples/`, run as they stand there."""

import os
import re
import subprocess
import sys
import unittest

from support import ME, PATIENCE_SECONDS, ROOT, SOURCES, Home

FOLDER = ROOT / "clients/python"
README = (FOLDER / "README.md").read_text(encoding="utf-8")


class ExampleTest(unittest.TestCase):
    def setUp(self) -> None:
        self.home = Home()
        self.addCleanup(self.home.remove)

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start Python in the home of the daemon."""
        # The interpreter may need the other variables.
        environment = {**os.environ, "HOME": str(self.home.path), "PYTHONPATH": str(SOURCES)}
        environment.pop("XDG_STATE_HOME", None)
        process = subprocess.Popen(
            [sys.executable, "-B", *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def run_to_end(self, *arguments: str, text: str = "") -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(text, timeout=PATIENCE_SECONDS)
        return process.returncode, out, err

    def test_readme_programs_print_the_reply(self) -> None:
        self.home.start()
        programs = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
        self.assertEqual(len(programs), 2)
        for program in programs:
            self.assertLessEqual(program.count("\n"), 14, "the README promises a short program")
            self.assertEqual(self.run_to_end("-c", program), (0, "1, 2, 3.\n", ""))

    def test_ask_prints_the_reply_or_the_error(self) -> None:
        example = str(FOLDER / "examples/ask.py")
        self.home.start()
        self.assertEqual(self.run_to_end(example, ME, "count to 2"), (0, "1, 2.\n", ""))
        code, _, err = self.run_to_end(example, "nowhere", "count to 2")
        self.assertEqual(code, 1)
        self.assertIn("error: ask: ", err)

    def test_chat_prints_replies_and_follow_prints_them_again(self) -> None:
        self.home.start()
        for number, counted in [(1, "1."), (2, "1, 2.")]:
            chat = self.start(str(FOLDER / "examples/chat.py"), ME)
            assert chat.stdin is not None and chat.stdout is not None
            chat.stdin.write(f"count to {number}\n")
            chat.stdin.flush()
            self.assertEqual(chat.stdout.readline(), f"{counted}\n")
            # The end of the input ends the program after the confirmation.
            self.assertEqual(chat.communicate(timeout=PATIENCE_SECONDS), ("", ""))
        follow = self.start(str(FOLDER / "examples/follow.py"))
        assert follow.stdout is not None
        lines = [follow.stdout.readline() for _ in range(2)]
        self.assertRegex(lines[0], rf"^\d+ {ME} 1\.\n$")
        self.assertRegex(lines[1], rf"^\d+ {ME} 1, 2\.\n$")

    def test_channel_keeps_its_position_over_its_end(self) -> None:
        self.home = Home('[channels.external.lines]\nowners = ["me"]\n')
        self.addCleanup(self.home.remove)
        self.home.start()
        for number, counted in [(1, "1."), (2, "1, 2.")]:
            channel = self.start(str(FOLDER / "examples/channel.py"))
            assert channel.stdin is not None and channel.stdout is not None
            channel.stdin.write(f"count to {number}\n")
            channel.stdin.flush()
            self.assertEqual(channel.stdout.readline(), f"{counted}\n")
            self.assertEqual(channel.communicate(timeout=PATIENCE_SECONDS), ("", ""))


if __name__ == "__main__":
    unittest.main()
