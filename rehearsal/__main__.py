"""`python -m rehearsal`: apply a stack offline, look at it, break it, take it away."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs an older one is to read why, not a SyntaxError
    found = ".".join(str(part) for part in sys.version_info[:2])
    sys.exit(f"error: Python {found} at {sys.executable} is too old: run this with 3.11 or later.")

from rehearsal.command.main import console

sys.exit(console())
