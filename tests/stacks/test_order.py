"""Whatever has pods comes after what lets pods run: nodes, their network and the name service."""

from collections.abc import Callable, Mapping
from functools import cache, partial

import pytest

from policy.pods import pods
from tests.graph.harness import Recorded
from tests.graph.stackfiles import SHIPPED, graph_of, run_program, stack_config
from tests.stacks.ceph_stack import with_ceph
from tests.stacks.test_follow_ups import by_mpi, followed
from tests.stacks.test_outside import dev as outside
from tests.stacks.test_wiring import wired

AT_ONCE = {"etcd-snapshots-schedule", "cilium-release"}
"""Runs on the control plane by the clock, and may wait there for the network; is the network."""


@cache
def isolating(stack: str) -> Recorded:
    """The stack, whose failing nodes are taken out; the one of machines has Ceph, so that no volume is waited for."""
    config = with_ceph() if stack == "metal" else stack_config(stack)
    if stack == "metal":
        config["gpucluster:inventory"]["logs"] = {"host": "loki.hall-2.example.com"}
    monitoring = {**(config.get("gpucluster:monitoring") or {}), "isolation": {}}
    return run_program({**config, "gpucluster:monitoring": monitoring}, stack=stack)


OWN: Mapping[str, Callable[[], Recorded]] = {
    "wired": wired,
    "followed": followed,
    "by-mpi": by_mpi,
    "isolating": partial(isolating, "dev"),
    "ceph": partial(isolating, "metal"),
    "outside": outside,
}


def after(found: Recorded, urn: str) -> set[str]:
    """All that is made before a resource, directly or not."""
    seen: set[str] = set()
    left = [urn]
    while left:
        for each in found.resources[left.pop()].depends_on:
            if each not in seen and each in found.resources:
                seen.add(each)
                left.append(each)
    return seen


@pytest.mark.parametrize("stack", [*SHIPPED, *OWN])
def test_pods_come_when_they_can_run(stack: str) -> None:
    found = OWN[stack]() if stack in OWN else graph_of(stack)
    ready = found.one("pool-system-nodes" if stack in ("metal", "ceph") else "service-addons-coredns").urn
    made = {pod.maker.urn: pod.owner for pod in pods(found)} | {
        each.urn: each.name for each in found.of_type("Release")
    }
    assert len(made) > 5
    assert {owner for urn, owner in made.items() if ready not in after(found, urn)} <= AT_ONCE
