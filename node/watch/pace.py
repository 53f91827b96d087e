"""Whether a run still steps: its own metrics, looked at again and again.

A collective that does not end is PyTorch's to find: its watchdog gives up after 10 minutes and writes down what every
rank waited for. What stands still outside of one (a loader, a save, a script) nobody else sees.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from dataclasses import dataclass

STEP, STEP_SECONDS, PAUSE = "training_step", "training_step_seconds", "training_checkpoint_pause_seconds"
_SECONDS = 5


@dataclass(frozen=True)
class Patience:
    """For how long a run may stand: so many of its steps, but `least_seconds`; a save may take twice its last time."""

    steps: float
    least_seconds: float

    def seconds(self, page: dict[str, float]) -> float:
        """For a run that tells this of itself."""
        return max(self.least_seconds, self.steps * page.get(STEP_SECONDS, 0.0)) + 2 * page.get(PAUSE, 0.0)


@dataclass
class Pace:
    """The step of a run, and since when (monotonic seconds) it has been at it."""

    step: float
    since: float
    page: str

    def stands(self, page: str, now: float, patience: Patience) -> float | None:
        """Takes what the run tells now; for how many seconds it has hung, None where it has not.

        A step that goes back is a run that began again.
        """
        values = numbers(page)
        if STEP not in values:
            return None
        if values[STEP] != self.step:
            self.step, self.since = values[STEP], now
        self.page = page
        stood = now - self.since
        return stood if stood > patience.seconds(values) else None


def numbers(page: str) -> dict[str, float]:
    """Metrics without labels of a page in Prometheus' text format; lines that are none are left out."""
    found: dict[str, float] = {}
    for line in page.splitlines():
        name, _, value = line.partition(" ")
        if line.startswith("#") or "{" in name:
            continue
        try:
            found[name] = float(value.split()[0])
        except (ValueError, IndexError):
            continue
    return found


def fetch(address: str) -> str | None:
    """What a run tells; None where nobody answers, which is for Kubernetes to judge."""
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:  # noqa: S310 - a pod's own address
            text: str = answer.read(1 << 20).decode(errors="replace")
            return text
    except (OSError, urllib.error.URLError):
        return None
