"""Triton servers beside model services: room for all of them."""

from collections.abc import Iterable

from planner.draft import Draft, rule
from planner.findings import Observation
from planner.placement import placed
from planner.rules.known import triton
from settings.serving import Triton


@rule(
    "Q12 A08",
    each=triton,
    formula="replicas x gpus of its Triton servers and minReplicas x tensorParallel of its services <= GPUs of a pool",
    source="Definition of the stack file",
)
def triton_fits_pool(draft: Draft, server: Triton) -> Iterable[Observation]:
    """The replicas that always run fit on the pool, each on one node, largest first."""
    plan = draft.triton.get(server.name)
    if plan is None:
        return
    pool = draft.pools[plan.pool]
    inputs = {"nodes": f"{pool.count} nodes x {pool.devices_per_node} GPUs"}
    if plan.pod.gpus > pool.devices_per_node:
        yield Observation(
            path="gpus",
            sentence=f"{plan.pod.gpus} GPUs are more than the {pool.devices_per_node} of a {pool.hardware}",
            remedy=f"take at most {pool.devices_per_node}, or larger nodes for pool {pool.name}",
            inputs=inputs,
        )
        return
    services = [each.fewest for each in draft.services.values() if each.pool == pool.name]
    own = [each.always for each in draft.triton.values() if each.pool == pool.name]
    if any(each.gpus > pool.devices_per_node for each in (*services, *own)):
        return
    if placed(pool.count, pool.devices_per_node, services) is None:
        return
    if placed(pool.count, pool.devices_per_node, [*services, *own]) is None:
        theirs, there = (sum(each.gpus * each.count for each in some) for some in (own, services))
        yield Observation(
            path="replicas",
            sentence=f"Triton servers of pool {pool.name} take {theirs} GPUs and its services {there} at "
            f"least, and {pool.count} x {pool.hardware} with {pool.devices_per_node} each cannot hold them",
            remedy="lower replicas or gpus, or raise the count of the pool",
            inputs={"wanted": f"{theirs + there} GPUs", **inputs},
        )
