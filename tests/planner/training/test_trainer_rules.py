"""Runs by Kubeflow Trainer v2: refused unless somebody says that it is there (dev)."""

from typing import Any

import pytest

from planner.findings import Finding
from planner.types import AwsPlan
from tests.planner.stacks import planned, planned_metal
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


RUN = "training.runs.0"
SAVES = {"everyMinutes": 90, "withinSeconds": 120}


def found(rule: str, saves: dict[str, Any], **run: Any) -> list[Finding]:
    changes = {f"{RUN}.{key}": value for key, value in run.items()}
    plan = planned("prod", {f"{RUN}.checkpoint": {**SAVES, **saves}, **changes})
    return [each for each in plan.findings if each.rule == rule]


def test_a_script_that_saves_to_the_file_system_may_have_it() -> None:
    assert found("sidecar-cannot", {"sidecar": True}) == []
    assert found("sidecar-cannot", {}, framework="reference", script=[]) == []


@pytest.mark.parametrize(
    ("saves", "run", "path"),
    [
        ({}, {"framework": "reference", "script": []}, "framework"),
        ({}, {"launcher": "mpi"}, "launcher"),
        ({}, {"api": "v2"}, "api"),
        ({"local": True}, {"elastic": {"minNodes": 4}}, "elastic"),
    ],
)
def test_where_a_pods_part_is_unknown_it_is_refused(saves: dict[str, Any], run: dict[str, Any], path: str) -> None:
    (finding,) = found("sidecar-cannot", {"sidecar": True, **saves}, **run)
    assert finding.path == f"gpucluster:training.runs[0].{path}"
    assert "remove" in finding.remedy


def test_batch_scripts_start_no_container_beside_the_ranks() -> None:
    said = {**SAVES, "sidecar": True}
    plan = planned_metal({f"{RUN}.checkpoint": said, f"{RUN}.dataset.staging": "none", "slurm.pools": ["training"]})
    assert [each.path for each in plan.findings if each.rule == "sidecar-cannot"] == [
        "gpucluster:training.runs[0].pool"
    ]


def test_a_pod_without_memory_for_it_is_refused() -> None:
    (run,) = planned("prod").runs.values()
    (finding,) = found("sidecar-cannot", {"sidecar": True}, shmGib=run.pod.memory_mib // 1024 - 3)
    assert finding.path == "gpucluster:training.runs[0].checkpoint.sidecar"
    assert "3 GiB beside shmGib" in finding.sentence


def test_an_elastic_run_that_saves_to_the_file_system_may_have_it() -> None:
    assert found("sidecar-cannot", {"sidecar": True}, elastic={"minNodes": 4}) == []


@pytest.mark.parametrize("framework", ["megatron", "deepspeed"])
def test_saves_that_nobody_hashes_reach_no_object_store(framework: str) -> None:
    """What copies takes directories with SHA256SUMS alone, which neither framework writes."""
    (finding,) = found("saves-without-hashes", {"objectStoreHours": 6}, framework=framework)
    assert f"{framework} writes no SHA256SUMS" in finding.sentence
    assert found("saves-without-hashes", {"objectStoreHours": 6, "sidecar": True}, framework=framework) == []
    assert found("saves-without-hashes", {}, framework=framework) == []
    assert found("saves-without-hashes", {"objectStoreHours": 6}) == [], "another script may write them"


@pytest.mark.parametrize(("framework", "where"), [("megatron", "shared"), ("deepspeed", "local")])
def test_megatron_brings_its_saves_to_the_file_system_itself(framework: str, where: str) -> None:
    saves = {f"{RUN}.checkpoint": {**SAVES, "local": True, "sidecar": True}, f"{RUN}.framework": framework}
    (run,) = planned("prod", saves).runs.values()
    assert run.saving is not None
    assert run.saving.sidecar == where
