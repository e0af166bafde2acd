"""Ends at once, with a reason on stderr."""

import sys

sys.exit("cannot find my database; set DATABASE")
