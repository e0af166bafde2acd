"""Log lines on standard error."""

import logging
import sys

log = logging.getLogger("avocet_email")


def start(level: str) -> None:
    """Write log lines of this level and above to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(level.upper())
    log.propagate = False


def shown(value: object, limit: int = 120) -> str:
    """Return untrusted text for a log line: in one line, without control characters, and cut."""
    text = value if isinstance(value, str) else str(value)
    cut = text[:limit] + ("..." if len(text) > limit else "")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in cut)
