"""Where GPUs stand and for how long: capacity blocks, spot capacity, UltraServers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from catalogue.types import UsageClass
from planner.blocks import (
    MAX_DAYS,
    MAX_DAYS_BY_DAY,
    MAX_INSTANCES,
    MAX_INSTANCES_TOGETHER,
    MAX_WEEKS_AHEAD,
    days,
    is_sold,
)
from planner.draft import AwsDraft, aws_rule
from planner.findings import Observation, Severity
from planner.rules.known import known_pools, placed_runs

if TYPE_CHECKING:
    from settings.aws_pools import AwsPool, Reservation

_BLOCKS = "EC2 user guide, Capacity Blocks for ML"
_MINUTE = "%Y-%m-%d %H:%M UTC"
_RARE_FROM_EFA = 16


@dataclass(frozen=True)
class Booked:
    """A block of a pool: its path in the settings, that of its nodes, and how many there are."""

    path: str
    count_path: str
    pool: AwsPool
    block: Reservation
    count: int


def _booked(draft: AwsDraft) -> Iterator[Booked]:
    """The blocks of all pools."""
    for index, pool in enumerate(draft.settings.pools):
        for place, (block, count) in enumerate(pool.booked):
            path = f"pools[{index}].reservations[{place}]" if pool.reservations else f"pools[{index}].reservation"
            count_path = f"{path}.count" if pool.reservations else f"pools[{index}].count"
            yield Booked(path, count_path, pool, block, count)


@aws_rule("block-size", "PF10", formula="count <= 64 per block; sum of counts <= 256", source=_BLOCKS)
def block_size(draft: AwsDraft) -> Iterable[Observation]:
    """A block has at most 64 instances, and all blocks of an organization have at most 256 on one day."""
    together = sum(each.count for each in _booked(draft))
    for each in _booked(draft):
        if each.count > MAX_INSTANCES:
            yield Observation(
                path=each.count_path,
                sentence=f"{each.count} nodes are more than the {MAX_INSTANCES} of a capacity block",
                remedy=f"set it to at most {MAX_INSTANCES}, or name several blocks in reservations, with a count each",
                subject=each.pool.name,
                inputs={"count": str(each.count), "limit": str(MAX_INSTANCES)},
            )
        elif together > MAX_INSTANCES_TOGETHER:
            yield Observation(
                path=each.count_path,
                sentence=f"the pools in blocks have {together} nodes together, and an organization may have "
                f"{MAX_INSTANCES_TOGETHER} in blocks on one day",
                remedy="shrink one of these pools, or buy part of it in another way",
                subject=each.pool.name,
                inputs={"together": str(together), "limit": str(MAX_INSTANCES_TOGETHER)},
            )


@aws_rule("block-length", "PF10", formula="1 <= days <= 14, or days = 7 n <= 182", source=_BLOCKS)
def block_length(draft: AwsDraft) -> Iterable[Observation]:
    """A block lasts as long as blocks are sold for."""
    for each in _booked(draft):
        path, pool, booked = each.path, each.pool, each.block
        length = days(booked.start, booked.end)
        if not is_sold(length):
            weeks = min(max(length // 7, MAX_DAYS_BY_DAY // 7), MAX_DAYS // 7)
            yield Observation(
                path=f"{path}.end",
                sentence=f"no block lasts {length} days: they come in 1 to {MAX_DAYS_BY_DAY} days, then in weeks up to "
                f"{MAX_DAYS} days",
                remedy=f"correct start and end; {weeks * 7} days would end on {booked.start + timedelta(weeks=weeks)}",
                subject=pool.name,
                inputs={"days": f"{length} d"},
            )


@aws_rule("block-too-early", "PF10", formula="start - today <= 8 weeks", source=_BLOCKS)
def block_too_early(draft: AwsDraft) -> Iterable[Observation]:
    """Blocks are sold up to eight weeks ahead, so one that starts later cannot have been bought."""
    latest = draft.today + timedelta(weeks=MAX_WEEKS_AHEAD)
    for each in _booked(draft):
        path, pool, booked = each.path, each.pool, each.block
        if booked.start > latest:
            yield Observation(
                path=f"{path}.start",
                sentence=f"the block starts on {booked.start}, and blocks are sold up to {MAX_WEEKS_AHEAD} weeks ahead "
                f"({latest})",
                remedy="type the day on which the block that was bought starts",
                subject=pool.name,
                inputs={"ahead": f"{(booked.start - draft.today).days} d", "limit": f"{MAX_WEEKS_AHEAD} weeks"},
            )


@aws_rule(
    "block-not-started",
    "PF10",
    severity=Severity.WARNING,
    source=f"{_BLOCKS}; EKS user guide",
    formula="start <= today",
)
def block_not_started(draft: AwsDraft) -> Iterable[Observation]:
    """Before the block starts the pool has no nodes, and nobody but the user raises their number, or the keeper."""
    region, keeper = draft.settings.platform.region, draft.settings.keeper
    groups = {(plan.name, share.reservation): share.group for plan in draft.pools.values() for share in plan.shares}
    for each in _booked(draft):
        path, pool, booked = each.path, each.pool, each.block
        if draft.today < booked.start:
            group = groups.get((pool.name, booked.id), pool.name)
            command = (
                f"aws eks update-nodegroup-config --region {region} --cluster-name gpucluster-STACK "
                f"--nodegroup-name {group} --scaling-config desiredSize={each.count}"
            )
            kept = keeper is not None and keeper.blocks
            yield Observation(
                path=f"{path}.start",
                sentence=f"the block starts on {booked.start}, so the pool's {each.count} nodes are not asked for yet",
                remedy="nothing to do: the keeper asks for them once it begins"
                if kept
                else f"from its start on, run: {command}, or set keeper.blocks to have it done",
                subject=pool.name,
                inputs={"start": booked.start.isoformat(), "today": draft.today.isoformat()},
            )


@aws_rule("block-ended", "PF10", formula="today < end", source=_BLOCKS)
def block_ended(draft: AwsDraft) -> Iterable[Observation]:
    """No pool uses a block that has ended: its nodes are gone and do not come back."""
    for each in _booked(draft):
        path, pool, booked = each.path, each.pool, each.block
        if booked.end <= draft.today:
            yield Observation(
                path=f"{path}.end",
                sentence=f"the block ended on {booked.end} at 11:30 UTC, so pool {pool.name} gets no nodes any more",
                remedy="buy another block and name it here, change capacity, or remove the pool and its runs",
                subject=pool.name,
                inputs={"end": booked.end.isoformat(), "today": draft.today.isoformat()},
            )


@aws_rule(
    "block-without-checkpoint",
    "PF10",
    formula="everyMinutes <= minutes of the block",
    source="EKS user guide, Capacity Blocks: the group is emptied 40 minutes before the end",
)
def block_without_checkpoint(draft: AwsDraft) -> Iterable[Observation]:
    """A block ends hard, whatever runs: a run in it saves its state on the way."""
    for path, run, pool in placed_runs(draft):
        if pool.block is None:
            continue
        times = pool.block.times
        minutes = (times.checkpoint_by - times.start) / timedelta(minutes=1)
        until = f"{times.checkpoint_by:{_MINUTE}}"
        if run.checkpoint is None:
            yield Observation(
                path=f"{path}.checkpoint",
                sentence=f"pool {pool.name} is a capacity block, whose nodes go at {times.scaled_to_zero:{_MINUTE}} in "
                "the middle of whatever runs, and the run says nothing about checkpoints",
                remedy=f"add model and checkpoint, with the last one by {until}",
                subject=run.name,
                inputs={"block": f"{minutes:g} min"},
            )
        elif run.checkpoint.every_minutes > minutes:
            yield Observation(
                path=f"{path}.checkpoint.everyMinutes",
                sentence=f"a checkpoint every {run.checkpoint.every_minutes:g} minutes comes after the last moment for "
                f"one, {until}, {minutes:g} minutes into the block",
                remedy="save more often, or buy a longer block",
                subject=run.name,
                inputs={"everyMinutes": f"{run.checkpoint.every_minutes:g} min", "block": f"{minutes:g} min"},
            )


@aws_rule(
    "spot-without-checkpoint",
    "Z01",
    "PW18",
    source="EC2 user guide, Spot Instances",
    formula="the run has a checkpoint, if capacity = spot",
)
def spot_without_checkpoint(draft: AwsDraft) -> Iterable[Observation]:
    """A run on spot capacity saves its state, as EC2 takes the nodes back with two minutes' notice."""
    for path, run, pool in placed_runs(draft):
        if pool.usage is UsageClass.SPOT and run.checkpoint is None:
            yield Observation(
                path=f"{path}.checkpoint",
                sentence=f"EC2 takes the spot nodes of pool {pool.name} back with two minutes' notice, and the run "
                "says nothing about checkpoints, so it would start from the beginning",
                remedy="add model and checkpoint, every 15 minutes or so, buy on demand or waive "
                "spot-without-checkpoint for a run that saves by itself",
                subject=run.name,
            )


@aws_rule(
    "spot-is-rare",
    "PF10",
    "PW18",
    severity=Severity.WARNING,
    formula="EFA interfaces of a node < 16, if capacity = spot without onDemandMinutes",
    source="Definition of the planner; EC2 user guide, Spot Instances: capacity comes and goes",
)
def spot_is_rare(draft: AwsDraft) -> Iterable[Observation]:
    """Large EFA nodes are seldom on the spot market, a whole gang of them less so."""
    for path, pool, plan in known_pools(draft):
        if plan.usage is UsageClass.SPOT and plan.instance.efa_max >= _RARE_FROM_EFA and not plan.falls_back:
            spot, on_demand = plan.instance.spot, plan.instance.on_demand
            saving = f", for {1 - spot.usd_per_hour / on_demand.usd_per_hour:.0%} off" if spot and on_demand else ""
            yield Observation(
                path=f"{path}.capacity",
                sentence=f"spot capacity of {pool.instance_type} is rare{saving}, and a gang waits until all of its "
                "nodes are there at once",
                remedy="set spot.onDemandMinutes, which asks for missing nodes on demand, or buy a capacity block",
                subject=pool.name,
                inputs={
                    "EFA": f"{plan.instance.efa_max} interfaces of a node",
                    "rare from": f"{_RARE_FROM_EFA} of them",
                },
            )


@aws_rule(
    "ultraserver-apart",
    "NW11",
    severity=Severity.WARNING,
    source="EKS user guide, Use P6e-GB200 UltraServers with Amazon EKS",
    formula="family of the instance type is not p6e-gb200",
)
def ultraserver_apart(draft: AwsDraft) -> Iterable[Observation]:
    """NVLink between the nodes of an UltraServer needs more than device plugins, which this program does not bring."""
    for path, pool, plan in known_pools(draft):
        if plan.instance.ultraserver:
            yield Observation(
                path=f"{path}.instanceType",
                sentence=f"the {plan.gpus_per_node} GPUs of a {pool.instance_type} share NVLink with 17 more nodes "
                "only through NVIDIA's DRA driver and ComputeDomains, which this program does not install",
                remedy="install them beside it, or keep tensor parallelism inside a node",
                subject=pool.name,
            )
