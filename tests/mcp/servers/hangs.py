"""Never answers `initialize`."""

import sys

for _ in sys.stdin:
    pass
