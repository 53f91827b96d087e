"""Manifests that the published designs have wrong, before the real API server, webhook, binder and kubelets of dev.

Each fails as its correction says; none is of the program.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from rehearsal.kube.errors import ApiError

from .rehearsed import Rehearsed, until

pytestmark = pytest.mark.engine

PLACE = "as-published"
IMAGE = "registry.k8s.io/pause:3.10"
ANYWHERE = [{"operator": "Exists"}]


@pytest.fixture(scope="module")
def place(dev: Rehearsed) -> Iterator[str]:
    """A namespace for them, which is gone after the last, as is what they leave elsewhere."""
    dev.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}})
    try:
        until(lambda: dev.kube.get("v1", "ServiceAccount", "default", PLACE), "the account that its pods have")
        yield PLACE
    finally:
        dev.kubectl("delete", "namespace", PLACE, "--timeout=90s")
        dev.kubectl("delete", "persistentvolumeclaim,pod", "--namespace=default", f"--selector=of={PLACE}")
        dev.kubectl("delete", "persistentvolume", f"--selector=of={PLACE}", "--timeout=60s")


def thing(api: str, kind: str, name: str, namespace: str | None, **fields: Any) -> dict[str, Any]:
    meta = {"name": name, "labels": {"of": PLACE}, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": meta, **fields}


def reader(name: str, claim: str) -> dict[str, Any]:
    """A pod of one container that mounts a claim, and may run on any node."""
    container = {"name": "reader", "image": IMAGE, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
    spec = {"containers": [container], "volumes": [volume], "tolerations": ANYWHERE, "terminationGracePeriodSeconds": 0}
    return thing("v1", "Pod", name, PLACE, spec=spec)


def claim(name: str, namespace: str, **spec: Any) -> dict[str, Any]:
    asked = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return thing("v1", "PersistentVolumeClaim", name, namespace, spec=asked)


def volume(name: str, driver: str) -> dict[str, Any]:
    source = {"driver": driver, "volumeHandle": name, "volumeAttributes": {"mgs": "10.0.0.10@o2ib", "fs": "scratch"}}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "csi": source}
    return thing("v1", "PersistentVolume", name, None, spec={**spec, "persistentVolumeReclaimPolicy": "Retain"})


def said(dev: Rehearsed, name: str) -> list[str]:
    """What the events of a namespace tell of an object."""
    events = dev.kube.list("v1", "Event", PLACE)
    return [each["message"] for each in events if each["involvedObject"]["name"] == name]


def refused(dev: Rehearsed, manifest: Mapping[str, Any]) -> str:
    with pytest.raises(ApiError) as answer:
        dev.kube.create(dict(manifest))
    return str(answer.value)


def test_a_job_whose_container_is_called_trainer_is_refused_by_the_webhook_kj01(dev: Rehearsed, place: str) -> None:
    template = {"spec": {"containers": [{"name": "trainer", "image": IMAGE}]}}
    roles = {role: {"replicas": 1, "template": template} for role in ("Master", "Worker")}
    job = thing("kubeflow.org/v1", "PyTorchJob", "trainer", place, spec={"pytorchReplicaSpecs": roles})
    told = refused(dev, job)
    assert "must have at least one container with name pytorch" in told
    for replica in roles.values():
        replica["template"] = {"spec": {"containers": [{"name": "pytorch", "image": IMAGE}]}}
    dev.kube.call("POST", dev.kube.path("kubeflow.org/v1", "PyTorchJob", place) + "?dryRun=All", job)


def test_a_cleaner_that_says_nothing_of_its_restarts_is_refused_st15(dev: Rehearsed, place: str) -> None:
    template: dict[str, Any] = {"spec": {"containers": [{"name": "cleaner", "image": IMAGE}]}}
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}
    cleaner = thing("batch/v1", "CronJob", "nvme-cleanup", place, spec=spec)
    assert "template.spec.restartPolicy: Required value" in refused(dev, cleaner)
    template["spec"]["restartPolicy"] = "Never"
    dev.kube.call("POST", dev.kube.path("batch/v1", "CronJob", place) + "?dryRun=All", cleaner)


def test_a_pod_waits_for_a_claim_that_nobody_made_kj17(dev: Rehearsed, place: str) -> None:
    dev.kube.create(reader("of-nothing", "checkpoints-pvc"))
    words = 'persistentvolumeclaim "checkpoints-pvc" not found'
    until(lambda: [each for each in said(dev, "of-nothing") if words in each], "the scheduler to say what is missing")
    found = dev.kube.get("v1", "Pod", "of-nothing", place)
    assert found is not None
    assert found["status"]["phase"] == "Pending"
    assert "nodeName" not in found["spec"]


def test_a_claim_without_class_and_namespace_is_elsewhere_and_takes_no_volume_kj16(dev: Rehearsed, place: str) -> None:
    """By kubectl, which puts it where it is told: nowhere. The default class takes it, the static volume stays free."""
    dev.kube.create(volume("published", "fsx.csi.aws.com"))
    wrong = claim("published", "default")
    del wrong["metadata"]["namespace"]
    dev.kube.create({**wrong, "metadata": {**wrong["metadata"], "namespace": "default"}})
    dev.kube.create(reader("looks-here", "published"))
    until(lambda: [each for each in said(dev, "looks-here") if '"published" not found' in each], "its pod to find none")
    (default,) = [
        each["metadata"]["name"]
        for each in dev.kube.list("storage.k8s.io/v1", "StorageClass")
        if (each["metadata"].get("annotations") or {}).get("storageclass.kubernetes.io/is-default-class") == "true"
    ]
    taken = dev.kube.get("v1", "PersistentVolumeClaim", "published", "default")
    free = dev.kube.get("v1", "PersistentVolume", "published")
    assert taken is not None
    assert free is not None
    assert taken["spec"]["storageClassName"] == default
    assert "volumeName" not in taken["spec"]
    assert free["status"]["phase"] == "Available"


def test_no_driver_of_that_name_mounts_a_volume_kj18(dev: Rehearsed, place: str) -> None:
    """The claim is bound and the pod has its node: the mount alone never ends."""
    dev.kube.create(volume("lustre", "lustre.csi.io"))
    dev.kube.create(claim("lustre", place, storageClassName="", volumeName="lustre"))
    dev.kube.create(reader("mounts", "lustre"))
    words = "driver name lustre.csi.io not found in the list of registered CSI drivers"
    until(lambda: [each for each in said(dev, "mounts") if words in each], "the kubelet to say why it does not mount")
    pod = dev.kube.get("v1", "Pod", "mounts", place)
    assert pod is not None
    assert (pod["status"]["phase"], bool(pod["spec"]["nodeName"])) == ("Pending", True)


def test_kubectl_knows_no_limits_of_a_run_kj31(dev: Rehearsed) -> None:
    words = ["run", "gpu-test", f"--image={IMAGE}", "--limits=nvidia.com/gpu=8"]
    env = os.environ | {"KUBECONFIG": str(dev.kubeconfig)}
    argv = [str(dev.session.tools["kubectl"]), *words]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "unknown flag: --limits" in done.stderr
    assert dev.kube.get("v1", "Pod", "gpu-test", "default") is None
