"""Mean time to failure of a job, in hours, in two modes that are kept apart.

The rate model counts failures of nodes and scales with their number. What was published was measured or projected for
one size of job; the measured time counts interruptions of all causes, so that it does not follow from the rate. Source:
Kokolis et al. 2024, "Revisiting Reliability in Large-Scale Machine Learning Research Clusters" (RSC-1).
"""

from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from catalogue.units import HOURS_PER_DAY

FAILURES_PER_1000_NODE_DAYS = 6.5
GPUS_PER_NODE = 8
"""The nodes of RSC-1, whose failures the rate counts."""

_MEASURED_SCALES = (512, 2048)


class Basis(StrEnum):
    """Where a time comes from. The first two were published, the last follows from the rate of failures."""

    MEASURED = "measured"
    PROJECTED = "projected"
    RATE = "rate"


@dataclass(frozen=True, kw_only=True)
class Mttf:
    """Hours between failures of a job of so many GPUs, and where the number comes from."""

    gpus: int
    hours: float
    basis: Basis


PUBLISHED = (
    Mttf(gpus=1024, hours=7.9, basis=Basis.MEASURED),
    Mttf(gpus=16_384, hours=1.8, basis=Basis.PROJECTED),
    Mttf(gpus=131_072, hours=14 / 60, basis=Basis.PROJECTED),
)


def modelled_mttf_hours(gpus: int, failures_per_1000_node_days: float = FAILURES_PER_1000_NODE_DAYS) -> float:
    """By the rate at which single nodes of eight GPUs fail: 24 x 1000 / (rate x nodes)."""
    return HOURS_PER_DAY * 1000 / (failures_per_1000_node_days * ceil(gpus / GPUS_PER_NODE))


def published_mttf(gpus: int) -> Mttf | None:
    """As published: the size itself, or the measured time scaled to sizes near the one it was measured at.

    None elsewhere: the times of 1,024 and 16,384 GPUs are of different kinds, and nothing lies between them.
    """
    for row in PUBLISHED:
        if row.gpus == gpus:
            return row
    measured = PUBLISHED[0]
    smallest, largest = _MEASURED_SCALES
    if not smallest <= gpus <= largest:
        return None
    return Mttf(gpus=gpus, hours=measured.hours * measured.gpus / gpus, basis=measured.basis)


def planning_mttf(gpus: int, failures_per_1000_node_days: float = FAILURES_PER_1000_NODE_DAYS) -> Mttf:
    """The time to plan with: the shorter of the two modes where something was measured, and the rate model elsewhere.

    A site that knows the rate of its own nodes has better than what others measured, so that its rate decides alone.
    """
    modelled = modelled_mttf_hours(gpus, failures_per_1000_node_days)
    published = published_mttf(gpus)
    own_rate = failures_per_1000_node_days != FAILURES_PER_1000_NODE_DAYS
    if published and published.basis is Basis.MEASURED and published.hours < modelled and not own_rate:
        return published
    return Mttf(gpus=gpus, hours=modelled, basis=Basis.RATE)


def mttf_hours(gpus: int, failures_per_1000_node_days: float = FAILURES_PER_1000_NODE_DAYS) -> float:
    """Hours between failures to plan with."""
    return planning_mttf(gpus, failures_per_1000_node_days).hours
