"""The kubernetes plugin against a real API server: what it waits for, and what it says when that does not come."""

import re
import threading
import time
from typing import Any

import pytest

from rehearsal.kube.client import Kube
from rehearsal.plugins.kubernetes.polled import ClaimAwaiter
from rehearsal.tests.kube.engine import Aborted, Stack
from rehearsal.tests.plugins.kubernetes_objects import (
    DEPLOYMENT,
    JOB,
    SERVICE,
    crd,
    deployment,
    job,
)

pytestmark = pytest.mark.engine


def test_a_deployment_that_cannot_start_says_which_pod_waits_for_what(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = deployment(namespace, replicas=1)
    made = threading.Thread(target=_pretend_waiting, args=(kube, namespace))
    made.start()
    with pytest.raises(Aborted) as failed:
        stack.up(DEPLOYMENT, "serve", wanted, timeout=5)
    made.join()
    first, *more = failed.value.reasons
    assert first.endswith("failed to fully initialize or become live: 'serve' timed out waiting to be Ready")
    assert "Minimum number of live Pods was not attained" in more
    assert re.search(rf"\[Pod {namespace}/serve-\S+\]: not yet\[ImagePullBackOff\] no such image", more[-1])
    assert stack.refresh("serve") == wanted
    assert stack.state["serve"].reasons
    stack.up(DEPLOYMENT, "serve", deployment(namespace))
    assert stack.state["serve"].reasons == []


def _pretend_waiting(kube: Kube, namespace: str) -> None:
    """Does what a kubelet reports that cannot pull the image."""
    deadline = time.monotonic() + 20
    while not (pods := kube.list("v1", "Pod", namespace)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    state = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    status = {
        "phase": "Pending",
        "conditions": [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Initialized", "status": "True"},
            {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "not yet"},
        ],
        "containerStatuses": [
            {
                "name": "c",
                "image": "x:1",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": state,
            }
        ],
    }
    kube.patch("v1", "Pod", pods[0]["metadata"]["name"], namespace, {"status": status}, subresource="status")


def test_skip_await_and_timeout_annotations(stack: Stack, namespace: str) -> None:
    wanted = deployment(namespace, replicas=1)
    wanted["metadata"]["annotations"] = {"pulumi.com/timeoutSeconds": "1"}
    with pytest.raises(Aborted, match="'serve' timed out waiting to be Ready"):
        stack.up(DEPLOYMENT, "serve", wanted, timeout=0)
    wanted["metadata"]["annotations"] = {"pulumi.com/skipAwait": "true"}
    assert stack.up(DEPLOYMENT, "serve", wanted) == "update"


def test_a_service_without_pods_is_ready_after_ten_seconds_lf22(stack: Stack, kube: Kube, namespace: str) -> None:
    service: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": namespace},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "nobody"}},
    }
    started = time.monotonic()
    assert stack.up(SERVICE, "s", service) == "create"
    assert time.monotonic() - started >= 10
    started = time.monotonic()
    stack.refresh("s")
    service["spec"]["clusterIP"] = "None"
    assert stack.up(SERVICE, "s", service) == "delete-replace"
    assert time.monotonic() - started < 9
    assert not stack.state["s"].reasons


def test_wait_for_a_field(stack: Stack, kube: Kube) -> None:
    stack.up("kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", "queues", crd("two.example.com"))
    queue = {
        "apiVersion": "two.example.com/v1",
        "kind": "Queue",
        "metadata": {"name": "q", "annotations": {"pulumi.com/waitFor": "jsonpath={.status.state}=Open"}},
        "spec": {"weight": 1},
    }
    with pytest.raises(Aborted, match="timed out waiting for the condition"):
        stack.up("kubernetes:two.example.com/v1:Queue", "q", queue, timeout=1)
    kube.patch("two.example.com/v1", "Queue", "q", None, {"status": {"state": "Open"}})
    assert stack.up("kubernetes:two.example.com/v1:Queue", "q", queue) == "update"


def test_a_claim_without_its_class_is_polled_for_its_own_time_lf20(
    stack: Stack, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClaimAwaiter, "seconds", 2.0)
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "absent",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    with pytest.raises(Aborted) as failed:
        stack.up("kubernetes:core/v1:PersistentVolumeClaim", "data", claim, timeout=60)
    [reason] = failed.value.reasons
    assert reason.endswith("Timeout occurred polling for 'data'")


def test_static_volume_and_claim_bind(stack: Stack, namespace: str) -> None:
    common = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    volume: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "shared"},
        "spec": {
            **common,
            "capacity": {"storage": "10Gi"},
            "csi": {"driver": "fsx.csi.aws.com", "volumeHandle": "fs-1"},
            "persistentVolumeReclaimPolicy": "Retain",
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "shared", "namespace": namespace},
        "spec": {**common, "volumeName": "shared", "resources": {"requests": {"storage": "10Gi"}}},
    }
    stack.up("kubernetes:core/v1:PersistentVolume", "pv", volume)
    stack.up("kubernetes:core/v1:PersistentVolumeClaim", "pvc", claim)
    assert stack.state["pvc"].outputs["status"]["phase"] == "Bound"
    volume["spec"]["csi"]["volumeHandle"] = "fs-2"
    diff = stack.diff(
        "kubernetes:core/v1:PersistentVolume",
        "pv",
        stack.check("kubernetes:core/v1:PersistentVolume", "pv", volume).inputs,
    )
    assert list(diff.replaces) == ["spec.csi.volumeHandle"]


def test_replace_unready_runs_a_failed_job_again(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = job(namespace, **{"pulumi.com/replaceUnready": "true"})
    with pytest.raises(Aborted, match="'migrate' timed out waiting to be Ready"):
        stack.up(JOB, "migrate", wanted, timeout=1)
    before = stack.state["migrate"].outputs["metadata"]["uid"]
    with pytest.raises(Aborted, match="'migrate' timed out waiting to be Ready"):
        stack.up(JOB, "migrate", wanted, timeout=1)
    assert stack.state["migrate"].outputs["metadata"]["uid"] != before
    del wanted["metadata"]["annotations"]
    inputs = stack.check(JOB, "migrate", wanted).inputs
    assert not stack.diff(JOB, "migrate", inputs).replaces
