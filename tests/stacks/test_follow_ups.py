"""Follow-ups, gates that end and runs by MPI, as whole stacks that no committed stack file has."""

from copy import deepcopy
from typing import Any

import pytest

from policy import RULES
from policy.rule import violations
from tests.graph import schema_kubernetes
from tests.graph.stackfiles import run_program, stack_config


def _followed() -> dict[str, Any]:
    config = deepcopy(stack_config("dev"))
    training, pool = config["gpucluster:training"], config["gpucluster:pools"][1]["name"]
    queue = config["gpucluster:scheduling"]["queues"][0]["name"]
    training["gates"] = {"minutes": 20, "expiryDays": 17, "history": True}
    training["runs"][0]["checkpoint"] = {"everyMinutes": 30, "withinSeconds": 60}
    follow_up = {"name": "export", "pool": pool, "queue": queue, "script": ["/workspace/train.py"]}
    training["runs"][0]["followUps"] = [follow_up]
    return config


def _by_mpi() -> dict[str, Any]:
    config = deepcopy(stack_config("dev"))
    config["gpucluster:training"]["runs"][0]["launcher"] = "mpi"
    del config["gpucluster:training"]["runs"][0]["metricsPort"]
    return config


@pytest.mark.parametrize("config", [_followed(), _by_mpi()], ids=["followed", "by-mpi"])
def test_what_is_registered_breaks_no_rule_and_no_schema(config: dict[str, Any]) -> None:
    if schema_kubernetes.upstream() is None:
        pytest.skip("the vendors' definitions are not at hand: set GPUCLUSTER_UPSTREAM")
    graph = run_program(config, stack="dev")
    assert [each.sentence for each in violations(graph, RULES)] == []
    assert [problem for each in graph.resources.values() for problem in schema_kubernetes.problems(each)] == []
