"""The kubernetes plugin against a real API server: one resource at a time, driven as the engine drives it."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.kube.client import Kube
from rehearsal.plugins.wire import UNKNOWN, encode
from tests.rehearsal.kube.control_plane import NOBODY, ControlPlane
from tests.rehearsal.kube.engine import Aborted, Resource, Stack
from tests.rehearsal.kube.fixtures import control_plane, kube, namespace

__all__ = ["control_plane", "kube", "namespace"]
pytestmark = pytest.mark.engine

CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
NAMESPACE = "kubernetes:core/v1:Namespace"
SECRET = "kubernetes:core/v1:Secret"
SERVICE = "kubernetes:core/v1:Service"
JOB = "kubernetes:batch/v1:Job"


@pytest.fixture
def stack(control_plane: ControlPlane) -> Iterator[Stack]:
    made = Stack(control_plane.kubeconfig())
    yield made
    made.destroy()


def config_map(namespace: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm", "namespace": namespace}, "data": data}


def deployment(namespace: str, replicas: int = 0, **changes: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x:1", "resources": {"limits": {"cpu": "0.5"}}, **changes}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "serve", "namespace": namespace, "labels": {"team": "a"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "serve"}},
            "template": {"metadata": {"labels": {"app": "serve"}}, "spec": {"containers": [container]}},
        },
    }


def job(namespace: str, **annotations: str) -> dict[str, Any]:
    container = {"name": "c", "image": "x:1"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "migrate", "namespace": namespace, "annotations": annotations},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }


def crd(group: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"weight": {"type": "integer"}}},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"queues.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": "queues", "singular": "queue", "kind": "Queue", "listKind": "QueueList"},
            "versions": [version],
        },
    }


def test_create_same_update_delete(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = deployment(namespace)
    assert stack.up(DEPLOYMENT, "serve", wanted) == "create"
    assert stack.state["serve"].id == f"{namespace}/serve"
    assert stack.up(DEPLOYMENT, "serve", wanted) == "same"
    wanted["metadata"]["labels"] = {"team": "b"}
    assert stack.up(DEPLOYMENT, "serve", wanted) == "update"
    live = kube.get("apps/v1", "Deployment", "serve", namespace)
    assert live is not None
    assert live["metadata"]["labels"] == {"team": "b"}
    del wanted["metadata"]["labels"]
    assert stack.up(DEPLOYMENT, "serve", wanted) == "update"
    live = kube.get("apps/v1", "Deployment", "serve", namespace)
    assert live is not None
    assert "labels" not in live["metadata"]
    stack.delete("serve")
    assert kube.get("apps/v1", "Deployment", "serve", namespace) is None


def test_outputs_are_the_live_object_without_bookkeeping(stack: Stack, namespace: str) -> None:
    stack.up(DEPLOYMENT, "serve", deployment(namespace))
    shown = stack.state["serve"].outputs
    assert shown["metadata"]["uid"]
    assert "managedFields" not in shown["metadata"]
    assert shown["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "500m"}


def test_an_existing_object_is_never_adopted(stack: Stack, kube: Kube, namespace: str) -> None:
    kube.create(config_map(namespace, a="theirs"))
    with pytest.raises(Aborted, match=r"create kubernetes:core/v1:ConfigMap cm: .*already exists.*pulumi import"):
        stack.up(CONFIG_MAP, "cm", config_map(namespace, a="ours"))
    live = kube.get("v1", "ConfigMap", "cm", namespace)
    assert live is not None
    assert live["data"] == {"a": "theirs"}


def test_autonames_are_kept_and_replacement_comes_first(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace}, "data": {"a": "1"}}
    stack.up(CONFIG_MAP, "settings", wanted)
    name = stack.state["settings"].outputs["metadata"]["name"]
    assert name.startswith("settings-")
    assert stack.up(CONFIG_MAP, "settings", wanted) == "same"
    diff = stack.diff(CONFIG_MAP, "settings", stack.check(CONFIG_MAP, "settings", {**wanted, "data": {}}).inputs)
    assert list(diff.replaces) == ["data.a"]
    assert not diff.deleteBeforeReplace


def test_changed_data_of_a_named_config_map_replaces_it_delete_first(stack: Stack, kube: Kube, namespace: str) -> None:
    stack.up(CONFIG_MAP, "cm", config_map(namespace, a="1"))
    before = stack.state["cm"].outputs["metadata"]["uid"]
    stack.preview(CONFIG_MAP, "cm", config_map(namespace, a="2"))
    assert stack.up(CONFIG_MAP, "cm", config_map(namespace, a="2")) == "delete-replace"
    assert stack.state["cm"].outputs["metadata"]["uid"] != before


def test_default_namespace_is_filled_in_for_namespaced_kinds_only(control_plane: ControlPlane, namespace: str) -> None:
    stack = Stack(control_plane.kubeconfig(), namespace=namespace)
    inputs = stack.check(CONFIG_MAP, "a", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}).inputs
    assert inputs["metadata"]["namespace"] == namespace
    inputs = stack.check(NAMESPACE, "b", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}}).inputs
    assert "namespace" not in inputs["metadata"]


def test_preview_shows_what_the_server_makes_and_hides_what_it_invents(
    stack: Stack, kube: Kube, namespace: str
) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": namespace},
        "spec": {"ports": [{"port": 80}]},
    }
    shown = stack.preview(SERVICE, "s", service)
    assert shown["spec"]["type"] == "ClusterIP"
    assert shown["spec"]["clusterIP"] == UNKNOWN
    assert shown["metadata"]["uid"] == UNKNOWN
    assert shown["status"] == UNKNOWN
    assert kube.get("v1", "Service", "s", namespace) is None


def test_a_typo_is_refused_in_the_preview(stack: Stack, namespace: str) -> None:
    wrong = deployment(namespace, imagePullPolcy="Always")
    with pytest.raises(Aborted, match="imagePullPolcy"):
        stack.preview(DEPLOYMENT, "serve", wrong)


def test_an_invalid_value_is_refused_in_the_preview(stack: Stack, namespace: str) -> None:
    wrong = deployment(namespace)
    wrong["spec"]["replicas"] = -1
    with pytest.raises(Aborted, match=r"spec\.replicas"):
        stack.preview(DEPLOYMENT, "serve", wrong)


def test_an_update_that_kubernetes_cannot_do_is_refused_in_the_preview(stack: Stack, kube: Kube) -> None:
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "example.com/x",
    }
    stack.up("kubernetes:storage.k8s.io/v1:StorageClass", "fast", storage)
    with pytest.raises(Aborted, match="replace the StorageClass"):
        stack.preview("kubernetes:storage.k8s.io/v1:StorageClass", "fast", {**storage, "reclaimPolicy": "Retain"})


def test_definition_and_object_of_it_in_one_run(stack: Stack, kube: Kube) -> None:
    definition = crd("one.example.com")
    queue = {
        "apiVersion": "one.example.com/v1",
        "kind": "Queue",
        "metadata": {"name": "research"},
        "spec": {"weight": 4},
    }
    token = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
    stack.preview(token, "queues", definition)
    assert stack.preview("kubernetes:one.example.com/v1:Queue", "research", queue)["spec"] == {"weight": 4}
    later = threading.Thread(target=stack.up, args=(token, "queues", definition))
    timer = threading.Timer(1, later.start)
    timer.start()
    stack.up("kubernetes:one.example.com/v1:Queue", "research", queue)
    timer.join()
    later.join()
    assert kube.get("one.example.com/v1", "Queue", "research") is not None
    assert stack.state["research"].id == "research"
    assert stack.up("kubernetes:one.example.com/v1:Queue", "research", queue) == "same"
    stack.delete("research")


def test_a_missing_namespace_is_fine_in_preview_and_waited_for(stack: Stack, kube: Kube) -> None:
    wanted = config_map("later", a="1")
    assert stack.preview(CONFIG_MAP, "cm", wanted)["data"] == {"a": "1"}
    later = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}}
    timer = threading.Timer(1, kube.create, args=(later,))
    timer.start()
    stack.up(CONFIG_MAP, "cm", wanted)
    timer.join()
    stack.destroy()
    kube.delete(later)


def test_refresh_is_silent_where_only_the_notation_differs(stack: Stack, namespace: str) -> None:
    wanted = deployment(namespace)
    stack.up(DEPLOYMENT, "serve", wanted)
    assert stack.refresh("serve") == wanted
    assert stack.up(DEPLOYMENT, "serve", wanted) == "same"


def test_refresh_shows_exactly_what_others_changed(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = deployment(namespace)
    stack.up(DEPLOYMENT, "serve", wanted)
    patch = {
        "metadata": {"labels": {"team": "theirs", "other": "x"}},
        "spec": {"template": {"spec": {"$setElementOrder/containers": [{"name": "c"}], "containers": [
            {"name": "c", "resources": {"limits": {"cpu": "2"}}}]}}},
    }  # fmt: skip
    strategic = "application/strategic-merge-patch+json"
    kube.patch("apps/v1", "Deployment", "serve", namespace, patch, content_type=strategic)
    seen = stack.refresh("serve")
    expected = deployment(namespace)
    expected["metadata"]["labels"] = {"team": "theirs"}
    expected["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "2"
    assert seen == expected


def test_refresh_of_a_deleted_object_says_so(stack: Stack, kube: Kube, namespace: str) -> None:
    stack.up(CONFIG_MAP, "cm", config_map(namespace, a="1"))
    kube.delete(config_map(namespace))
    assert stack.refresh("cm") is None


def test_update_of_a_deleted_object_asks_for_a_refresh(stack: Stack, kube: Kube, namespace: str) -> None:
    stack.up(DEPLOYMENT, "serve", deployment(namespace))
    kube.delete(deployment(namespace))
    with pytest.raises(Aborted, match="pulumi refresh"):
        stack.up(DEPLOYMENT, "serve", deployment(namespace, image="x:2"))


def test_string_data_of_a_secret_drifts_only_when_it_did(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "token", "namespace": namespace},
        "stringData": {"password": "hunter2"},
    }
    stack.up(SECRET, "token", wanted, secrets={("stringData",)})
    assert stack.refresh("token") == wanted
    theirs = base64.b64encode(b"other").decode()
    kube.patch("v1", "Secret", "token", namespace, {"data": {"password": theirs}})
    seen = stack.refresh("token")
    assert seen is not None
    assert seen["stringData"] == {"password": "other"}


def test_secrets_stay_secret_in_state(stack: Stack, namespace: str) -> None:
    plain = base64.b64encode(b"hunter2").decode()
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "token", "namespace": namespace},
        "stringData": {"password": "hunter2"},
    }
    stack.up(SECRET, "token", secret)
    marked = stack.state["token"].properties["data"]
    assert "1b47061264138c4ac30d75fd1eb44270" in str(marked)
    wanted = deployment(namespace, env=[{"name": "A", "value": "a"}, {"name": "T", "value": "hunter2"}])
    path = ("spec", "template", "spec", "containers", 0, "env", 1, "value")
    stack.up(DEPLOYMENT, "serve", wanted, secrets={path})
    for resource in stack.state.values():
        assert _in_clear(resource.properties, "hunter2") == []
        assert _in_clear(resource.properties, plain) == []


def _in_clear(value: Any, text: str, path: str = "") -> list[str]:
    """The paths at which the text stands outside a secret."""
    if hasattr(value, "fields"):
        if "4dabf18193072939515e22adb298388d" in value.fields:
            return []
        return [hit for key, item in value.fields.items() for hit in _in_clear(item, text, f"{path}.{key}")]
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return _in_clear(value.struct_value, text, path)
    if kind == "list_value":
        return [
            hit
            for index, item in enumerate(value.list_value.values)
            for hit in _in_clear(item, text, f"{path}[{index}]")
        ]
    return [path] if kind == "string_value" and text in value.string_value else []


def test_a_field_taken_by_others_is_a_conflict_unless_forced(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = deployment(namespace)
    stack.up(DEPLOYMENT, "serve", wanted)
    kube.patch("apps/v1", "Deployment", "serve", namespace, {"metadata": {"labels": {"team": "z"}}})
    wanted["metadata"]["labels"] = {"team": "b"}
    for attempt in (stack.preview, stack.up):
        with pytest.raises(Aborted, match=r"conflict(.|\n)*pulumi.com/patchForce"):
            attempt(DEPLOYMENT, "serve", wanted)
    wanted["metadata"]["annotations"] = {"pulumi.com/patchForce": "true"}
    assert stack.up(DEPLOYMENT, "serve", wanted) == "update"


def test_ignored_changes_leave_the_live_value_alone(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = deployment(namespace)
    stack.up(DEPLOYMENT, "serve", wanted)
    kube.patch("apps/v1", "Deployment", "serve", namespace, {"metadata": {"labels": {"team": "theirs"}}})
    wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "x:2"
    assert stack.up(DEPLOYMENT, "serve", wanted, ignore=["metadata.labels"]) == "update"
    live = kube.get("apps/v1", "Deployment", "serve", namespace)
    assert live is not None
    assert live["metadata"]["labels"] == {"team": "theirs"}


def test_a_deployment_that_cannot_start_says_which_pod_waits_for_what(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = deployment(namespace, replicas=1)
    made = threading.Thread(target=_pretend_waiting, args=(kube, namespace))
    made.start()
    with pytest.raises(Aborted) as failed:
        stack.up(DEPLOYMENT, "serve", wanted, timeout=5)
    made.join()
    text = "\n".join(failed.value.reasons)
    assert "is not ready after 5 s: 0 of 1 replicas are available" in text
    assert f"pod {namespace}/serve-" in text
    assert "ImagePullBackOff: no such image" in text
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
        "conditions": [{"type": "PodScheduled", "status": "True"}],
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
    with pytest.raises(Aborted, match="not ready after 1 s"):
        stack.up(DEPLOYMENT, "serve", wanted, timeout=0)
    wanted["metadata"]["annotations"] = {"pulumi.com/skipAwait": "true"}
    assert stack.up(DEPLOYMENT, "serve", wanted) == "update"


def test_a_service_without_pods_is_not_ready(stack: Stack, kube: Kube, namespace: str) -> None:
    service: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": namespace},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "nobody"}},
    }
    with pytest.raises(Aborted) as failed:
        stack.up(SERVICE, "s", service, timeout=1)
    assert any("does not target any Pods" in reason for reason in failed.value.reasons)
    assert "no pod has the labels app=nobody" in failed.value.reasons
    service["spec"]["clusterIP"] = "None"
    assert stack.up(SERVICE, "s", service) == "delete-replace"


def test_wait_for_a_field(stack: Stack, kube: Kube) -> None:
    stack.up("kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", "queues", crd("two.example.com"))
    queue = {
        "apiVersion": "two.example.com/v1",
        "kind": "Queue",
        "metadata": {"name": "q", "annotations": {"pulumi.com/waitFor": "jsonpath={.status.state}=Open"}},
        "spec": {"weight": 1},
    }
    with pytest.raises(Aborted, match=r"field status\.state is not set"):
        stack.up("kubernetes:two.example.com/v1:Queue", "q", queue, timeout=1)
    kube.patch("two.example.com/v1", "Queue", "q", None, {"status": {"state": "Open"}})
    assert stack.up("kubernetes:two.example.com/v1:Queue", "q", queue) == "update"


def test_a_claim_without_its_class_says_so(stack: Stack, namespace: str) -> None:
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
    with pytest.raises(Aborted, match="there is no StorageClass 'absent'"):
        stack.up("kubernetes:core/v1:PersistentVolumeClaim", "data", claim, timeout=1)


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
    with pytest.raises(Aborted, match="has not completed"):
        stack.up(JOB, "migrate", wanted, timeout=1)
    before = stack.state["migrate"].outputs["metadata"]["uid"]
    with pytest.raises(Aborted, match="has not completed"):
        stack.up(JOB, "migrate", wanted, timeout=1)
    assert stack.state["migrate"].outputs["metadata"]["uid"] != before
    del wanted["metadata"]["annotations"]
    inputs = stack.check(JOB, "migrate", wanted).inputs
    assert not stack.diff(JOB, "migrate", inputs).replaces


def test_delete_waits_and_names_the_finalizers(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = config_map(namespace, a="1")
    wanted["metadata"]["finalizers"] = ["example.com/hold"]
    stack.up(CONFIG_MAP, "cm", wanted)
    with pytest.raises(Aborted, match=r"still being deleted after 1 s; finalizers example.com/hold"):
        stack.delete("cm", timeout=1)
    kube.patch("v1", "ConfigMap", "cm", namespace, {"metadata": {"finalizers": None}})


def test_delete_of_something_gone_or_made_anew_is_fine(stack: Stack, kube: Kube, namespace: str) -> None:
    stack.up(CONFIG_MAP, "cm", config_map(namespace, a="1"))
    kube.delete(config_map(namespace))
    kube.create(config_map(namespace, a="theirs"))
    stack.delete("cm")
    assert kube.get("v1", "ConfigMap", "cm", namespace) is not None


def test_import_takes_the_object_as_inputs(stack: Stack, kube: Kube, namespace: str) -> None:
    kube.create(config_map(namespace, a="1"))
    stack.state["cm"] = Resource(CONFIG_MAP, f"{namespace}/cm", encode({}), encode({}))
    assert stack.refresh("cm") == config_map(namespace, a="1")
    assert stack.up(CONFIG_MAP, "cm", config_map(namespace, a="1")) == "same"


def test_creation_rides_over_an_api_server_that_is_away(
    stack: Stack, control_plane: ControlPlane, kube: Kube, namespace: str
) -> None:
    stack.preview(CONFIG_MAP, "cm", config_map(namespace, a="1"))
    control_plane.stop_api_server()
    restart = threading.Timer(5, control_plane.start_api_server)
    restart.start()
    started = time.monotonic()
    stack.up(CONFIG_MAP, "cm", config_map(namespace, a="1"))
    restart.join()
    assert time.monotonic() - started >= 4
    assert kube.patient(10).get("v1", "ConfigMap", "cm", namespace) is not None


def test_credentials_that_are_refused_fail_plainly_and_at_once(control_plane: ControlPlane, namespace: str) -> None:
    started = time.monotonic()
    stack = Stack(control_plane.kubeconfig(token="stale"))
    assert stack.preview(CONFIG_MAP, "cm", config_map(namespace, a="1"))["data"] == {"a": "1"}
    with pytest.raises(Aborted, match=r"asked for the client to provide credentials.*access entry"):
        stack.up(CONFIG_MAP, "cm", config_map(namespace, a="1"))
    assert time.monotonic() - started < 10


def test_a_user_without_rights_is_named(control_plane: ControlPlane, namespace: str) -> None:
    stack = Stack(control_plane.kubeconfig(token=NOBODY))
    with pytest.raises(Aborted, match='User "nobody" cannot'):
        stack.up(CONFIG_MAP, "cm", config_map(namespace, a="1"))
