"""The dev stack once applied, without hardware and without an account (Z19): it runs, and nothing is left to do."""

import pytest

from .rehearsed import Rehearsed

pytestmark = pytest.mark.engine


def test_a_second_preview_finds_nothing_to_do(dev: Rehearsed) -> None:
    dev.assert_quiet()


def test_workloads_began_when_the_gpu_operator_had_said_that_gpus_work_k02(dev: Rehearsed) -> None:
    """Times of Kubernetes are whole seconds, and of one form, so that they compare as texts."""
    (policy,) = dev.kube.list("nvidia.com/v1", "ClusterPolicy")
    assert policy["status"]["state"] == "ready"
    (gate,) = [each for each in dev.kube.list("batch/v1", "Job") if "gpu-readiness" in each["metadata"]["name"]]
    begun = [
        each["metadata"]["creationTimestamp"]
        for version, kind in (("kubeflow.org/v1", "PyTorchJob"), ("apps/v1", "Deployment"))
        for each in dev.kube.list(version, kind)
        if each["metadata"]["namespace"] in ("training", "inference")
    ]
    assert len(begun) == 2
    assert all(gate["status"]["completionTime"] <= each for each in begun)
