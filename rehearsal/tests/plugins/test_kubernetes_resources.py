"""The kubernetes plugin against a real API server: one resource at a time, from its preview to its end."""

import re
import threading
import time

import pytest

from rehearsal.kube.client import Kube
from rehearsal.plugins.wire import encode
from rehearsal.tests.kube.control_plane import ControlPlane
from rehearsal.tests.kube.engine import Aborted, Resource, Stack
from rehearsal.tests.plugins.kubernetes_objects import (
    CONFIG_MAP,
    DEPLOYMENT,
    NAMESPACE,
    SERVICE,
    config_map,
    crd,
    deployment,
)

pytestmark = pytest.mark.engine


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
    stack.preview(CONFIG_MAP, "cm", config_map(namespace, a="ours"))
    urn = 'resource "urn:pulumi:dev::test::kubernetes:core/v1:ConfigMap::cm"'
    words = f'{urn} was not successfully created by the Kubernetes API server: configmaps "cm" already exists\n'
    with pytest.raises(Aborted, match=f"^{re.escape(words)}(.|\n)*pulumi import"):
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


def test_preview_shows_what_the_server_makes(stack: Stack, kube: Kube, namespace: str) -> None:
    """Its uid and address are those of the dry run: the real ones will be others."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": namespace},
        "spec": {"ports": [{"port": 80}]},
    }
    shown = stack.preview(SERVICE, "s", service)
    assert shown["spec"]["type"] == "ClusterIP"
    assert shown["spec"]["clusterIP"]
    assert "status" not in shown
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
    with pytest.raises(Aborted, match=r"\"fast\" failed to fully initialize.*reclaimPolicy: .*field is immutable"):
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


def test_delete_waits_for_finalizers(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = config_map(namespace, a="1")
    wanted["metadata"]["finalizers"] = ["example.com/hold"]
    stack.up(CONFIG_MAP, "cm", wanted)
    with pytest.raises(Aborted, match=r"^timed out waiting for the condition$"):
        stack.delete("cm", timeout=1)
    kube.patch("v1", "ConfigMap", "cm", namespace, {"metadata": {"finalizers": None}})


def test_dependents_go_before_their_owner_lf27(stack: Stack, kube: Kube, namespace: str) -> None:
    """Deletion ends with the ReplicaSet gone, not before."""
    stack.up(DEPLOYMENT, "serve", deployment(namespace))
    assert kube.list("apps/v1", "ReplicaSet", namespace)
    stack.delete("serve")
    assert kube.list("apps/v1", "ReplicaSet", namespace) == []


def test_delete_of_something_gone_is_fine_and_takes_what_was_made_anew(
    stack: Stack, kube: Kube, namespace: str
) -> None:
    """It goes by name: somebody else's object of that name goes too."""
    stack.up(CONFIG_MAP, "cm", config_map(namespace, a="1"))
    kube.delete(config_map(namespace))
    stack.delete("cm")
    stack.up(CONFIG_MAP, "cm", config_map(namespace, a="1"))
    kube.delete(config_map(namespace))
    kube.create(config_map(namespace, a="theirs"))
    stack.delete("cm")
    assert kube.get("v1", "ConfigMap", "cm", namespace) is None


def test_import_takes_the_object_as_inputs(stack: Stack, kube: Kube, namespace: str) -> None:
    kube.create(config_map(namespace, a="1"))
    stack.state["cm"] = Resource(CONFIG_MAP, f"{namespace}/cm", encode({}), encode({}))
    assert stack.refresh("cm") == config_map(namespace, a="1")
    assert stack.up(CONFIG_MAP, "cm", config_map(namespace, a="1")) == "same"


def test_an_api_server_that_dies_fails_what_is_under_way_at_once_lf21(
    stack: Stack, control_plane: ControlPlane, kube: Kube, namespace: str
) -> None:
    """Reachability is asked once: who was configured while it was away stays without it, the others go on."""
    stack.up(CONFIG_MAP, "cm", config_map(namespace, a="1"))
    control_plane.stop_api_server()
    started = time.monotonic()
    wanted = config_map(namespace, a="1")
    wanted["metadata"]["labels"] = {"team": "b"}
    with pytest.raises(Aborted, match=r"does not answer(.|\n)*unable to get cluster state"):
        stack.up(CONFIG_MAP, "cm", wanted)
    late = Stack(control_plane.kubeconfig())
    assert late.preview(CONFIG_MAP, "other", config_map(namespace, a="1"))["data"] == {"a": "1"}
    assert time.monotonic() - started < 5
    control_plane.start_api_server()
    with pytest.raises(Aborted, match=r"^configured Kubernetes cluster is unreachable: unable to load schema"):
        late.up(CONFIG_MAP, "other", config_map(namespace, a="1"))
    assert stack.up(CONFIG_MAP, "cm", wanted) == "update"


def test_credentials_that_are_refused_fail_plainly_and_at_once_lf25(
    control_plane: ControlPlane, namespace: str
) -> None:
    started = time.monotonic()
    stack = Stack(control_plane.kubeconfig(token="stale"))
    assert stack.preview(CONFIG_MAP, "cm", config_map(namespace, a="1"))["data"] == {"a": "1"}
    words = "cluster is unreachable: .*the server has asked for the client to provide credentials"
    with pytest.raises(Aborted, match=words):
        stack.up(CONFIG_MAP, "cm", config_map(namespace, a="1"))
    assert time.monotonic() - started < 10


def test_a_user_without_rights_is_named(control_plane: ControlPlane, namespace: str) -> None:
    stack = Stack(control_plane.kubeconfig(token=control_plane.token("nobody")))
    with pytest.raises(Aborted, match='User "system:serviceaccount:default:nobody" cannot'):
        stack.up(CONFIG_MAP, "cm", config_map(namespace, a="1"))
