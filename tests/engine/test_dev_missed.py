"""What somebody takes away behind the stack's back is missed by `make status`, and a refresh and `up` make it again."""

import json
import re
from typing import Any

import pytest

from .rehearsed import Rehearsed, until

pytestmark = pytest.mark.engine

RUN = ("kubeflow.org/v1", "PyTorchJob", "llama-3-8b-sft", "training")
GANG_FLAG = "--gang-scheduler-name=volcano"
KEPT = ("name", "namespace", "labels", "annotations")
MANAGER = "pulumi-kubernetes"
"""Whoever makes the run again by hand is to leave no mark that later updates would conflict with."""


@pytest.fixture(scope="module")
def operator(dev: Rehearsed) -> dict[str, Any]:
    """The training operator's Deployment as the program made it."""
    (found,) = (each for each in dev.kube.list("apps/v1", "Deployment") if GANG_FLAG in json.dumps(each["spec"]))
    return found


def set_arguments(site: Rehearsed, operator: dict[str, Any], arguments: list[str]) -> None:
    """Run the operator with these arguments, and with no other ones."""
    meta = operator["metadata"]
    change = [{"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": arguments}]
    where = ("-n", meta["namespace"], f"deployment/{meta['name']}")
    site.kubectl("patch", *where, "--type", "json", "--patch", json.dumps(change))
    site.kubectl("rollout", "status", *where, "--timeout=120s")
    app = ",".join(f"{key}={value}" for key, value in operator["spec"]["selector"]["matchLabels"].items())
    until(lambda: len(site.kube.list("v1", "Pod", meta["namespace"], app)) == 1, "the old operator to be gone")


def missed(site: Rehearsed, words: str) -> str:
    """The complaint that holds the words, once there is one."""

    def found() -> str:
        return next((each for each in site.view().unready() if re.search(words, each)), "")

    text: str = until(found, f"a complaint of {words}")
    return text


def test_a_run_whose_operator_has_lost_its_gang_flag_is_missed_with_that_reason(
    dev: Rehearsed, operator: dict[str, Any]
) -> None:
    arguments = operator["spec"]["template"]["spec"]["containers"][0]["args"]
    run = dev.kube.get(*RUN)
    assert run is not None
    bare = {key: value for key, value in run["metadata"].items() if key in KEPT}
    set_arguments(dev, operator, [each for each in arguments if each != GANG_FLAG])
    dev.kubectl("-n", RUN[3], "delete", "pytorchjob", RUN[2], "--wait")
    until(lambda: not dev.kube.list("scheduling.volcano.sh/v1beta1", "PodGroup"), "the gang to be gone")
    dev.kube.create({"apiVersion": RUN[0], "kind": RUN[1], "metadata": bare, "spec": run["spec"]}, MANAGER)
    said = missed(dev, "has no PodGroup")
    assert said.startswith("pytorchjob training/llama-3-8b-sft has no PodGroup, so that its 2 pods start one by one")
    assert GANG_FLAG in said
    set_arguments(dev, operator, arguments)


def test_a_run_and_a_job_that_somebody_deleted_are_missed_and_made_again(dev: Rehearsed) -> None:
    jobs = [each["metadata"]["name"] for each in dev.kube.list("batch/v1", "Job", "inference")]
    (name,) = [each for each in jobs if each.startswith("weights-")]
    dev.kubectl("-n", "inference", "delete", "job", name)
    dev.kubectl("-n", RUN[3], "delete", "pytorchjob", RUN[2], "--wait")
    gone = "is declared but missing: it was deleted; a refresh, then `up`, recreates it"
    assert f"job inference/{name} {gone}" in missed(dev, f"job inference/{name}")
    assert gone in missed(dev, f"pytorchjob training/{RUN[2]}")
    assert dev.refresh().status == 0
    made = {name for op, _, name in dev.up().require().record.operations() if op == "create"}
    assert made == {"weights-llama-3-8b-copy", f"run-{RUN[2]}-job"}
    assert dev.settled().gangs[0].running == 2
    dev.assert_quiet()
