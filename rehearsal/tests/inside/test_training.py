"""Gangs through the real Volcano and training operator."""

from typing import Any

import pytest

from rehearsal.tests.inside import workloads
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.conftest import Site

pytestmark = pytest.mark.engine
JOB = "kubeflow.org/v1", "PyTorchJob"


def running(site: Site, prefix: str) -> list[dict[str, Any]]:
    return [pod for pod in site.pods("training", prefix) if pod["status"].get("phase") == "Running"]


@pytest.fixture
def gang(training: Site, request: pytest.FixtureRequest) -> Any:
    """A job that is taken away, with its pods, after the test."""
    jobs = []

    def make(job: dict[str, Any]) -> str:
        training.apply(job)
        jobs.append(job)
        return str(job["metadata"]["name"])

    yield make
    for job in jobs:
        training.kube.delete(job)
    # The garbage collector looks for new kinds of owners every 30 seconds.
    until(lambda: not training.pods("training"), 60, "the pods of the jobs go")


def test_gang_of_two_runs_on_both_nodes(training: Site, gang: Any) -> None:
    name = gang(workloads.pytorch_job("pair", "training", 2))
    pods = until(lambda: p if len(p := running(training, name)) == 2 else None, 60, "both workers run")
    group = training.kube.list("scheduling.volcano.sh/v1beta1", "PodGroup", "training")
    assert [each["spec"]["minMember"] for each in group] == [2]
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"volcano"}
    assert len({pod["spec"]["nodeName"] for pod in pods}) == 2
    assert len({pod["status"]["podIP"] for pod in pods}) == 2


def test_gang_of_three_does_not_start_at_all(training: Site, gang: Any) -> None:
    """Volcano does not even queue it (overcommit), so the training operator makes no pod: all or nothing."""
    name = gang(workloads.pytorch_job("triple", "training", 3))
    groups = ("scheduling.volcano.sh/v1beta1", "PodGroup", "training")
    until(lambda: [each["spec"]["minMember"] for each in training.kube.list(*groups)] == [3], 30, "a PodGroup of three")
    text = "overused nvidia.com/gpu"
    until(lambda: any(text in message for _, message in training.events("training", name)), 30, "Volcano says why")
    assert not training.pods("training", name)


def test_gang_without_toleration_stays_pending(training: Site, gang: Any) -> None:
    name = gang(workloads.pytorch_job("intolerant", "training", 2, tolerations=[]))
    until(lambda: len(training.pods("training", name)) == 2, 30, "two pods exist")

    def told() -> bool:
        groups = training.kube.list("scheduling.volcano.sh/v1beta1", "PodGroup", "training")
        return "taint" in str([each.get("status") for each in groups]) or any(
            "taint" in message
            for pod in training.pods("training", name)
            for _, message in training.events("training", pod["metadata"]["name"])
        )

    until(told, 30, "Volcano names the taint")
    assert not running(training, name)


def test_job_with_wrong_container_name_is_refused_by_the_webhook(training: Site) -> None:
    """KJ01: the admission webhook is the operator's own, reached through the cluster's network."""
    job = workloads.pytorch_job("misnamed", "training", 1)
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["name"] = "trainer"
    with pytest.raises(Exception, match="pytorch"):
        training.apply(job)


def test_crds_of_another_tag_are_not_found(training: Site) -> None:
    url = workloads.CRD_URL.replace(workloads.TRAINING_OPERATOR, "v9.9.9")
    training.apply(workloads.crd_job(url, name="other-crds"))

    def failed() -> str:
        pods = training.pods("kubeflow", "other-crds")
        return str([pod["status"] for pod in pods if pod["status"].get("phase") == "Failed"] or "")

    assert "404" in until(failed, 30, "the job's pod fails")
