"""A declared run has its gang: one PodGroup of its own, of the right minimum, with all its pods."""

from typing import Any

import pytest

from rehearsal.engine.declared import Declared
from rehearsal.tests.engine.objects import UID, Object, conditions, declared, live, said

RUN = "pytorchjob training/sft"
ROLES = {"Master": {"replicas": 1}, "Worker": {"replicas": 3}}


def run(*, spec: Object | None = None, **status: Any) -> tuple[Declared, Object]:
    wanted = {"spec": {"pytorchReplicaSpecs": ROLES, **(spec or {})}}
    item = declared("kubeflow.org/v1", "PyTorchJob", "sft", "training", wanted=wanted)
    return item, live("sft", "training", status=status)


def group(least: int, running: int, **more: Any) -> Object:
    owners = {"ownerReferences": [{"uid": UID}]}
    status = {"running": running, "phase": "Running"}
    made = live("sft", "training", metadata=owners, spec={"minMember": least}, status=status)
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", **made, **more}


def test_a_run_without_a_pod_group_is_told_with_the_flag_that_is_missing() -> None:
    item, job = run()
    (sentence,) = said(item, PyTorchJob=[job])
    assert sentence.startswith(f"{RUN} has no PodGroup, so that its 4 pods start one by one")
    assert "--gang-scheduler-name=volcano" in sentence
    strangers = {**group(4, 4), "metadata": live("sft", "training")["metadata"]}
    assert said(item, PyTorchJob=[job], PodGroup=[strangers]) == [sentence], "a name alone makes no gang"
    assert said(item, PyTorchJob=[job], PodGroup=[group(4, 4)]) == []
    stray = {"name": f"podgroup-{UID}", "namespace": "training", "ownerReferences": [{"uid": UID}]}
    assert said(item, PyTorchJob=[job], PodGroup=[{**group(1, 4), "metadata": stray}]) == [sentence]
    assert said(item, PyTorchJob=[job], unserved=["PodGroup"]) == [], "nobody here schedules gangs"
    asked, job = run(spec={"runPolicy": {"schedulingPolicy": {"queue": "research"}}})
    assert "has no PodGroup" in said(asked, PyTorchJob=[job], unserved=["PodGroup"])[0]


@pytest.mark.parametrize("least", [1, 3, 5])
def test_a_pod_group_of_another_minimum_than_the_runs_pods_is_told(least: int) -> None:
    item, job = run()
    (sentence, *_) = said(item, PyTorchJob=[job], PodGroup=[group(least, 4)])
    assert sentence == (
        f"{RUN} has 4 pods, and its PodGroup starts them when there is room for {least}: "
        "set schedulingPolicy.minAvailable to 4, or leave it out"
    )


def test_an_elastic_run_may_start_with_fewer() -> None:
    item, job = run(spec={"elasticPolicy": {"minReplicas": 2}})
    assert said(item, PyTorchJob=[job], PodGroup=[group(2, 2)]) == []
    for least in (1, 5):
        assert f"when there is room for {least}" in said(item, PyTorchJob=[job], PodGroup=[group(least, 4)])[0]


def test_a_gang_that_runs_in_part_is_told_once_with_the_events_of_its_group() -> None:
    item, job = run()
    event = {
        "metadata": {"namespace": "training"},
        "involvedObject": {"kind": "PodGroup", "name": "sft"},
        "type": "Warning",
        "reason": "Unschedulable",
        "message": "2/4 tasks in gang unschedulable",
    }
    found = said(item, PyTorchJob=[job], PodGroup=[group(1, 2)], Event=[event])
    assert found[1] == f"{RUN} has 2 of 4 pods running: Unschedulable: 2/4 tasks in gang unschedulable"
    assert "has 1 of 4 pods running" in said(item, PyTorchJob=[job], PodGroup=[group(1, 1)])[1]
    assert said(item, PyTorchJob=[job], PodGroup=[group(4, 2)]) == [], "its PodGroup is complained of by itself"


def test_a_run_that_failed_says_why_and_one_that_ended_well_or_is_suspended_needs_no_gang() -> None:
    item, job = run(**conditions(Failed=("True", "PyTorchJobFailed", "replica Worker-1 failed")))
    assert said(item, PyTorchJob=[job]) == [f"{RUN} has failed: PyTorchJobFailed: replica Worker-1 failed"]
    item, job = run(**conditions(Succeeded=("True", "PyTorchJobSucceeded", "")))
    assert said(item, PyTorchJob=[job]) == []
    item, job = run(spec={"runPolicy": {"suspend": True}})
    assert said(item, PyTorchJob=[job]) == []


def test_volcanos_own_job_is_a_run_and_a_job_of_kubernetes_is_none() -> None:
    tasks = {"spec": {"tasks": [{"replicas": 2}, {"replicas": 2, "minAvailable": 1}]}}
    version = "batch.volcano.sh/v1alpha1"
    item = declared(version, "Job", "sft", "training", wanted=tasks)
    job = {"apiVersion": version, **live("sft", "training")}
    assert said(item, Job=[job], PodGroup=[group(3, 4)]) == []
    assert "room for 2" in said(item, Job=[job], PodGroup=[group(2, 4)])[0]
    ended = {**job, "status": {"state": {"phase": "Failed", "message": "a task failed"}}}
    assert said(item, Job=[ended]) == ["job training/sft has failed: Failed: a task failed"]
