"""Which nodes automatic repair takes, and what it does to them (LF13)."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rehearsal.charts import upstream
from rehearsal.devices import host_engine
from rehearsal.eks import addonobjects, repair

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
ON = {"enabled": True}
XID79 = ("AcceleratedHardwareReady", "NvidiaXID79Error")


def node(name: str, condition: str = "Ready", reason: str = "", seconds: float = 0.0, status: str = "False") -> Any:
    """A node with one condition that has been so for some time."""
    since = (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    told = {"type": condition, "status": status, "reason": reason, "lastTransitionTime": since}
    return {"metadata": {"name": name}, "status": {"conditions": [told]}}


def fine(count: int) -> list[Any]:
    return [node(f"fine-{index}", status="True") for index in range(count)]


def done(config: dict[str, Any], nodes: list[Any], busy: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    ill = {each: (NOW - datetime.fromisoformat(each.since)).total_seconds() for each in repair.sick(nodes)}
    return [(each.node, each.action) for each in repair.due(config, len(nodes), ill, busy)]


@pytest.mark.parametrize("off", [timedelta(), timedelta(days=1), timedelta(days=-1)], ids=["right", "ahead", "behind"])
def test_a_nodes_clock_makes_no_wait_shorter_or_longer(off: timedelta) -> None:
    """Nor does that of this machine, if it is set while something is wrong."""
    passed = 5000.0
    waits = repair.Waits(lambda: passed)
    ill = [node("ill", *XID79, -off.total_seconds())]
    for later, expected in ((0, []), (9, []), (2, [("ill", "Replace")])):
        passed += later
        found = repair.due(ON, 1, waits.seconds(repair.sick(ill)), ())
        assert [(each.node, each.action) for each in found] == expected
    assert waits.seconds(()) == {}
    assert repair.due(ON, 1, waits.seconds(repair.sick(ill)), ()) == []


@pytest.mark.parametrize(
    ("condition", "reason", "seconds", "action"),
    [
        (*XID79, 11, "Replace"),
        (*XID79, 9, None),
        ("AcceleratedHardwareReady", "NvidiaXID31Error", 11, "Reboot"),
        ("AcceleratedHardwareReady", "NvidiaDoubleBitError", 11, "Replace"),
        ("AcceleratedHardwareReady", "DCGMError", 999, None),
        ("KernelReady", "ForkFailedOutOfPIDs", 31, "Replace"),
        ("KernelReady", "ForkFailedOutOfPIDs", 29, None),
        ("Ready", "KubeletNotReady", 121, "Replace"),
        ("Ready", "KubeletNotReady", 119, None),
        ("MemoryPressure", "KubeletHasInsufficientMemory", 999, None),
    ],
)
def test_each_condition_has_its_wait_and_its_action_lf13(
    condition: str, reason: str, seconds: float, action: str | None
) -> None:
    ill = node("ill", condition, reason, seconds)
    assert done(ON, [ill]) == ([("ill", action)] if action else [])
    assert done({"enabled": False}, [ill]) == []
    assert done({}, [ill]) == []


def test_a_healthy_condition_is_left_alone_lf13() -> None:
    assert done(ON, [node("well", *XID79, 999, status="True")]) == []
    assert done(ON, [node("lost", "Ready", "NodeStatusUnknown", 999, status="Unknown")]) == [("lost", "Replace")]


def test_an_override_has_the_last_word_lf13() -> None:
    override = {
        "nodeMonitoringCondition": XID79[0],
        "nodeUnhealthyReason": XID79[1],
        "minRepairWaitTimeMins": 60,
        "repairAction": "Reboot",
    }
    config = {**ON, "nodeRepairConfigOverrides": [override]}
    assert done(config, [node("ill", *XID79, 59)]) == []
    assert done(config, [node("ill", *XID79, 61)]) == [("ill", "Reboot")]
    assert done(config, [node("ill", XID79[0], "NvidiaXID74Error", 11)]) == [("ill", "Replace")]
    off = {**ON, "nodeRepairConfigOverrides": [{**override, "repairAction": "NoAction"}]}
    assert done(off, [node("ill", *XID79, 999)]) == []


@pytest.mark.parametrize(
    ("config", "sick", "well", "repaired"),
    [
        ({}, 5, 0, 5),
        ({}, 1, 4, 1),
        ({}, 2, 8, 2),
        ({}, 3, 7, 0),
        ({"maxUnhealthyNodeThresholdCount": 1}, 1, 0, 1),
        ({"maxUnhealthyNodeThresholdCount": 1}, 2, 8, 0),
        ({"maxUnhealthyNodeThresholdPercentage": 50}, 2, 2, 2),
        ({"maxUnhealthyNodeThresholdPercentage": 50}, 3, 1, 0),
        ({"maxParallelNodesRepairedCount": 1}, 3, 0, 1),
        ({"maxParallelNodesRepairedPercentage": 50}, 4, 0, 2),
    ],
)
def test_limits_lf13(config: dict[str, Any], sick: int, well: int, repaired: int) -> None:
    """A fifth of more than five nodes unless the group says otherwise, and so many at a time."""
    ill = [node(f"ill-{index}", *XID79, 11) for index in range(sick)]
    assert len(done({**ON, **config}, [*ill, *fine(well)])) == repaired


def test_nodes_in_repair_count_lf13() -> None:
    one = {**ON, "maxParallelNodesRepairedCount": 1}
    ill = [node("first", *XID79, 11), node("second", *XID79, 11)]
    assert done(one, ill, busy=("first",)) == []
    assert done({**ON, "maxParallelNodesRepairedCount": 2}, ill, busy=("first",)) == [("second", "Replace")]


def daemons(**values: Any) -> dict[str, dict[str, Any]]:
    made = addonobjects.objects("eks-node-monitoring-agent", "v1", values)
    return {each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in made if each["kind"] == "DaemonSet"}


def test_the_agent_runs_on_every_node_and_its_host_engine_where_it_is_let_lf13() -> None:
    found = daemons()
    assert found["eks-node-monitoring-agent"]["tolerations"] == [{"operator": "Exists"}]
    assert found["dcgm-server"]["tolerations"] == []
    let = daemons(dcgmAgent={"tolerations": [{"operator": "Exists"}]})
    assert let["dcgm-server"]["tolerations"] == [{"operator": "Exists"}]
    assert let["dcgm-server"]["affinity"] == found["dcgm-server"]["affinity"] == host_engine.nvidia_nodes()


@pytest.mark.skipif(upstream.directory() is None, reason="no GPUCLUSTER_UPSTREAM: comparison with the chart off")
def test_the_host_engine_is_the_charts() -> None:
    directory = upstream.directory()
    assert directory
    entries = json.loads((directory / "rendered/eks-node-monitoring-agent.json").read_text())["objects"]
    (told,) = (each["pod"] for each in entries if each["name"] == "dcgm-server")
    made = daemons()["dcgm-server"]

    def asked(pod: dict[str, Any]) -> dict[str, set[str]]:
        required = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (term,) = required["nodeSelectorTerms"]
        return {f"{each['key']} {each['operator']}": set(each["values"]) for each in term["matchExpressions"]}

    assert asked(made) == asked(told)
    (engine,), (real,) = made["containers"], told["containers"]
    assert {key: engine[key] for key in ("name", "command", "args", "ports", "securityContext")} == {
        key: real[key] for key in ("name", "command", "args", "ports", "securityContext")
    }
