"""Capacity blocks over time: who fills and empties them, several under one gang, and the last save."""

from collections.abc import Iterable
from datetime import timedelta

from planner.draft import AwsDraft, aws_rule, aws_warning
from planner.findings import Observation
from planner.pool_types import AwsPoolPlan
from planner.reliability.checkpoints import STOP_S
from planner.rules.known import known_pools, placed_runs
from settings.aws_pools import AwsPool
from settings.workloads import TrainingRun

_BLOCKS = "EC2 user guide, Capacity Blocks for ML"


@aws_rule("PF10 Z15", formula="a pool is in a capacity block, if keeper.blocks", source="Definition of the stack file")
def keeper_without_block(draft: AwsDraft) -> Iterable[Observation]:
    """The keeper fills only capacity blocks, so a stack that asks for that names at least one reservation."""
    keeper = draft.settings.keeper
    if keeper and keeper.blocks and not any(pool.booked for pool in draft.settings.pools):
        yield Observation(
            path="keeper.blocks",
            sentence="the keeper is to fill and empty capacity blocks, and no pool is in one",
            remedy="set capacity: capacity-block and the reservation at the pool that is meant, or remove the key",
        )


@aws_rule(
    "PF10",
    each=known_pools,
    formula="POOL-1, POOL-2, ... of a pool in several blocks are no names of pools",
    source="EKS API reference, CreateNodegroup: names are unique in a cluster",
)
def block_group_taken(draft: AwsDraft, pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """Each block has its own node group, named after its pool, so no other pool has that name."""
    for share in plan.shares:
        if share.group != pool.name and share.group in draft.pools:
            yield Observation(
                path="reservations",
                sentence=f"the node group of block {share.reservation} is called {share.group}, as another pool is",
                remedy=f"rename pool {share.group}",
            )


@aws_rule(
    "PF10", each=known_pools, formula="last start < first end - 45 min, over the blocks of a pool", source=_BLOCKS
)
def blocks_never_together(_: AwsDraft, _pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """A gang over several blocks runs while all of them run."""
    if plan.block and len(plan.shares) > 1 and plan.block.times.checkpoint_by <= plan.block.times.start:
        times = plan.block.times
        yield Observation(
            path="reservations",
            sentence=f"its last block starts at {times.start:%Y-%m-%d %H:%M} UTC, when its first one has to be left "
            f"(its last checkpoint is due at {times.checkpoint_by:%Y-%m-%d %H:%M}), so the pool is never whole",
            remedy="correct their days, or make a pool of each",
        )


@aws_warning(
    "PF10",
    each=placed_runs,
    formula="nodes of the run <= nodes of one block",
    source=f"{_BLOCKS}: the instances of a block are in one EC2 UltraCluster, those of two need not be near each other",
)
def blocks_apart(_: AwsDraft, run: TrainingRun, pool: AwsPoolPlan) -> Iterable[Observation]:
    """Blocks of one gang may stand in different UltraClusters, so bandwidth between them is not promised; within one it
    is.
    """
    largest = max((share.count for share in pool.shares), default=0)
    if len(pool.shares) > 1 and run.nodes > largest:
        yield Observation(
            path="nodes",
            sentence=f"the gang of {run.nodes} nodes lies in several blocks, the largest of which has {largest}: "
            "AWS promises an UltraCluster within a block, and nothing between two",
            remedy="measure it (the gates do) before the run begins, and keep tensor and pipeline parallelism "
            "within a block",
            inputs={"gang": f"{run.nodes} nodes", "largest block": f"{largest} nodes"},
        )


@aws_rule(
    "PF10",
    each=placed_runs,
    formula="withinSeconds, the copy to the file system with local, and 30 s for the ranks to end <= from the signal "
    "until EC2 takes the nodes: 15 min with keeper.blocks, else 10",
    source="EKS user guide, Capacity Blocks: pods are drained from 40 minutes before the end, EC2 ends the instances "
    "from 30",
)
def block_save_too_long(draft: AwsDraft, run: TrainingRun, pool: AwsPoolPlan) -> Iterable[Observation]:
    """The last save of a block ends before its nodes do. Where nothing tells the pods in time, as of an UltraServer
    that no keeper watches, saves by the clock are all there is.
    """
    keeper = draft.settings.keeper
    kept = keeper is not None and keeper.blocks
    block, planned = pool.block, draft.runs.get(run.name)
    saving = planned.saving if planned else None
    if block is None or saving is None:
        return
    told = block.times.checkpoint_by if kept else block.times.scaled_to_zero
    there = (block.times.taken - told) / timedelta(seconds=1)
    copy = f", its copy to the file system {saving.copy_s:.0f} s," if saving.copy_s else ""
    if 0 < there < saving.last_s + STOP_S:
        yield Observation(
            path="checkpoint",
            sentence=f"a save may take {saving.within_s:.0f} s{copy} and its ranks {STOP_S} s to end, and between the "
            f"signal and EC2's end of pool {pool.name} are {there:.0f} s",
            remedy="save in less time (more throughput, or sharded checkpoints)"
            + ("" if kept else ", or set keeper.blocks, which tells the pods five minutes earlier"),
            inputs={"save": f"{saving.within_s:.0f} s", "copy": f"{saving.copy_s:.0f} s", "left": f"{there:.0f} s"},
        )
