"""How many random examples the tests try: few while a person works, 5,000 in `make test`."""

import os

FUZZ = int(os.environ.get("FUZZ", "200"))
"""Random stack files. The same number always makes the same files."""
EACH = max(FUZZ // 8, 1)
"""Examples of each property."""
