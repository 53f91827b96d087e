"""The kubernetes plugin's rules that need no cluster."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2

from rehearsal.kube.client import Kube
from rehearsal.plugins.kubernetes import settings, waitfor
from rehearsal.plugins.kubernetes.awaiting import patience
from rehearsal.plugins.kubernetes.diff import ADD, DELETE, UPDATE, differences, response, unignored
from rehearsal.plugins.kubernetes.objects import foreseen, kind_of_token, output_secrets, without_nulls
from rehearsal.plugins.kubernetes.readiness import judge
from rehearsal.plugins.kubernetes.replacement import delete_first, forcing, replaced
from rehearsal.plugins.kubernetes.settings import ProviderSettings
from rehearsal.plugins.servicer import PluginError
from rehearsal.plugins.wire import UNKNOWN, encode
from tests.rehearsal.kube.engine import Aborted, Context, Stack

NO_CLUSTER: Any = None


def kubeconfig(server: str) -> str:
    return f"""
current-context: a
contexts: [{{name: a, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: {server}}}}}]
users: [{{name: u, user: {{token: t}}}}]
"""


def test_differences_name_the_leaves() -> None:
    old = {"a": 1, "b": {"c": [1, 2], "d": "x"}, "e": None}
    new = {"a": True, "b": {"c": [1, 3, 4]}, "f": 1}
    assert differences(old, new) == {
        ("a",): UPDATE,
        ("b", "c", 1): UPDATE,
        ("b", "c", 2): ADD,
        ("b", "d"): DELETE,
        ("e",): DELETE,
        ("f",): ADD,
    }
    assert differences(old, old) == {}


def test_ignored_paths_cover_what_lies_below_but_no_namesakes() -> None:
    changes = {("spec", "replicas"): UPDATE, ("spec", "replicasMax"): UPDATE, ("spec", "t", 0, "x"): UPDATE}
    assert list(unignored(changes, ["spec.replicas", "spec.t"])) == [("spec", "replicasMax")]


def test_response_quotes_keys_with_dots_and_marks_replacements() -> None:
    answer = response({("metadata", "labels", "a.b/c"): ADD, ("data", "k"): UPDATE}, [("data", "k")], True)
    assert set(answer.detailedDiff) == {'metadata.labels["a.b/c"]', "data.k"}
    assert list(answer.replaces) == ["data.k"]
    assert answer.changes == answer.DIFF_SOME


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "expected"),
    [
        ("apps/v1", "Deployment", ("spec", "selector", "matchLabels", "app"), True),
        ("apps/v1", "Deployment", ("spec", "replicas"), False),
        ("batch/v1", "Job", ("spec", "template", "spec", "containers", 0, "image"), True),
        ("batch/v1", "Job", ("spec", "suspend"), False),
        ("v1", "ConfigMap", ("data", "a"), True),
        ("v1", "Secret", ("stringData", "a"), True),
        ("v1", "PersistentVolume", ("spec", "csi", "volumeHandle"), True),
        ("v1", "PersistentVolume", ("spec", "capacity", "storage"), False),
        ("v1", "PersistentVolumeClaim", ("spec", "storageClassName"), True),
        ("v1", "Service", ("spec", "ports", 0, "port"), False),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", ("roleRef", "name"), True),
        ("example.com/v1", "Deployment", ("spec", "selector"), False),
        ("example.com/v1", "Anything", ("metadata", "name"), True),
        ("example.com/v1", "Anything", ("metadata",), True),
    ],
)
def test_which_changes_replace(api_version: str, kind: str, path: tuple[str | int, ...], expected: bool) -> None:
    fields = forcing({"apiVersion": api_version, "kind": kind}, ProviderSettings())
    assert bool(replaced([path], fields)) is expected


def test_mutable_settings_spare_config_maps_and_secrets_unless_immutable() -> None:
    mutable = ProviderSettings(config_map_mutable=True, secret_mutable=True)
    for kind, field in (("ConfigMap", "data"), ("Secret", "stringData")):
        obj: dict[str, Any] = {"apiVersion": "v1", "kind": kind}
        assert not replaced([(field, "a")], forcing(obj, mutable))
        assert replaced([(field, "a")], forcing({**obj, "immutable": True}, mutable))


def test_delete_first_only_when_the_program_fixes_the_name() -> None:
    def obj(name: str, **annotations: str) -> dict[str, Any]:
        return {"kind": "Job", "metadata": {"name": name, "namespace": "n", "annotations": annotations}}

    assert delete_first(obj("a"), obj("a"))
    assert not delete_first(obj("a"), obj("b"))
    assert not delete_first(obj("a"), obj("a", **{"pulumi.com/autonamed": "true"}))


def test_provider_arguments_arrive_as_text() -> None:
    read = ProviderSettings.from_arguments({"enablePatchForce": "true", "deleteUnreachable": "false", "namespace": ""})
    assert (read.patch_force, read.delete_unreachable, read.namespace) == (True, False, None)


@pytest.mark.parametrize(
    ("old", "new", "replaces"),
    [
        ({"kubeconfig": kubeconfig("https://127.0.0.1:1")}, {"kubeconfig": kubeconfig("https://127.0.0.1:2")}, True),
        ({"kubeconfig": kubeconfig("https://127.0.0.1:1")}, {"kubeconfig": UNKNOWN}, False),
        ({"kubeconfig": UNKNOWN}, {"kubeconfig": kubeconfig("https://127.0.0.1:2")}, False),
        (
            {"kubeconfig": kubeconfig("https://127.0.0.1:1"), "clusterIdentifier": "a"},
            {"kubeconfig": kubeconfig("https://127.0.0.1:2"), "clusterIdentifier": "a"},
            False,
        ),
        ({"kubeconfig": "x", "clusterIdentifier": "a"}, {"kubeconfig": "x", "clusterIdentifier": "b"}, True),
        ({"kubeconfig": "x", "clusterIdentifier": "a"}, {"kubeconfig": "x", "clusterIdentifier": UNKNOWN}, False),
        ({"kubeconfig": "x"}, {"kubeconfig": "x", "clusterIdentifier": "b"}, False),
        ({"kubeconfig": "x", "namespace": "a"}, {"kubeconfig": "x", "namespace": "b"}, False),
    ],
)
def test_only_another_cluster_replaces_the_provider(old: dict[str, str], new: dict[str, str], replaces: bool) -> None:
    differing, found = settings.changed(old, new)
    assert differing
    assert bool(found) is replaces


def test_a_cluster_off_loopback_is_never_touched() -> None:
    with pytest.raises(ValueError, match="not on this machine's loopback"):
        ProviderSettings(kubeconfig=kubeconfig("https://ABC.gr7.us-east-1.eks.amazonaws.com")).connect()


def test_arguments_that_are_not_rehearsed_are_refused_by_name() -> None:
    given = {"renderYamlToDirectory": "/tmp/x", "enableServerSideApply": "false", "namespace": "a"}
    assert [key for key, _ in settings.check(given)] == ["renderYamlToDirectory", "enableServerSideApply"]
    assert settings.check({"enableServerSideApply": "true", "clusterIdentifier": "arn"}) == []


@pytest.mark.parametrize(
    ("text", "obj", "expected"),
    [
        ("condition=Ready", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, []),
        ("condition=Ready=False", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, []),
        ("condition=Ready", {}, ["condition Ready is not set, waiting for True"]),
        ("jsonpath={.status.items[0].state}=Open", {"status": {"items": [{"state": "Open"}]}}, []),
        ("jsonpath={.status['a.b']}", {"status": {"a.b": 1}}, []),
        ("jsonpath={.status.n}=2", {"status": {"n": 1}}, ["field status.n is 1, waiting for 2"]),
        ('["condition=A", "condition=B"]', {"status": {"conditions": [{"type": "A", "status": "True"}]}}, 1),
    ],
)
def test_wait_for(text: str, obj: dict[str, Any], expected: Any) -> None:
    missing = waitfor.unmet(obj, waitfor.parse(text))
    assert len(missing) == expected if isinstance(expected, int) else missing == expected


def test_wait_for_that_cannot_be_read_is_quoted() -> None:
    with pytest.raises(ValueError, match="'state=Open' is neither"):
        waitfor.parse("state=Open")


DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 2}, "spec": {"replicas": 2}}
ROLLED = {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}


@pytest.mark.parametrize(
    ("status", "ready"),
    [
        (ROLLED, True),
        ({**ROLLED, "observedGeneration": 1}, False),
        ({**ROLLED, "replicas": 3}, False),
        ({**ROLLED, "updatedReplicas": 1}, False),
        ({**ROLLED, "availableReplicas": 1}, False),
        ({}, False),
    ],
)
def test_when_a_deployment_is_ready(status: dict[str, int], ready: bool) -> None:
    assert judge({}, {**DEPLOYMENT, "status": status}, NO_CLUSTER).ready is ready


def test_a_deployment_refused_by_admission_says_so() -> None:
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota exceeded"}
    verdict = judge({}, {**DEPLOYMENT, "status": {"conditions": [condition]}}, NO_CLUSTER)
    assert "FailedCreate: quota exceeded" in verdict.missing


def test_a_failed_job_is_not_waited_for() -> None:
    failed = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "too often"}
    verdict = judge({}, {"apiVersion": "batch/v1", "kind": "Job", "status": {"conditions": [failed]}}, NO_CLUSTER)
    assert verdict.failed
    assert "BackoffLimitExceeded: too often" in verdict.missing


def test_custom_conditions_take_the_place_of_the_kinds_rule() -> None:
    inputs = {"metadata": {"annotations": {"pulumi.com/waitFor": "condition=Available"}}}
    available = {"conditions": [{"type": "Available", "status": "True"}]}
    assert judge(inputs, {**DEPLOYMENT, "status": available}, NO_CLUSTER).ready
    inputs["metadata"]["annotations"]["pulumi.com/skipAwait"] = "true"
    assert judge(inputs, {**DEPLOYMENT, "status": {}}, NO_CLUSTER).ready


def test_patience_prefers_custom_timeouts_then_the_annotation() -> None:
    inputs = {"metadata": {"annotations": {"pulumi.com/timeoutSeconds": "7"}}}
    assert patience(inputs, 3, DEPLOYMENT) == 3
    assert patience(inputs, 0, DEPLOYMENT) == 7
    assert patience({}, 0, DEPLOYMENT) == 600
    with pytest.raises(PluginError, match="write a number of seconds"):
        patience({"metadata": {"annotations": {"pulumi.com/timeoutSeconds": "5m"}}}, 0, DEPLOYMENT)


def test_tokens() -> None:
    assert kind_of_token("kubernetes:core/v1:Namespace") == ("v1", "Namespace")
    assert kind_of_token("kubernetes:kubeflow.org/v1:PyTorchJob") == ("kubeflow.org/v1", "PyTorchJob")


def test_nulls_are_dropped_from_maps_only() -> None:
    assert without_nulls({"a": None, "b": [{"c": None}, None]}) == {"b": [{}, None]}


def test_secret_inputs_keep_their_outputs_secret_even_if_the_server_reorders() -> None:
    live = {"apiVersion": "apps/v1", "kind": "Deployment"}
    assert output_secrets(live, {("spec", "env", 3, "value")}) == {("spec", "env")}
    assert output_secrets({"apiVersion": "v1", "kind": "Secret"}, set()) == {("data",), ("stringData",)}


def test_foreseen_hides_a_chosen_cluster_ip_only_if_the_server_chose_it() -> None:
    service = {"kind": "Service", "metadata": {}, "spec": {"clusterIP": "172.20.0.9"}}
    assert foreseen(service, {})["spec"]["clusterIP"] == UNKNOWN
    assert foreseen(service, {"spec": {"clusterIP": "172.20.0.9"}})["spec"]["clusterIP"] == "172.20.0.9"


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


def test_without_a_cluster_previews_show_the_inputs() -> None:
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": UNKNOWN}}
    shown = Stack(None).preview("kubernetes:core/v1:ConfigMap", "a", inputs)
    assert shown["data"] == {"k": UNKNOWN}
    assert shown["metadata"] == {
        "name": "a",
        **dict.fromkeys(("uid", "resourceVersion", "creationTimestamp", "generation"), UNKNOWN),
    }


def test_without_a_kubeconfig_nothing_is_created() -> None:
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    with pytest.raises(Aborted, match="no kubeconfig"):
        Stack(None).up("kubernetes:core/v1:ConfigMap", "a", inputs)


def test_functions_and_components_that_are_not_rehearsed_are_named() -> None:
    plugin = Stack(None).plugin
    with pytest.raises(Aborted, match="kubernetes:helm:template is not rehearsed"):
        plugin.Invoke(provider_pb2.InvokeRequest(tok="kubernetes:helm:template"), Context())
    with pytest.raises(Aborted, match=r"kubernetes:helm\.sh/v4:Chart is not rehearsed"):
        plugin.Construct(provider_pb2.ConstructRequest(type="kubernetes:helm.sh/v4:Chart"), Context())
    answer = plugin.Invoke(
        provider_pb2.InvokeRequest(tok="kubernetes:yaml:decode", args=encode({"text": "a: 1\n---\nb: 2\n"})), Context()
    )
    assert len(getattr(answer, "return")["result"]) == 2


def test_kubeconfig_is_never_contacted_by_check_config() -> None:
    plugin = Stack(None).plugin
    news = encode({"kubeconfig": kubeconfig("https://127.0.0.1:1")}, {("kubeconfig",)})
    request = provider_pb2.CheckRequest(news=news)
    answer = plugin.CheckConfig(request, Context())
    assert not answer.failures
    assert "1b47061264138c4ac30d75fd1eb44270" in str(answer.inputs)


def test_kube_is_what_the_settings_connect_to() -> None:
    kube = ProviderSettings(kubeconfig=kubeconfig("https://127.0.0.1:6443")).connect()
    assert isinstance(kube, Kube)
    assert kube.server == "https://127.0.0.1:6443"
