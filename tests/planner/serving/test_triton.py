"""Triton servers beside model services (Q12)."""

from typing import Any

from planner.plan import AwsPlan
from tests.planner.stacks import planned

VISION = {
    "name": "vision",
    "pool": "inference",
    "image": "nvcr.io/nvidia/tritonserver:26.06-py3",
    "models": "s3://acme-model-weights/vision",
    "modelsGb": 3,
}


LARGER = {"pools.2.count": 2}


def _plan(**changes: Any) -> AwsPlan:
    return planned("prod", {**LARGER, "serving.triton": [{**VISION, **changes}]})


def _found(plan: AwsPlan) -> list[str]:
    return [finding.sentence for finding in plan.findings if finding.rule == "triton-fits-pool"]


def test_a_server_has_its_part_of_a_node_q12() -> None:
    (server,) = _plan(gpus=2, replicas=2).triton.values()
    pool = planned("prod", LARGER).pools["inference"]
    assert (server.pod.gpus, server.gpus, server.replicas) == (2, 4, 2)
    assert server.pod.cpu_millicores < pool.allocatable_cpu_millicores
    assert (server.startup_seconds, server.copy_seconds) == (600, 2420)


def test_servers_and_services_share_their_pool_a08() -> None:
    """Production's services always run 2 x 4 GPUs; what is left of the pool may be Triton's."""
    pool = planned("prod", LARGER).pools["inference"]
    left = pool.count * pool.devices_per_node - 8
    assert _found(_plan(replicas=left)) == []
    (sentence,) = _found(_plan(replicas=left + 1))
    assert f"take {left + 1} GPUs and its services 8 at least" in sentence


def test_a_replica_larger_than_a_node_is_refused_q12() -> None:
    pool = planned("prod", LARGER).pools["inference"]
    (sentence,) = _found(_plan(gpus=pool.devices_per_node + 1))
    assert f"{pool.devices_per_node + 1} GPUs are more than" in sentence


def test_services_know_what_triton_has_of_their_pool() -> None:
    pool = planned("prod", LARGER).pools["inference"]
    left = pool.count * pool.devices_per_node - 8
    (alone,), (beside,) = planned("prod", LARGER).services.values(), _plan(replicas=left).services.values()
    assert alone.spare_replica
    assert not beside.spare_replica
    room = _plan(replicas=left).sharing["inference"].fewest
    assert room is not None
    assert room.free_gpus == 0
