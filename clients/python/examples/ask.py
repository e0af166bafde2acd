"""Ask the agent one question and print the answer: `ask.py terminal:local:me "count to 3"`."""

import sys

from avocet_client import AvocetError, BlockingClient

session, text = sys.argv[1:]
try:
    with BlockingClient() as avocet:
        print(avocet.ask(session, text)["reply"])
except AvocetError as error:
    sys.exit(f"error: {error}")
