"""Evaluations and exports of runs: whether they can ever start, and have something to start from."""

from collections.abc import Iterable, Iterator

from planner.draft import Draft, rule
from planner.findings import Observation
from planner.rules.known import runs
from settings.follow_ups import FollowUp
from settings.workloads import TrainingRun


def _follow_ups(draft: Draft) -> Iterator[tuple[str, TrainingRun, FollowUp]]:
    for path, run in runs(draft):
        for index, each in enumerate(run.follow_ups):
            yield f"{path}.followUps[{index}]", run, each


@rule(
    "T01",
    each=_follow_ups,
    formula="the run saves; gpus <= GPUs of a node of the pool; gpus <= those of the queue",
    source="Volcano documentation, Queue (capability)",
)
def follow_up_cannot(draft: Draft, run: TrainingRun, each: FollowUp) -> Iterable[Observation]:
    """A follow-up has a checkpoint to look at, a node that holds it and a queue that lets it in."""
    queues = {queue.name: queue for queue in draft.settings.scheduling.queues}
    pool, queue = draft.pools.get(each.pool), queues.get(each.queue)
    if run.checkpoint is None:
        yield Observation(
            path="name",
            sentence=f"{each.name} looks at checkpoints, and the run writes none",
            remedy="add checkpoint with everyMinutes and withinSeconds to the run, or remove the follow-up",
        )
    if pool is not None and each.gpus > pool.gpus_per_node:
        yield Observation(
            path="gpus",
            sentence=f"is {each.gpus}, and a node of pool {each.pool} has {pool.gpus_per_node}",
            remedy=f"set it to {pool.gpus_per_node} or less" if pool.gpus_per_node else "name a pool with GPUs",
            inputs={"asked": f"{each.gpus} GPUs", "node": f"{pool.gpus_per_node} GPUs"},
        )
    if queue is not None and queue.gpus is not None and each.gpus > queue.gpus:
        yield Observation(
            path="gpus",
            sentence=f"is {each.gpus}, and queue {queue.name} is capped at {queue.gpus}",
            remedy=f"raise the queue's gpus to {each.gpus}, or set it to {queue.gpus} or less",
            inputs={"asked": f"{each.gpus} GPUs", "queue": f"{queue.gpus} GPUs"},
        )


@rule(
    "M01",
    each=_follow_ups,
    formula="nodes of the pool > nodes of the run, for a follow-up there while the run goes on",
    source="Volcano schedules whole gangs; a run keeps its nodes until it ends",
)
def follow_up_waits(draft: Draft, run: TrainingRun, each: FollowUp) -> Iterable[Observation]:
    """A follow-up with a schedule finds a node while its run goes on: not on a pool that it fills."""
    pool = draft.pools.get(each.pool)
    if each.every_hours is not None and pool is not None and run.nodes >= pool.count and each.pool == run.pool:
        yield Observation(
            path="pool",
            sentence=f"the run holds all {pool.count} nodes of pool {each.pool}, so that {each.name} would wait "
            "until it ends",
            remedy="name another pool of role training, or remove everyHours: then it comes when the run has ended",
            inputs={"run": f"{run.nodes} nodes", "pool": f"{pool.count} nodes"},
        )
