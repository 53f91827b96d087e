"""Where and for how long GPUs are available: capacity blocks, spot capacity, UltraServers."""

from collections.abc import Iterable, Iterator
from datetime import timedelta

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
from planner.draft import AwsDraft, aws_rule, aws_warning
from planner.findings import Observation
from planner.pool_types import AwsPoolPlan
from planner.rules.known import known_pools, placed_runs, pools
from settings.aws_pools import AwsPool, Reservation
from settings.workloads import TrainingRun

_BLOCKS = "EC2 user guide, Capacity Blocks for ML"
_MINUTE = "%Y-%m-%d %H:%M UTC"
_RARE_FROM_EFA = 16


def _booked(draft: AwsDraft) -> Iterator[tuple[str, AwsPool, Reservation, int]]:
    """The blocks of all pools, each with its settings path and its nodes."""
    for path, pool in pools(draft):
        for place, (block, count) in enumerate(pool.booked):
            yield f"{path}.reservations[{place}]" if pool.reservations else f"{path}.reservation", pool, block, count


@aws_rule("PF10", formula="count <= 64 per block; sum of counts <= 256", source=_BLOCKS)
def block_size(draft: AwsDraft) -> Iterable[Observation]:
    """A block has at most 64 instances, and all blocks of an organization have at most 256 on one day."""
    together = sum(count for *_, count in _booked(draft))
    for path, pool, _, count in _booked(draft):
        count_path = f"{path if pool.reservations else path.partition('.')[0]}.count"
        if count > MAX_INSTANCES:
            yield Observation(
                path=count_path,
                sentence=f"{count} nodes are more than the {MAX_INSTANCES} of a capacity block",
                remedy=f"set it to at most {MAX_INSTANCES}, or name several blocks in reservations, with a count each",
                subject=pool.name,
                inputs={"count": str(count), "limit": str(MAX_INSTANCES)},
            )
        elif together > MAX_INSTANCES_TOGETHER:
            yield Observation(
                path=count_path,
                sentence=f"the pools in blocks have {together} nodes together, and an organization may have "
                f"{MAX_INSTANCES_TOGETHER} in blocks on one day",
                remedy="shrink one of these pools, or buy part of it in another way",
                subject=pool.name,
                inputs={"together": str(together), "limit": str(MAX_INSTANCES_TOGETHER)},
            )


@aws_rule("PF10", each=_booked, formula="1 <= days <= 14, or days = 7 n <= 182", source=_BLOCKS)
def block_length(_: AwsDraft, _pool: AwsPool, booked: Reservation, _count: int) -> Iterable[Observation]:
    """A block lasts as long as blocks are sold for."""
    length = days(booked.start, booked.end)
    if not is_sold(length):
        weeks = min(max(length // 7, MAX_DAYS_BY_DAY // 7), MAX_DAYS // 7)
        yield Observation(
            path="end",
            sentence=f"no block lasts {length} days: they come in 1 to {MAX_DAYS_BY_DAY} days, then in weeks up to "
            f"{MAX_DAYS} days",
            remedy=f"correct start and end; {weeks * 7} days would end on {booked.start + timedelta(weeks=weeks)}",
            inputs={"days": f"{length} d"},
        )


@aws_rule("PF10", each=_booked, formula="start - today <= 8 weeks", source=_BLOCKS)
def block_too_early(draft: AwsDraft, _pool: AwsPool, booked: Reservation, _count: int) -> Iterable[Observation]:
    """Blocks are sold up to eight weeks ahead, so one that starts later cannot have been bought."""
    latest = draft.today + timedelta(weeks=MAX_WEEKS_AHEAD)
    if booked.start > latest:
        yield Observation(
            path="start",
            sentence=f"the block starts on {booked.start}, and blocks are sold up to {MAX_WEEKS_AHEAD} weeks ahead "
            f"({latest})",
            remedy="type the day on which the block that was bought starts",
            inputs={"ahead": f"{(booked.start - draft.today).days} d", "limit": f"{MAX_WEEKS_AHEAD} weeks"},
        )


@aws_warning("PF10", each=_booked, formula="start <= today", source=f"{_BLOCKS}; EKS user guide")
def block_not_started(draft: AwsDraft, pool: AwsPool, booked: Reservation, count: int) -> Iterable[Observation]:
    """Before the block starts the pool has no nodes, and nobody but the user raises their number, or the keeper."""
    region, keeper = draft.settings.platform.region, draft.settings.keeper
    groups = {(plan.name, share.reservation): share.group for plan in draft.pools.values() for share in plan.shares}
    if draft.today < booked.start:
        group = groups.get((pool.name, booked.id), pool.name)
        command = (
            f"aws eks update-nodegroup-config --region {region} --cluster-name gpucluster-STACK "
            f"--nodegroup-name {group} --scaling-config desiredSize={count}"
        )
        kept = keeper is not None and keeper.blocks
        yield Observation(
            path="start",
            sentence=f"the block starts on {booked.start}, so the pool's {count} nodes are not asked for yet",
            remedy="nothing to do: the keeper asks for them once it begins"
            if kept
            else f"from its start on, run: {command}, or set keeper.blocks to have it done",
            inputs={"start": booked.start.isoformat(), "today": draft.today.isoformat()},
        )


@aws_rule("PF10", each=_booked, formula="today < end", source=_BLOCKS)
def block_ended(draft: AwsDraft, pool: AwsPool, booked: Reservation, _count: int) -> Iterable[Observation]:
    """No pool uses a block that has ended: its nodes are gone and do not come back."""
    if booked.end <= draft.today:
        yield Observation(
            path="end",
            sentence=f"the block ended on {booked.end} at 11:30 UTC, so pool {pool.name} gets no nodes any more",
            remedy="buy another block and name it here, change capacity, or remove the pool and its runs",
            inputs={"end": booked.end.isoformat(), "today": draft.today.isoformat()},
        )


@aws_rule(
    "PF10",
    each=placed_runs,
    formula="everyMinutes <= minutes of the block",
    source="EKS user guide, Capacity Blocks: the group is emptied 40 minutes before the end",
)
def block_without_checkpoint(_: AwsDraft, run: TrainingRun, pool: AwsPoolPlan) -> Iterable[Observation]:
    """A block ends hard, whatever runs: a run in it saves its state on the way."""
    if pool.block is None:
        return
    times = pool.block.times
    minutes = (times.checkpoint_by - times.start) / timedelta(minutes=1)
    until = f"{times.checkpoint_by:{_MINUTE}}"
    if run.checkpoint is None:
        yield Observation(
            path="checkpoint",
            sentence=f"pool {pool.name} is a capacity block, whose nodes go at {times.scaled_to_zero:{_MINUTE}} in "
            "the middle of whatever runs, and the run says nothing about checkpoints",
            remedy=f"add model and checkpoint, with the last one by {until}",
            inputs={"block": f"{minutes:g} min"},
        )
    elif run.checkpoint.every_minutes > minutes:
        yield Observation(
            path="checkpoint.everyMinutes",
            sentence=f"a checkpoint every {run.checkpoint.every_minutes:g} minutes comes after the last moment for "
            f"one, {until}, {minutes:g} minutes into the block",
            remedy="save more often, or buy a longer block",
            inputs={"everyMinutes": f"{run.checkpoint.every_minutes:g} min", "block": f"{minutes:g} min"},
        )


@aws_rule(
    "Z01 PW18",
    each=placed_runs,
    formula="the run has a checkpoint, if capacity = spot",
    source="EC2 user guide, Spot Instances",
)
def spot_without_checkpoint(_: AwsDraft, run: TrainingRun, pool: AwsPoolPlan) -> Iterable[Observation]:
    """A run on spot capacity saves its state, as EC2 takes the nodes back with two minutes' notice."""
    if pool.usage is UsageClass.SPOT and run.checkpoint is None:
        yield Observation(
            path="checkpoint",
            sentence=f"EC2 takes the spot nodes of pool {pool.name} back with two minutes' notice, and the run "
            "says nothing about checkpoints, so it would start from the beginning",
            remedy="add model and checkpoint, every 15 minutes or so, buy on demand or waive "
            "spot-without-checkpoint for a run that saves by itself",
        )


@aws_warning(
    "PF10 PW18",
    each=known_pools,
    formula="EFA interfaces of a node < 16, if capacity = spot without onDemandMinutes",
    source="Definition of the planner; EC2 user guide, Spot Instances: capacity comes and goes",
)
def spot_is_rare(_: AwsDraft, pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """Large EFA nodes are seldom on the spot market, a whole gang of them less so."""
    if plan.usage is UsageClass.SPOT and plan.instance.efa_max >= _RARE_FROM_EFA and not plan.falls_back:
        spot, on_demand = plan.instance.spot, plan.instance.on_demand
        saving = f", for {1 - spot.usd_per_hour / on_demand.usd_per_hour:.0%} off" if spot and on_demand else ""
        yield Observation(
            path="capacity",
            sentence=f"spot capacity of {pool.instance_type} is rare{saving}, and a gang waits until all of its "
            "nodes are there at once",
            remedy="set spot.onDemandMinutes, which asks for missing nodes on demand, or buy a capacity block",
            inputs={
                "EFA": f"{plan.instance.efa_max} interfaces of a node",
                "rare from": f"{_RARE_FROM_EFA} of them",
            },
        )


@aws_warning(
    "NW11",
    each=known_pools,
    formula="family of the instance type is not p6e-gb200",
    source="EKS user guide, Use P6e-GB200 UltraServers with Amazon EKS",
)
def ultraserver_apart(_: AwsDraft, pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """NVLink between the nodes of an UltraServer needs more than device plugins, which this program does not bring."""
    if plan.instance.ultraserver:
        yield Observation(
            path="instanceType",
            sentence=f"the {plan.gpus_per_node} GPUs of a {pool.instance_type} share NVLink with 17 more nodes "
            "only through NVIDIA's DRA driver and ComputeDomains, which this program does not install",
            remedy="install them beside it, or keep tensor parallelism inside a node",
        )
