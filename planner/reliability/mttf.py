"""Failures of a job: the mean time between them, in hours, and what they take of a run.

There is one rate of failures for each GPU generation, scaled by the job's GPUs. Rates are counted for nodes of eight
GPUs, as they were published; each has a range, because clusters differ more than generations do. What others measured
stands beside the time for comparison and never replaces it.

A failed node stops all workers of a job: they meet again, and all of them begin at the last checkpoint. A restart is
counted each time, whoever failed. Source: PyTorch documentation, torchrun and torch.distributed.elastic.
"""

from dataclasses import dataclass
from math import exp, lgamma, log

from catalogue.types import Gpu
from catalogue.units import HOURS_PER_DAY, SECONDS_PER_HOUR

GPUS_PER_NODE = 8


@dataclass(frozen=True, kw_only=True)
class FailureRate:
    """Failures in 1,000 days of a node of eight GPUs, with the lowest and highest rate that was published."""

    per_1000_node_days: float
    low: float
    high: float
    source: str


_RSC_2 = 2.34
_OPT = 53.5 / (124 * 56) * 1000
_LLAMA_3 = 419 / (54 * 2048) * 1000
_RATES = {
    8: FailureRate(
        per_1000_node_days=7.1,
        low=_RSC_2,
        high=_OPT,
        source="A100: 6.5 failures in 1,000 node-days in RSC-1, 2.34 in RSC-2 (Kokolis et al. 2024), 53 to 54 restarts "
        "of OPT-175B on 124 nodes in 56 days",
    ),
    9: FailureRate(
        per_1000_node_days=_LLAMA_3,
        low=_RSC_2,
        high=_OPT,
        source="H100: 419 unexpected interruptions of Llama 3 405B on 2,048 nodes in 54 days (Llama team 2024)",
    ),
}
_UNPUBLISHED = FailureRate(
    per_1000_node_days=6.5,
    low=_RSC_2,
    high=2 * _OPT,
    source="no figure published for this GPU; the 6.5 failures in 1,000 node-days of RSC-1 (A100) are taken",
)


@dataclass(frozen=True, kw_only=True)
class Published:
    """A time between failures that others printed, of one job on so many GPUs."""

    gpus: int
    hours: float
    source: str


PUBLISHED = (
    Published(gpus=992, hours=56 * 24 / 53.5, source="OPT-175B on A100, 53 to 54 restarts in 56 days"),
    Published(gpus=1024, hours=7.9, source="RSC-1 on A100, measured, interruptions of all causes"),
    Published(gpus=16_384, hours=1.8, source="RSC-1 on A100, projected"),
    Published(gpus=16_384, hours=54 * 24 / 419, source="Llama 3 405B on H100, unexpected interruptions"),
)


@dataclass(frozen=True, kw_only=True)
class Mttf:
    """Hours between failures of a job of so many GPUs, the shortest and longest to expect, and the rate's source."""

    gpus: int
    hours: float
    low: float
    high: float
    source: str


def failure_rate(gpu: Gpu | None, own: float | None = None) -> FailureRate:
    """The site's own rate where it says one, else the GPU generation's."""
    if own is not None:
        return FailureRate(per_1000_node_days=own, low=own, high=own, source="failuresPer1000NodeDays of the site")
    return _RATES.get(int(gpu.compute_capability), _UNPUBLISHED) if gpu else _UNPUBLISHED


def mttf(gpus: int, rate: FailureRate) -> Mttf:
    """24 x 1000 / (rate x GPUs / 8): twice the GPUs fail twice as often, at every size."""

    def hours(per_1000: float) -> float:
        return HOURS_PER_DAY * 1000 * GPUS_PER_NODE / (per_1000 * gpus)

    return Mttf(
        gpus=gpus,
        hours=hours(rate.per_1000_node_days),
        low=hours(rate.high),
        high=hours(rate.low),
        source=rate.source,
    )


def compared(gpus: int) -> tuple[Published, ...]:
    """What was published of jobs of half to twice the size."""
    return tuple(each for each in PUBLISHED if gpus / 2 <= each.gpus <= 2 * gpus)


SPOT_MOST_LOST_MINUTES = 15
"""Most work that a run on spot capacity may lose."""

SPOT_NOTICE_S = 120
"""From EC2's notice to the end of a spot instance (EC2 user guide, Spot Instance interruption notices)."""

LIKELY = 0.95
_MOST_FAILURES = 10_000


def expected_failures(run_hours: float, mttf_h: float) -> float:
    """Failures to expect in a run of so many hours."""
    return run_hours / mttf_h


def covered_hours(restarts: int, mttf_h: float) -> float:
    """Hours in which so many restarts are used up, on average."""
    return restarts * mttf_h


def restarts_for(run_hours: float, mttf_h: float) -> int:
    """Restarts that are enough with probability `LIKELY`, when failures come independently (Poisson).

    Raises ValueError for a run that is to fail more than 10,000 times.
    """
    mean = expected_failures(run_hours, mttf_h)
    if mean > _MOST_FAILURES:
        raise ValueError(f"no number of restarts covers {mean:g} failures")
    restarts, reached = 0, exp(-mean)
    while reached < LIKELY:
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
