"""What is compared before anything is planned whole: so many nodes of an offer, what they take at the least.

The estimate is a lower bound of what the plan says: it has the nodes and the file system and leaves out the rest.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil

from catalogue.types import Price
from catalogue.units import HOURS_PER_DAY, SECONDS_PER_DAY, SECONDS_PER_MINUTE
from planner.communication.group import Cluster
from planner.cost.stack import fsx_service
from planner.forecast import RESTART_SECONDS
from planner.proposing.layouts import Shape, Space, Timed, shapes
from planner.proposing.question import COUNTS, LONGEST_BLOCK_DAYS, Offer, Serving, Training
from planner.proposing.requests import Replica, replicas
from planner.reliability.checkpoints import effective_part, young_seconds
from planner.reliability.mttf import SPOT_MOST_LOST_MINUTES, failure_rate, mttf
from planner.storage import fsx
from planner.storage.need import checkpoint_gb

KEPT = 3
"""Checkpoints that are kept."""

_TIERS = (None, 125, 250, 500, 1000)
_SLACK = 1.1
_LONGEST_SAVE_S = 500.0
"""Shorter than what a pod has between the signal and the end of its capacity block, 600 s."""

_GB_PER_GIB = 2**30 / 1e9


@dataclass(frozen=True, kw_only=True)
class Files:
    """FSx for Lustre of that size and tier (None: SCRATCH_2), and when a run saves to it."""

    tier: int | None
    capacity_gib: int
    usd_per_hour: float
    every_s: float = 0.0
    within_s: float = 0.0
    effective_part: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Nodes of an offer with what they do: a run by the `timed` layout, or `replicas` of a server. `days` and `usd` are
    the least it can take.
    """

    offer: Offer
    nodes: int
    days: float
    usd: float
    timed: Timed | None = None
    files: Files | None = None
    replica: Replica | None = None
    replicas: int = 0

    @property
    def gpus(self) -> int:
        """GPUs of all nodes."""
        return self.nodes * self.offer.gpus


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was found already: layouts by GPU and GPUs of a node, their space and the fastest of them by what joins the
    GPUs, which servers of several makers have alike.
    """

    shapes: dict[tuple[str, int], list[Shape]] = field(default_factory=dict)
    spaces: dict[Cluster, Space] = field(default_factory=dict)
    fastest: dict[tuple[Cluster, int], Timed | None] = field(default_factory=dict)


def of_training(question: Training, offer: Offer, services: Mapping[str, Price], known: Found) -> Iterator[Candidate]:
    """Every number of nodes of the offer that holds the model, with its fastest layout and its cheapest file system."""
    key = (offer.gpu.name, offer.gpus)
    if key not in known.shapes:
        known.shapes[key] = shapes(question.model, offer.gpu, offer.gpus, question.sequence)
    if offer.cluster not in known.spaces:
        known.spaces[offer.cluster] = Space(known.shapes[key], question.model, offer.cluster)
    space = known.spaces[offer.cluster]
    for nodes in (each for each in COUNTS if each <= offer.most):
        node = (offer.cluster, nodes)
        if node not in known.fastest:
            known.fastest[node] = space.fastest(nodes * offer.gpus)
        if timed := known.fastest[node]:
            yield from _trained(question, offer, nodes, timed, services)


def _trained(
    question: Training, offer: Offer, nodes: int, timed: Timed, services: Mapping[str, Price]
) -> Iterator[Candidate]:
    """With the file system for which the whole run costs least; on premises the plan finds it."""
    running = question.tokens / timed.step.tokens_per_s / SECONDS_PER_DAY
    hours_between = mttf(nodes * offer.gpus, failure_rate(offer.gpu)).hours
    saved_gb = checkpoint_gb(question.model.parameters)
    if offer.owned:
        part = _saving(saved_gb, saved_gb / 60, hours_between, spot=False).effective_part
        if part:
            usd = nodes * offer.usd
            yield Candidate(offer=offer, nodes=nodes, days=running / part, usd=usd, timed=timed)
        return
    options = []
    for tier in _TIERS:
        files = _files(tier, saved_gb, hours_between, services, spot=offer.capacity == "spot")
        if not files.effective_part or files.within_s > _LONGEST_SAVE_S:
            continue
        days = running / files.effective_part
        rented = block_days(days) if offer.capacity == "capacity-block" else days
        if rented <= LONGEST_BLOCK_DAYS or offer.capacity != "capacity-block":
            usd = (rented * nodes * offer.usd + days * files.usd_per_hour) * HOURS_PER_DAY
            options.append(Candidate(offer=offer, nodes=nodes, days=days, usd=usd, timed=timed, files=files))
    if options:
        yield min(options, key=lambda each: each.usd)


def block_days(days: float) -> int:
    """Days of a capacity block that holds so many: up to 14, then whole weeks (EC2 user guide, Capacity Blocks)."""
    whole = ceil(days + 0.1)
    return whole if whole <= 14 else ceil(whole / 7) * 7


def _files(tier: int | None, saved_gb: float, mttf_h: float, services: Mapping[str, Price], *, spot: bool) -> Files:
    """The smallest file system of the tier that holds what is kept and is written in time."""
    held_gib = saved_gb * (KEPT + 1) * _SLACK / fsx.FULL / _GB_PER_GIB
    steps = ceil(held_gib / fsx.STEP_GIB) * fsx.STEP_GIB if held_gib > fsx.SMALLEST_GIB else fsx.SMALLEST_GIB
    capacity = max(steps, fsx.capacity_gib_for(saved_gb / (_LONGEST_SAVE_S / _SLACK), tier, False))
    gb_per_s = fsx.mb_per_s(capacity, tier) / 1000
    saved = _saving(saved_gb, gb_per_s, mttf_h, spot=spot)
    price = services[fsx_service("PERSISTENT_2" if tier else "SCRATCH_2", tier)].usd_per_hour * capacity
    return Files(
        tier=tier,
        capacity_gib=capacity,
        usd_per_hour=price,
        every_s=saved.every_s,
        within_s=saved.within_s,
        effective_part=saved.effective_part,
    )


def _saving(saved_gb: float, gb_per_s: float, mttf_h: float, *, spot: bool) -> Files:
    """When to save: as often as loses least, at least every quarter of an hour where EC2 may take the nodes back."""
    within = float(max(5, ceil(saved_gb / gb_per_s * _SLACK)))
    best = young_seconds(within, mttf_h)
    if spot:
        best = min(best, SPOT_MOST_LOST_MINUTES * SECONDS_PER_MINUTE)
    every = float(max(1, round(best / SECONDS_PER_MINUTE)) * SECONDS_PER_MINUTE)
    return Files(
        tier=None,
        capacity_gib=0,
        usd_per_hour=0.0,
        every_s=every,
        within_s=within,
        effective_part=effective_part(within, every, mttf_h, RESTART_SECONDS),
    )


def own_saving(candidate: Candidate, model_parameters: float, seconds: float) -> Files:
    """Saves of a run on premises that take so many seconds at most."""
    hours = mttf(candidate.gpus, failure_rate(candidate.offer.gpu)).hours
    size = checkpoint_gb(model_parameters)
    return _saving(size, size / seconds, hours, spot=False)


def of_serving(question: Serving, offer: Offer, services: Mapping[str, Price]) -> Iterator[Candidate]:
    """The fewest nodes of the offer that answer, for each way to cut a replica, the cheapest first."""
    for replica in replicas(question, offer):
        count = ceil(question.rps / replica.rps)
        nodes = ceil(count / (offer.gpus // replica.tensor))
        if nodes > COUNTS[-1]:
            continue
        around = services[fsx_service("SCRATCH_2", None)].usd_per_hour * fsx.SMALLEST_GIB
        usd = nodes * offer.usd
        if not offer.owned:
            usd = (usd + around) * question.limits.days * HOURS_PER_DAY
        yield Candidate(offer=offer, nodes=nodes, days=question.limits.days, usd=usd, replica=replica, replicas=count)
