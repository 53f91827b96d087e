"""Gangs: each fits its pool and its queue, and those that share a pool have room together or give way."""

from collections.abc import Iterable, Iterator

from planner.draft import Draft, MetalDraft, rule, warning
from planner.findings import Observation
from planner.pool_types import PoolPlan
from planner.rules.known import placed_runs, pools, runs
from planner.wording import counted
from settings.pools import MOST_NODES, Pool
from settings.workloads import TrainingRun


@rule(
    "A08 IN09",
    each=placed_runs,
    formula="nodes of the run <= count of its pool",
    source="Definition of the stack file: a gang runs whole or not at all",
)
def gang_fits_pool(_: Draft, run: TrainingRun, pool: PoolPlan) -> Iterable[Observation]:
    """A run needs at most as many nodes as its pool has; the GPUs of inference pools are not available to it."""
    if run.nodes > pool.count:
        gpus = run.nodes * pool.gpus_per_node
        fewer = f"set nodes to at most {pool.count} or " if pool.count else ""
        yield Observation(
            path="nodes",
            sentence=f"the gang takes {counted(run.nodes, 'node')} ({counted(gpus, 'GPU')}) and pool {pool.name} "
            f"has {pool.count} ({counted(pool.gpus, 'GPU')}), so it would never start",
            remedy=f"{fewer}set the pool's count to {run.nodes}",
            inputs={"gang": f"{run.nodes} nodes ({gpus} GPUs)", "pool": f"{pool.count} nodes ({pool.gpus} GPUs)"},
        )


@rule(
    "A08 M01",
    each=runs,
    formula="nodes x GPUs of a node <= gpus of the queue",
    source="Definition of the stack file (scheduling.queues)",
)
def gang_fits_queue(draft: Draft, run: TrainingRun) -> Iterable[Observation]:
    """A queue's cap leaves room for each gang that is sent to it."""
    caps = {queue.name: queue.gpus for queue in draft.settings.scheduling.queues}
    cap, plan = caps.get(run.queue), draft.runs.get(run.name)
    if cap is not None and plan and plan.gpus > cap:
        yield Observation(
            path="queue",
            sentence=f"the gang takes {plan.gpus} GPUs and queue {run.queue} is capped at {cap}",
            remedy=f"raise the queue's gpus to {plan.gpus} or send the run to another queue",
            inputs={"gang": f"{plan.gpus} GPUs", "queue": f"{cap} GPUs"},
        )


@rule(
    "A08 M04",
    each=runs,
    formula="nodes (minNodes, if elastic) of two runs <= count of their pool, unless one gives way: experiments to "
    "training of its queue, a reclaimable queue to others",
    source="Definition of the stack file: a gang runs whole or not at all; Volcano documentation, preempt and reclaim",
)
def gangs_exclude_each_other(draft: Draft, run: TrainingRun) -> Iterable[Observation]:
    """Two gangs have room in their pool together, or one gives way: the second would wait for the end of the first."""
    other = next(_excluding(draft, run), None)
    if other is None:
        return
    count, wanted = _count(draft, run), _least(run) + _least(other)
    yield Observation(
        path="nodes",
        sentence=f"the gang takes {counted(_least(run), 'node')} and that of {other.name} {_least(other)}, pool "
        f"{run.pool} has {count}, and neither gives way, so that one waits for the end of the other",
        remedy=_way(run, other)
        + (f", set the pool's count to {wanted}" if wanted <= MOST_NODES else "")
        + ", or waive gangs-exclude-each-other for a run that is to wait",
        inputs={"both gangs": f"{wanted} nodes", "pool": f"{count} nodes"},
    )


@warning(
    "A08",
    each=pools,
    formula="sum of the runs' nodes <= count of the pool",
    source="Definition of the stack file: a gang runs whole or not at all",
)
def gangs_wait_in_line(draft: Draft, pool: Pool) -> Iterable[Observation]:
    """Runs that together need more nodes than their pool has do not all run at once. `gangs-exclude-each-other` is
    about those of which none gives way.
    """
    here = [run for run in draft.settings.training.runs if run.pool == pool.name]
    wanted = [run.nodes for run in here]
    if max(wanted, default=0) > pool.count or sum(wanted) <= pool.count:
        return
    if not any(any(_excluding(draft, run)) for run in here):
        yield Observation(
            path="count",
            sentence=f"its {len(wanted)} runs take {sum(wanted)} nodes together and the pool has {pool.count}",
            remedy="they run one after the other, unless the pool grows; priority: experiments says which give way",
            inputs={"runs together": f"{sum(wanted)} nodes", "pool": f"{pool.count} nodes"},
        )


def _excluding(draft: Draft, run: TrainingRun) -> Iterator[TrainingRun]:
    """Runs before this one, of the same pool, beside which it has no room, and neither gives way.

    Slurm's jobs wait by design, and so do runs that a pipeline starts.
    """
    pipelines = draft.settings.training.pipelines
    later = set(pipelines.runs) if pipelines else set()
    slurm = draft.settings.slurm.pools if isinstance(draft, MetalDraft) else ()
    for other in draft.settings.training.runs:
        if other.name == run.name:
            return
        if other.pool != run.pool or run.pool in slurm or later & {run.name, other.name}:
            continue
        count = _count(draft, run)
        no_room = max(_least(run), _least(other)) <= count < _least(run) + _least(other)
        if no_room and not _gives_way(draft, run, other) and not _gives_way(draft, other, run):
            yield other


def _count(draft: Draft, run: TrainingRun) -> int:
    """Nodes of a run's pool, 0 of one that there is not."""
    return next((pool.count for pool in draft.settings.pools if pool.name == run.pool), 0)


def _least(run: TrainingRun) -> int:
    """Nodes with which its gang starts."""
    return run.elastic.min_nodes if run.elastic else run.nodes


def _gives_way(draft: Draft, run: TrainingRun, other: TrainingRun) -> bool:
    """Whether the scheduler takes nodes of a run for another: within a queue by priority, though for no gang with
    `within` (Volcano 1.14), and between queues by weight.
    """
    if run.queue == other.queue:
        return (run.priority, other.priority, other.within) == ("experiments", "training", None)
    return any(queue.name == run.queue and queue.reclaimable for queue in draft.settings.scheduling.queues)


def _way(run: TrainingRun, other: TrainingRun) -> str:
    """What lets one of two runs give way."""
    if run.queue != other.queue:
        return f"set reclaimable: true for queue {run.queue}"
    if run.priority != other.priority:
        return "remove within, with which nothing is taken"
    return "set priority: " + ("experiments" if run.priority == "training" else "training") + " in one of them"
