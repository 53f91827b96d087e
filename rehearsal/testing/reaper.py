"""Stops the sites below a directory when whoever holds this process's standard input has ended, however it ended.

`python -m rehearsal.testing.reaper DIRECTORY`: a site outlives the command that started it, but not the tests that
wanted it.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rehearsal import places, sites

LOCK = places.SiteDirectory(Path()).lock.name
"""What every site's directory holds, from before its processes start."""


@contextmanager
def reaping(directory: Path) -> Iterator[None]:
    """No site below `directory` outlives this process or the end of the context."""
    words = [sys.executable, "-m", "rehearsal.testing.reaper", str(directory)]
    # A session of its own: an interrupt from the keyboard is for the tests, and this is for afterwards.
    reaper = subprocess.Popen(words, cwd=places.CODE, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        reaper.communicate()


def stop_below(directory: Path) -> None:
    """Stop every site whose directory lies below this one."""
    for place, _, names in os.walk(directory):
        if LOCK in names:
            sites.stop(Path(place))


if __name__ == "__main__":
    sys.stdin.read()
    stop_below(Path(sys.argv[1]))
