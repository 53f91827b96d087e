"""Runs that go on with fewer nodes: what each size between their bounds needs."""

from collections.abc import Iterable

from planner.draft import Draft, rule, warning
from planner.findings import Observation
from planner.pool_types import PoolPlan
from planner.rules.frameworks import CAN
from planner.rules.known import Seen, known_runs, placed_runs
from planner.training.job import Layout
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
            remedy=f"remove it, or set framework to {' or '.join(_others())}",
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


def _others() -> list[str]:
    return [name for name, each in CAN.items() if each.elastic]
