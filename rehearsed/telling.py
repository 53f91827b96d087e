"""A program: tells the tracker of a run that is played, by the trainer's own `tracking.py`, until it is ended.

It stands beside the container that plays the run, so it imports nothing of a rehearsal.
"""

import math
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

STEP_SECONDS = 10.0
"""What a step takes. Assumed."""


def loss(step: int) -> float:
    """The loss of a step of a run. Assumed."""
    return 2 + 9 * math.exp(-step / 500)


def main(words: Sequence[str]) -> None:
    """A value a step, from the first one on; the flags of the words are the run's parameters."""
    from tracking import Tracker  # of the trainer's directory, which is on the path of the process alone

    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    place = os.environ.get("CHECKPOINT_DIR")
    told = Tracker(os.environ, Path(place) if place else None, lambda line: print(line, flush=True))
    told.begin(dict(word[2:].split("=", 1) for word in words if word.startswith("--") and "=" in word), resumed=True)
    step = 0
    while not ended.wait(STEP_SECONDS if step else 0):
        step += 1
        told.tell(step, loss=loss(step), step_seconds=STEP_SECONDS)
    told.end("KILLED")


if __name__ == "__main__":
    main(sys.argv[1:])
