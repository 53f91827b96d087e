"""What the kubernetes plugin takes as an object, and what it makes of one before any cluster sees it."""

from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2

from rehearsal.plugins.kubernetes.checkpoint import checkpoint, manager_of
from rehearsal.plugins.kubernetes.objects import kind_of_token, output_secrets, without_nulls
from rehearsal.plugins.wire import SECRET, UNKNOWN, decode
from rehearsal.tests.kube.engine import Aborted, Context, Stack


def test_tokens() -> None:
    assert kind_of_token("kubernetes:core/v1:Namespace") == ("v1", "Namespace")
    assert kind_of_token("kubernetes:kubeflow.org/v1:PyTorchJob") == ("kubeflow.org/v1", "PyTorchJob")


def test_nulls_are_dropped_from_maps_only() -> None:
    assert without_nulls({"a": None, "b": [{"c": None}, None]}) == {"b": [{}, None]}


@pytest.mark.parametrize(
    ("token", "inputs", "said"),
    [
        ("kubernetes:core/v1:Pod", {"kind": "Pod"}, "apiVersion is missing"),
        ("kubernetes:core/v1:PodList", {"apiVersion": "v1", "kind": "PodList", "items": []}, "cannot be created"),
        ("kubernetes:core/v1:NodePatch", {"apiVersion": "v1", "kind": "Node"}, "not rehearsed"),
        (
            "kubernetes:core/v1:Pod",
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"annotations": {"pulumi.com/waitFor": "x"}}},
            "is neither",
        ),
    ],
)
def test_refusals_need_no_cluster(token: str, inputs: dict[str, Any], said: str) -> None:
    failures = Stack(None).check(token, "x", inputs).failures
    assert len(failures) == 1
    assert said in failures[0].reason


def test_functions_and_components_that_are_not_rehearsed_are_named() -> None:
    plugin = Stack(None).plugin
    with pytest.raises(Aborted, match="kubernetes:helm:template is not rehearsed"):
        plugin.Invoke(provider_pb2.InvokeRequest(tok="kubernetes:helm:template"), Context())
    with pytest.raises(Aborted, match=r"kubernetes:helm\.sh/v4:Chart is not rehearsed"):
        plugin.Construct(provider_pb2.ConstructRequest(type="kubernetes:helm.sh/v4:Chart"), Context())


def test_without_a_cluster_previews_show_the_inputs() -> None:
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": UNKNOWN}}
    shown = Stack(None).preview("kubernetes:core/v1:ConfigMap", "a", inputs)
    assert shown == {**inputs, "metadata": {"name": "a", "namespace": "default"}}


def test_which_kinds_live_in_namespaces_is_known_without_a_cluster() -> None:
    def namespace(api_version: str, kind: str) -> Any:
        inputs = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}}
        checked = stack.check(f"kubernetes:{api_version}:{kind}", "a", inputs).inputs
        return decode(checked)[0]["metadata"].get("namespace")

    stack = Stack(None)
    assert namespace("v1", "Namespace") is None
    assert namespace("storage.k8s.io/v1", "StorageClass") is None
    assert namespace("apps/v1", "Deployment") == "default"
    assert namespace("example.com/v1", "Queue") == "default"
    names = {"group": "example.com", "scope": "Cluster", "names": {"kind": "Queue"}}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": names}
    stack.check("kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", "q", definition)
    assert namespace("example.com/v1", "Queue") is None


def test_string_data_of_a_secret_becomes_data_that_is_kept_secret_lf27() -> None:
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"k": "plain"}}
    checked = Stack(None).check("kubernetes:core/v1:Secret", "a", inputs).inputs
    seen, secrets = decode(checked)
    assert "stringData" not in seen
    assert seen["data"] == {"k": "cGxhaW4="}
    assert secrets == {("data",)}
    unknown = {**inputs, "stringData": {"k": UNKNOWN}}
    assert "stringData" in Stack(None).check("kubernetes:core/v1:Secret", "a", unknown).inputs


def test_secret_inputs_keep_their_outputs_secret_even_if_the_server_reorders() -> None:
    live = {"apiVersion": "apps/v1", "kind": "Deployment"}
    assert output_secrets(live, {("spec", "env", 3, "value")}) == {("spec", "env")}
    assert output_secrets({"apiVersion": "v1", "kind": "Secret"}, set()) == {("data",), ("stringData",)}


def test_the_state_keeps_what_the_official_provider_reads_from_it_lf27() -> None:
    """Its Diff compares with `__inputs`; without them every field would be new to it."""
    live = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "uid": "1", "managedFields": []}}
    inputs = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"env": [{"value": "s3cret"}]}}
    state = checkpoint(live, inputs, {("spec", "env", 0, "value")}, "v1", "pulumi-kubernetes-1")
    assert state["__initialApiVersion"] == "v1"
    assert state["__fieldManager"] == "pulumi-kubernetes-1"
    assert dict(state["__inputs"]["metadata"]) == {"name": "a"}
    assert SECRET in str(state["__inputs"]["spec"]["env"])
    assert manager_of(state, inputs) == "pulumi-kubernetes-1"
