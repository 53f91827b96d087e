"""What the played GPU operator says of its ClusterPolicy, as gpu-operator v26.3.3 does (K02)."""

from typing import Any

import pytest

from rehearsal.devices import policy_status
from rehearsal.devices.operands import OPERANDS

GPU = {"feature.node.kubernetes.io/pci-10de.present": "true"}
NO_GPU = {"feature.node.kubernetes.io/pci-1d0f.present": "true"}


@pytest.mark.parametrize(
    ("nodes", "waiting", "said"),
    [
        ([{}, {"topology.kubernetes.io/zone": "a"}], [], (True, "NFDLabelsMissing")),
        ([{}, NO_GPU], [], (True, "NoGPUNodes")),
        ([NO_GPU, GPU], [], (True, "Reconciled")),
        ([GPU], ["state-dcgm"], (False, "OperandNotReady")),
    ],
)
def test_state_and_reason(nodes: list[dict[str, str]], waiting: list[str], said: tuple[bool, str]) -> None:
    assert policy_status.verdict(nodes, waiting)[:2] == said


def test_a_daemonset_that_wants_no_pods_or_was_not_looked_at_counts_as_ready() -> None:
    lacking = {"status": {"desiredNumberScheduled": 2, "numberUnavailable": 1}}
    sets: list[dict[str, Any]] = [{}, {"status": {"desiredNumberScheduled": 0}}, lacking, lacking]
    names = ["driver", "toolkit", "validator", "devicePlugin"]
    by_key = {each.key: each for each in OPERANDS}
    found = policy_status.unready((by_key[name], made) for name, made in zip(names, sets, strict=True))
    assert found == ["state-operator-validation", "state-device-plugin"]
    assert "[state-operator-validation state-device-plugin]" in policy_status.verdict([GPU], found)[2]


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    ready = policy_status.status({}, "gpu-operator", policy_status.verdict([{}], []))
    assert ready["state"] == "ready"
    for each in ready["conditions"]:
        each["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    later = policy_status.status(ready, "gpu-operator", policy_status.verdict([GPU], []))
    assert {each["lastTransitionTime"] for each in later["conditions"]} == {"2026-01-01T00:00:00Z"}
    broken = policy_status.status(later, "gpu-operator", policy_status.verdict([GPU], ["state-dcgm"]))
    assert broken["state"] == "notReady"
    assert "2026-01-01T00:00:00Z" not in {each["lastTransitionTime"] for each in broken["conditions"]}
    reasons = {each["type"]: (each["status"], each["reason"]) for each in broken["conditions"]}
    assert reasons == {"Ready": ("False", "Error"), "Error": ("True", "OperandNotReady")}
