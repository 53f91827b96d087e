"""The kubernetes plugin against a real API server: what others changed, what stays secret, whose field it is."""

import base64
from typing import Any

import pytest

from rehearsal.kube.client import Kube
from rehearsal.tests.kube.engine import Aborted, Stack
from rehearsal.tests.plugins.kubernetes_objects import (
    CONFIG_MAP,
    DEPLOYMENT,
    SECRET,
    config_map,
    deployment,
)

pytestmark = pytest.mark.engine


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
    with pytest.raises(Aborted, match=r'failed: .*"serve" not found\nunable to get cluster state: '):
        stack.up(DEPLOYMENT, "serve", deployment(namespace, image="x:2"))


def test_string_data_of_a_secret_drifts_only_when_it_did(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "token", "namespace": namespace},
        "stringData": {"password": "hunter2"},
    }
    stack.up(SECRET, "token", wanted, secrets={("stringData",)})
    seen = stack.refresh("token")
    assert seen is not None
    assert seen["data"] == {"password": base64.b64encode(b"hunter2").decode()}
    assert stack.up(SECRET, "token", wanted) == "same"
    theirs = base64.b64encode(b"other").decode()
    kube.patch("v1", "Secret", "token", namespace, {"data": {"password": theirs}})
    seen = stack.refresh("token")
    assert seen is not None
    assert seen["data"] == {"password": theirs}


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


def manage(kube: Kube, namespace: str, manager: str, labels: dict[str, str | None]) -> None:
    path = kube.path("apps/v1", "Deployment", namespace, "serve")
    merge = "application/merge-patch+json"
    kube.call("PATCH", path, {"metadata": {"labels": labels}}, merge, fieldManager=manager)


def managers(kube: Kube, namespace: str) -> list[tuple[str, str]]:
    live = kube.get("apps/v1", "Deployment", "serve", namespace)
    assert live is not None
    entries = live["metadata"]["managedFields"]
    return sorted((each["manager"], each["operation"]) for each in entries if not each.get("subresource"))


def test_a_creation_is_a_post_and_the_first_update_applies_lf24(stack: Stack, kube: Kube, namespace: str) -> None:
    """What it owns from then on includes the server's defaults."""
    stack.up(DEPLOYMENT, "serve", deployment(namespace))
    assert managers(kube, namespace) == [("pulumi-kubernetes", "Update")]
    wanted = deployment(namespace, image="x:2")
    assert stack.up(DEPLOYMENT, "serve", wanted) == "update"
    [(manager, operation)] = managers(kube, namespace)
    assert (manager[:18], operation) == ("pulumi-kubernetes-", "Apply")
    assert stack.state["serve"].properties["__fieldManager"] == manager


def test_a_field_taken_by_others_is_a_conflict_unless_forced_lf24(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = deployment(namespace)
    stack.up(DEPLOYMENT, "serve", wanted)
    manage(kube, namespace, "controller", {"team": "z"})
    wanted["metadata"]["labels"] = {"team": "b"}
    stack.preview(DEPLOYMENT, "serve", wanted)
    with pytest.raises(Aborted, match=r'"pulumi-kubernetes-\w+" had an apply conflict: .*conflict with "controller"'):
        stack.up(DEPLOYMENT, "serve", wanted)
    wanted["metadata"]["annotations"] = {"pulumi.com/patchForce": "true"}
    assert stack.up(DEPLOYMENT, "serve", wanted) == "update"


def test_after_the_first_update_a_preview_fails_on_what_up_takes_back_lf24(
    stack: Stack, kube: Kube, namespace: str
) -> None:
    stack.up(DEPLOYMENT, "serve", deployment(namespace))
    stack.up(DEPLOYMENT, "serve", deployment(namespace, image="x:2"))
    manage(kube, namespace, "kubectl-label", {"team": "z"})
    wanted = deployment(namespace, image="x:3")
    with pytest.raises(Aborted, match='conflict with "kubectl-label"'):
        stack.preview(DEPLOYMENT, "serve", wanted)
    assert stack.up(DEPLOYMENT, "serve", wanted) == "update"
    assert [name[:18] for name, _ in managers(kube, namespace)] == ["pulumi-kubernetes-"]


def test_ignored_changes_leave_the_live_value_alone(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = deployment(namespace)
    stack.up(DEPLOYMENT, "serve", wanted)
    manage(kube, namespace, "controller", {"team": "theirs"})
    wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "x:2"
    assert stack.up(DEPLOYMENT, "serve", wanted, ignore=["metadata.labels"]) == "update"
    live = kube.get("apps/v1", "Deployment", "serve", namespace)
    assert live is not None
    assert live["metadata"]["labels"] == {"team": "theirs"}
