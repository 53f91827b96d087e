"""Manifests that a program decodes before there is a cluster."""

from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2

from rehearsal.plugins.kubernetes.checking import check
from rehearsal.plugins.wire import decode, encode
from rehearsal.tests.kube.engine import Aborted, Context, Stack

MANIFEST = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {since: 2026-01-05, sign: =}}
---
# nothing but a comment
---
apiVersion: v1
kind: ""
---
{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b", "namespace": "own"}}
"""


def invoked(**arguments: str) -> Any:
    request = provider_pb2.InvokeRequest(tok="kubernetes:yaml:decode", args=encode(arguments))
    answer = Stack(None).plugin.Invoke(request, Context())
    return decode(getattr(answer, "return"))[0]["result"]


def test_manifests_are_decoded_before_there_is_a_cluster() -> None:
    first, second = invoked(text=MANIFEST)
    assert first["metadata"] == {"name": "a", "annotations": {"since": "2026-01-05", "sign": "="}}
    assert second["metadata"]["namespace"] == "own"
    assert [each["metadata"]["namespace"] for each in invoked(text=MANIFEST, defaultNamespace="d")] == ["d", "own"]


def test_fields_without_a_word_in_sdks_are_called_as_the_cluster_does() -> None:
    """A definition's schema, as SDKs write it."""
    schema = {"x_kubernetes_preserve_unknown_fields": True, "properties": {"x": [{"x_kubernetes_list_type": "set"}]}}
    inputs: dict[str, Any] = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    inputs |= {"metadata": {"name": "things.example.com"}, "spec": {"schema": schema, "x_kubernetes_other": 1}}
    kind = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
    request = provider_pb2.CheckRequest(type=kind, name="a", news=encode(inputs), olds=encode({}))
    checked, _ = decode(check(request, None).inputs)
    assert checked["spec"] == {
        "schema": {
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"x": [{"x-kubernetes-list-type": "set"}]},
        },
        "x_kubernetes_other": 1,
    }


@pytest.mark.parametrize(("text", "said"), [("{", "not valid YAML"), ("- 1", "holds list where an object")])
def test_what_is_no_manifest_is_told(text: str, said: str) -> None:
    with pytest.raises(Aborted, match=said):
        invoked(text=text)
