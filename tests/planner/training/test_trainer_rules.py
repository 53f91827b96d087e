"""Runs by Kubeflow Trainer v2: refused unless somebody says that it is there (dev)."""

from typing import Any

import pytest

from planner.types import AwsPlan
from tests.planner.stacks import planned
from tests.planner.training.test_follow_ups import FOLLOW_UP


def plan(changes: dict[str, Any] | None = None, **run: Any) -> AwsPlan:
    above = {f"training.runs.0.{key}": value for key, value in {"api": "v2", **run}.items()}
    return planned("prod", {**above, **(changes or {})})


def test_a_run_that_nothing_serves_is_refused_and_can_be_waived() -> None:
    (finding,) = [each for each in plan().errors if each.rule == "trainer-not-served"]
    assert finding.path == "gpucluster:training.runs[0].api"
    assert "JobSet" in finding.sentence
    waiver = {
        "rule": "trainer-not-served",
        "subject": "llama-3-70b-pretrain",
        "reason": "the cluster has the chart kubeflow-trainer 2.3.0",
        "until": "2027-01-31",
    }
    assert "trainer-not-served" not in {each.rule for each in plan({"waivers": [waiver]}).errors}
    assert not [each for each in plan(api="v1").findings if each.rule.startswith("trainer-")]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"launcher": "mpi"}, "launcher"),
        ({"elastic": {"minNodes": 6}}, "elastic"),
        ({"dataset": {"name": "web-text", "staging": "shard"}}, "dataset.staging"),
        ({"followUps": [FOLLOW_UP]}, "followUps"),
    ],
)
def test_what_only_a_pytorchjob_can_do_is_refused(changes: dict[str, Any], key: str) -> None:
    (finding,) = [each for each in plan(**changes).errors if each.rule == "trainer-cannot"]
    assert finding.path == f"gpucluster:training.runs[0].{key}"
    assert finding.remedy.endswith("or set api to v1")
