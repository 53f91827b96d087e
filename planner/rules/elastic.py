"""Runs that go on with fewer nodes, and what follows runs."""

from collections.abc import Iterable, Iterator

from planner.draft import Draft, rule, warning
from planner.findings import Observation
from planner.pool_types import PoolPlan
from planner.rules.frameworks import CAN
from planner.rules.known import Seen, known_runs, placed_runs, runs
from planner.training.job import Layout
from settings.follow_ups import FollowUp
from settings.workloads import TrainingRun


@rule(
    "N09 KJ08 KJ09",
    each=placed_runs,
    formula="minNodes x GPUs of a node = k x tensor x pipeline x context; data is not fixed; the run saves",
    source="PyTorch elastic agent: a change of members restarts all workers from the last checkpoint",
)
def elastic_cannot(_: Draft, run: TrainingRun, pool: PoolPlan) -> Iterable[Observation]:
    """An elastic run works at every size between its bounds, and has a checkpoint to go on from."""
    if run.elastic is None:
        return
    if run.checkpoint is None:
        yield Observation(
            path="checkpoint",
            sentence="is missing, and each node that comes or goes restarts all workers from the last checkpoint",
            remedy="add checkpoint with everyMinutes and withinSeconds",
        )
    can = CAN.get(run.framework)
    if can is not None and not can.elastic:
        yield Observation(
            path="elastic",
            sentence=f"framework {run.framework} reads its layout from a fixed number of ranks",
            remedy=f"remove it, or set framework to {' or '.join(name for name, each in CAN.items() if each.elastic)}",
        )
    degrees = run.parallelism
    replica = Layout(tensor=degrees.tensor, pipeline=degrees.pipeline, context=degrees.context).replica
    if degrees.data is not None:
        yield Observation(
            path="parallelism.data",
            sentence=f"is fixed to {degrees.data}, and the run has {run.elastic.min_nodes} to {run.nodes} nodes",
            remedy="remove it: data parallelism is what the other degrees leave of the GPUs there are",
        )
    if run.dataset is not None and run.dataset.staging == "shard":
        yield Observation(
            path="dataset.staging",
            sentence="is shard, and a node that leaves takes its part of the data along",
            remedy="set it to full, or to none",
        )
    if degrees.data is None and pool.gpus_per_node % replica:
        yield Observation(
            path="elastic",
            sentence=f"a replica of the model takes {replica} GPUs and a node has {pool.gpus_per_node}, so that "
            "some numbers of nodes leave GPUs over",
            remedy=f"choose degrees whose product divides {pool.gpus_per_node}, or remove elastic",
            inputs={"replica": f"{replica} GPUs", "node": f"{pool.gpus_per_node} GPUs"},
        )


@warning(
    "KJ08",
    each=known_runs,
    formula="global batch mod (micro-batch x data ranks at each size) = 0",
    source="PyTorch elastic agent; the trainer keeps its global batch by accumulation",
)
def elastic_shrinks_batch(_: Draft, seen: Seen) -> Iterable[Observation]:
    """At some sizes the global batch does not divide among the ranks, so that steps differ."""
    if seen.run.elastic is None or seen.run.parallelism.data is not None:
        return
    per_node, layout = seen.pool.gpus_per_node, seen.training.layout
    sizes = range(seen.run.elastic.min_nodes, seen.run.nodes + 1)
    ranks = {nodes: nodes * per_node // layout.replica for nodes in sizes}
    odd = [
        nodes for nodes, data in ranks.items() if data and seen.training.global_batch % (data * seen.run.micro_batch)
    ]
    if odd:
        yield Observation(
            path="elastic",
            sentence=f"a global batch of {seen.training.global_batch} sequences does not divide among the ranks of "
            f"{', '.join(map(str, odd))} nodes, where steps are rounded",
            remedy="choose accumulation so that it divides at each size, or accept steps of another size",
        )


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
