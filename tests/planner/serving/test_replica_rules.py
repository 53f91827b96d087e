"""Rules about replicas: what they scale by, room for them, and nodes of their own (Q08, Q09, X12; IN10, LF06)."""

from typing import Any

import pytest

from planner.findings import Finding, Severity
from planner.workload_types import ScalingPlan
from tests.planner.stacks import planned, sections

WATCHED: dict[str, Any] = {"monitoring": {}}
ROOMY = {**WATCHED, "budget.maxHourlyUsd": 100_000}


def service(name: str, gpus: int, least: int, most: int, placement: str = "pack") -> dict[str, Any]:
    """A service of prod under another name."""
    (known,) = sections("prod")["serving"]["services"]
    return {
        **known,
        "name": name,
        "tensorParallel": gpus,
        "minReplicas": least,
        "maxReplicas": most,
        "placement": placement,
    }


def found(rule: str, *services: dict[str, Any], nodes: int = 2, **changes: Any) -> list[Finding]:
    """What a rule finds about prod with these services on nodes of 8 GPUs."""
    plan = planned("prod", {**ROOMY, "pools.2.count": nodes, "serving.services": [*services], **changes})
    return [finding for finding in plan.findings if finding.rule == rule]


# -- what replicas scale by


def test_monitoring_feeds_an_autoscaler_lf06() -> None:
    scaling = service("chat", 4, 2, 4)
    assert not found("autoscaler-unfed", scaling)
    (finding,) = found("autoscaler-unfed", scaling, monitoring=None)
    assert finding.path == "gpucluster:serving.services[0].maxReplicas"
    assert finding.remedy.startswith("add a section gpucluster:monitoring, or set minReplicas and maxReplicas")


def test_the_metrics_of_pods_have_one_owner_x12() -> None:
    waiver = {"rule": "autoscaler-unfed", "subject": "chat", "reason": "an adapter of ours", "until": "2099-12-31"}
    (finding,) = found("metric-owner", service("chat", 4, 2, 4), waivers=[waiver])
    assert (finding.path, finding.subject) == ("gpucluster:waivers[0]", "chat")
    assert finding.severity is Severity.ERROR
    assert not found("metric-owner", service("chat", 4, 2, 4), waivers=[waiver], monitoring=None)
    # Nothing scales, and no adapter is registered.
    assert not found("metric-owner", service("chat", 4, 2, 2), waivers=[waiver])
    assert not found("metric-owner", service("chat", 4, 2, 4), waivers=[])


def test_what_a_service_scales_by_is_planned_q08() -> None:
    """The seed's windows by default: one replica more in two minutes, one less in five."""
    plan = planned("prod", {**ROOMY, "pools.2.count": 2, "serving.services": [service("chat", 4, 2, 4)]})
    assert plan.services["chat"].scaling == ScalingPlan(
        waiting_per_replica=5, kv_cache_percent=80, up_seconds=120, down_seconds=300
    )


# -- a node for each replica


def test_replicas_that_spread_need_as_many_nodes_q09() -> None:
    (finding,) = found("spread-needs-nodes", service("chat", 1, 2, 3, "spread"))
    assert finding.path == "gpucluster:serving.services[0].placement"
    assert "up to 3 replicas of chat a node of its own, and pool inference has 2" in finding.sentence
    assert finding.remedy.startswith("set it to pack, lower maxReplicas to 2")
    (finding,) = found("spread-needs-nodes", service("chat", 1, 3, 3, "spread"))
    assert finding.remedy == "set it to pack, or raise the pool's count", "no fewer than always run"
    assert not found("spread-needs-nodes", service("chat", 1, 2, 2, "spread"))
    assert not found("spread-needs-nodes", service("chat", 1, 2, 3))


@pytest.mark.parametrize(("placement", "refused"), [("pack", False), ("spread", True)])
def test_two_of_4_gpus_and_one_of_8_on_two_nodes_in10(placement: str, refused: bool) -> None:
    """Packed, the small ones share a node; spread, they are on both, and the large one would wait without end."""
    both = service("small", 4, 2, 2, placement), service("large", 8, 1, 1)
    findings = found("replicas-fit-pool", *both)
    assert bool(findings) is refused
    assert not found("room-in-pieces", *both)
    if refused:
        assert "2 of 4 for small, each on another node, 1 of 8 for large" in findings[0].sentence
        assert findings[0].remedy.endswith("or let them pack")


def test_replicas_that_come_and_go_can_lie_on_every_node_in10() -> None:
    """Of four packed on two of three nodes the autoscaler takes one from each: no node of three is whole for the 8."""
    findings = found("room-in-pieces", service("small", 4, 1, 3), service("large", 8, 1, 1), nodes=3)
    (finding,) = findings
    assert (finding.path, finding.severity) == ("gpucluster:serving.services[1].pool", Severity.WARNING)
    assert "none of the 3 nodes of pool inference has 8 of its 8 GPUs free" in finding.sentence
    # Another node is one too many for three replicas; so are two, or ones that stay.
    assert not found("room-in-pieces", service("small", 4, 1, 3), service("large", 8, 1, 1), nodes=4)
    assert not found("room-in-pieces", service("small", 4, 1, 2), service("large", 8, 1, 1), nodes=3)
    assert not found("room-in-pieces", service("small", 4, 3, 3), service("large", 8, 1, 1), nodes=3)
    # All of one size leave no gaps; where not all find room anyway another rule says so.
    assert not found("room-in-pieces", service("small", 4, 1, 3), service("other", 4, 1, 3), nodes=3)
    three = service("small", 4, 1, 3), service("other", 4, 1, 3), service("large", 8, 1, 1)
    assert not found("room-in-pieces", *three, nodes=3)
    assert found("replicas-may-wait", *three, nodes=3)


# -- the autoscaler's upper end


def test_an_autoscaler_stops_where_the_pool_ends_a08() -> None:
    (finding,) = found("autoscaler-ceiling", service("chat", 4, 2, 9), service("mail", 4, 1, 2))
    assert finding.path == "gpucluster:serving.services[0].maxReplicas"
    assert "has room for 3 replicas of 4 GPUs of chat beside the fewest of its other services, and not for 9" in (
        finding.sentence
    )
    assert finding.remedy.startswith("set it to 3, or")
    assert not found("autoscaler-ceiling", service("chat", 4, 2, 3), service("mail", 4, 1, 2))


def test_services_may_want_the_same_room_a08() -> None:
    """Each finds room beside the fewest of the other, and not beside the most."""
    (finding,) = found("replicas-may-wait", service("chat", 4, 1, 3), service("mail", 4, 1, 3))
    assert finding.path == "gpucluster:pools[2].count"
    assert "want 24 GPUs, and the pool has 16" in finding.sentence
    assert not found("replicas-may-wait", service("chat", 4, 1, 2), service("mail", 4, 1, 2))
