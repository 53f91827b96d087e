"""What failures take of a run: restarts, idle GPUs, money; and the notice that borrowed capacity gives.

A failed node stops all workers of a job: they meet again, and all of them begin at the last checkpoint. A restart is
counted each time, whoever failed. Source: PyTorch documentation, torchrun and torch.distributed.elastic.
"""

from dataclasses import dataclass
from math import exp, lgamma, log

from catalogue.units import SECONDS_PER_HOUR

SPOT_MOST_LOST_MINUTES = 15
"""Most work that a run on spot capacity may lose."""

LIKELY = 0.95
_MOST_FAILURES = 10_000


def expected_failures(run_hours: float, mttf_h: float) -> float:
    """Failures to expect in a run of so many hours."""
    return run_hours / mttf_h


def covered_hours(restarts: int, mttf_h: float) -> float:
    """Hours in which so many restarts are used up, on average."""
    return restarts * mttf_h


def restarts_for(run_hours: float, mttf_h: float, likely: float = LIKELY) -> int:
    """Restarts that are enough with probability `likely`, when failures come independently (Poisson).

    Raises ValueError for a probability outside 0..1 and for a run that is to fail more than 10,000 times.
    """
    mean = expected_failures(run_hours, mttf_h)
    if not 0 < likely < 1 or mean > _MOST_FAILURES:
        raise ValueError(f"no number of restarts covers {mean:g} failures with probability {likely}")
    restarts, reached = 0, exp(-mean)
    while reached < likely:
        restarts += 1
        reached += exp(restarts * log(mean) - mean - lgamma(restarts + 1))
    return restarts


@dataclass(frozen=True, kw_only=True)
class FailureCost:
    """What one failure costs: the whole job's time in hours, in GPU hours, in US dollars where they have a price."""

    hours: float
    gpu_hours: float
    usd: float | None


def failure_cost(gpus: int, usd_per_gpu_hour: float | None, *, every_s: float, restart_s: float) -> FailureCost:
    """Half an interval of work that is done again, and the restart with the wait for a node, on all GPUs."""
    hours = (every_s / 2 + restart_s) / SECONDS_PER_HOUR
    return FailureCost(
        hours=hours,
        gpu_hours=hours * gpus,
        usd=hours * gpus * usd_per_gpu_hour if usd_per_gpu_hour is not None else None,
    )
