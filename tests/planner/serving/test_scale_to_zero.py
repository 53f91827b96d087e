"""Services without replicas while nobody asks: what is planned, and what would leave callers alone (Q08, X12)."""

from typing import Any

import pytest

from planner.findings import Finding, Severity
from planner.monitoring.room import KEDA_REQUEST
from planner.types import Plan
from settings.errors import SettingsError
from tests.planner.stacks import planned, sections

WAY_IN: dict[str, Any] = {"domain": "llm.example.com", "issuer": {"kind": "private-ca"}, "callers": ["10.0.0.0/8"]}


def to_zero(**changes: Any) -> dict[str, Any]:
    """A service of prod that goes to zero."""
    (known,) = sections("prod")["serving"]["services"]
    bounds = {key: value for key, value in known.items() if key != "minReplicas"}
    return {**bounds, "name": "chat", "public": True, "maxReplicas": 2, "scaleToZero": {}, **changes}


def plan_of(*services: dict[str, Any], **changes: Any) -> Plan:
    return planned(
        "prod",
        {
            "monitoring": {},
            "budget.maxHourlyUsd": 100_000,
            "pools.2.count": 2,
            "serving.services": [*services],
            "serving.gateway": WAY_IN,
            **changes,
        },
    )


def found(rule: str, plan: Plan) -> list[Finding]:
    return [finding for finding in plan.findings if finding.rule == rule]


def test_it_runs_between_none_and_the_most_and_comes_with_its_programs_x12() -> None:
    plan = plan_of(to_zero(scaleToZero={"idleMinutes": 20}))
    chat = plan.services["chat"]
    assert (chat.min_replicas, chat.max_replicas, chat.gpus) == (0, 2, 0)
    assert chat.scaling is not None
    assert chat.scaling.idle_seconds == 1200
    assert "keda" in plan.charts
    assert "prometheus-adapter" not in plan.charts


def test_one_replica_at_most_follows_load_too() -> None:
    """Without the setting it would be fixed at one, which nothing has to change."""
    assert plan_of(to_zero(maxReplicas=1)).services["chat"].scaling is not None


def test_beside_a_service_that_always_runs_both_programs_are_there() -> None:
    other = {**to_zero(), "name": "code", "scaleToZero": None, "minReplicas": 1, "maxReplicas": 2, "hostname": None}
    plan = plan_of(to_zero(), {**other, "keys": ["codeToken"]})
    assert {"keda", "prometheus-adapter"} <= set(plan.charts)


def test_the_first_caller_waits_for_two_looks_and_a_replica() -> None:
    """Prometheus at the gateway every 30 s by default, KEDA at Prometheus every 15 s."""
    chat = plan_of(to_zero()).services["chat"]
    assert chat.wake_seconds is not None
    assert 0 <= chat.wake_seconds - (30 + 15 + chat.scale_up_seconds) <= 1
    slower = plan_of(to_zero(), monitoring={"scrapeSeconds": 60}).services["chat"]
    assert slower.wake_seconds == chat.wake_seconds + 30
    (finding,) = found("zero-callers-wait", plan_of(to_zero()))
    assert finding.severity is Severity.WARNING
    assert f"503 for about {chat.wake_seconds:,} s" in finding.sentence


def test_its_programs_take_room_on_the_system_pool() -> None:
    """Two pods, the operator and the metrics server."""
    least = {**to_zero(), "scaleToZero": None, "minReplicas": 1}
    zero, always = plan_of(to_zero()).monitoring, plan_of(least).monitoring
    assert zero is not None
    assert always is not None
    more = zero.room.asked_cpu_millicores - always.room.asked_cpu_millicores
    assert more == 2 * KEDA_REQUEST[0]


def test_without_monitoring_nobody_counts() -> None:
    (finding,) = found("zero-uncounted", plan_of(to_zero(), monitoring=None))
    assert (finding.path, finding.severity) == ("gpucluster:serving.services[0].scaleToZero", Severity.ERROR)
    assert not found("zero-uncounted", plan_of(to_zero()))
    # The rule about what feeds an HPA is about others.
    assert not found("autoscaler-unfed", plan_of(to_zero(), monitoring=None))


def test_its_first_replica_finds_a_node_beside_what_always_runs() -> None:
    always = {**to_zero(), "name": "code", "scaleToZero": None, "minReplicas": 4, "maxReplicas": 4, "tensorParallel": 4}
    both = (to_zero(tensorParallel=4), {**always, "keys": ["codeToken"]})
    (finding,) = found("zero-without-a-way-back", plan_of(*both))
    assert "no 4 GPUs on one node left" in finding.sentence
    fewer = {**both[1], "minReplicas": 3, "maxReplicas": 3}
    assert not found("zero-without-a-way-back", plan_of(both[0], fewer))


@pytest.mark.parametrize(("minutes", "wrong"), [(9, True), (10, False)])
def test_a_replica_may_load_before_it_is_taken_away_in04(minutes: int, *, wrong: bool) -> None:
    plan = plan_of(to_zero(scaleToZero={"idleMinutes": minutes}))
    assert plan.services["chat"].startup_seconds == 600
    assert bool(found("zero-before-it-answers", plan)) is wrong


@pytest.mark.parametrize(
    ("changes", "path"),
    [({"minReplicas": 1}, "minReplicas"), ({"public": False, "hostname": None}, "scaleToZero")],
)
def test_the_stack_file_does_not_say_two_things_at_once(changes: dict[str, Any], path: str) -> None:
    with pytest.raises(SettingsError, match=rf"serving\.services\[0\]\.{path}"):
        plan_of(to_zero(**changes))
