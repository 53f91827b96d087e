"""Pools of CPU nodes with gVisor, and what the planner refuses of them (Y05, PF04)."""

from collections.abc import Mapping
from typing import Any

import pytest

from planner.findings import Severity
from settings.errors import SettingsError
from tests.planner.stacks import changed, planned

SANDBOX = {"source": "s3://acme-tools/gvisor/20261116", "runscSha256": "a" * 64, "shimSha256": "b" * 64}


def test_nodes_of_the_pool_have_it() -> None:
    plan = planned("dev", {"pools.0.sandbox": SANDBOX})
    assert [str(each) for each in plan.findings if each.severity is Severity.ERROR] == []
    pool = plan.pools["system"]
    assert pool.sandboxed
    assert pool.sandbox
    assert pool.sandbox.source == "s3://acme-tools/gvisor/20261116"
    assert not planned("dev").pools["system"].sandboxed


@pytest.mark.parametrize(
    ("changes", "path", "why"),
    [
        ({"pools.1.sandbox": SANDBOX}, "pools[1].sandbox", "neither MIG nor RDMA"),
        (
            {"pools.0.sandbox": {**SANDBOX, "source": "https://storage.googleapis.com/gvisor"}},
            "sandbox.source",
            "s3://",
        ),
        ({"pools.0.sandbox": {**SANDBOX, "source": "s3://acme-tools/x;reboot"}}, "sandbox.source", "s3://"),
        ({"pools.0.sandbox": {**SANDBOX, "runscSha256": "latest"}}, "sandbox.runscSha256", "SHA-256"),
    ],
)
def test_what_is_no_sandbox_is_refused(changes: Mapping[str, Any], path: str, why: str) -> None:
    """PF04: GPUs are not passed on, and what nodes fetch is named by its hash."""
    with pytest.raises(SettingsError) as refused:
        planned("dev", changes)
    assert path in str(refused.value)
    assert why in str(refused.value)


def test_gpu_machines_have_none_on_premises_either() -> None:
    with pytest.raises(SettingsError) as refused:
        changed("metal", {"pools.1.sandbox": True})
    assert "pools[1].sandbox" in str(refused.value)


def test_steps_find_a_node_that_has_it() -> None:
    steps = {"training.pipelines": {"sandbox": True}}
    found = [each for each in planned("dev", steps).findings if each.rule == "pipeline-sandbox"]
    assert [each.path for each in found] == ["gpucluster:training.pipelines.sandbox"]
    assert "pipeline-sandbox" not in [
        each.rule for each in planned("dev", {**steps, "pools.0.sandbox": SANDBOX}).findings
    ]
