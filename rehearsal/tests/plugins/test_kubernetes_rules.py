"""The kubernetes plugin's rules that need no cluster."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2

from rehearsal.kube.client import Kube
from rehearsal.plugins.kubernetes import settings, waitfor
from rehearsal.plugins.kubernetes.awaiting import patience
from rehearsal.plugins.kubernetes.checkpoint import checkpoint, manager_of
from rehearsal.plugins.kubernetes.diff import ADD, DELETE, UPDATE, differences, response, unignored
from rehearsal.plugins.kubernetes.lifecycle import propagation
from rehearsal.plugins.kubernetes.objects import kind_of_token, output_secrets, without_nulls
from rehearsal.plugins.kubernetes.replacement import delete_first, forcing, replaced
from rehearsal.plugins.kubernetes.settings import ProviderSettings
from rehearsal.plugins.wire import SECRET, UNKNOWN, decode, encode
from rehearsal.tests.kube.engine import Aborted, Context, Resource, Stack


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


def test_what_the_environment_says_of_unreachable_clusters_holds_where_no_argument_says_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
    monkeypatch.setenv("PULUMI_K8S_SKIP_UPDATE_UNREACHABLE", "1")
    read = ProviderSettings.from_arguments({})
    assert (read.delete_unreachable, read.skip_update_unreachable) == (True, False), "any word but true is false"
    assert not ProviderSettings.from_arguments({"deleteUnreachable": "false"}).delete_unreachable


HERE, THERE = kubeconfig("https://127.0.0.1:1"), kubeconfig("https://127.0.0.1:2")


@pytest.mark.parametrize(
    ("old", "new", "replaces"),
    [
        ({"kubeconfig": HERE}, {"kubeconfig": THERE}, ["kubeconfig"]),
        ({"kubeconfig": HERE}, {"kubeconfig": HERE + "# same cluster"}, []),
        ({"kubeconfig": HERE}, {"kubeconfig": UNKNOWN}, ["kubeconfig"]),
        ({"kubeconfig": HERE}, {"kubeconfig": HERE, "context": UNKNOWN}, ["context"]),
        ({"kubeconfig": HERE, "clusterIdentifier": "a"}, {"kubeconfig": THERE, "clusterIdentifier": "a"}, []),
        ({"kubeconfig": HERE, "clusterIdentifier": "a"}, {"kubeconfig": UNKNOWN, "clusterIdentifier": "a"}, []),
        (
            {"kubeconfig": HERE, "clusterIdentifier": "a"},
            {"kubeconfig": UNKNOWN, "clusterIdentifier": UNKNOWN},
            ["clusterIdentifier", "kubeconfig"],
        ),
        (
            {"kubeconfig": HERE, "clusterIdentifier": "a"},
            {"kubeconfig": HERE, "clusterIdentifier": "b"},
            ["clusterIdentifier"],
        ),
        ({"kubeconfig": HERE}, {"kubeconfig": HERE, "clusterIdentifier": "b"}, []),
        ({"kubeconfig": HERE, "namespace": "a"}, {"kubeconfig": HERE, "namespace": "b"}, []),
    ],
)
def test_another_cluster_or_one_that_is_unknown_replaces_the_provider_lf18(
    old: dict[str, str], new: dict[str, str], replaces: list[str]
) -> None:
    """Only an identifier that is known and the same spares it."""
    differing, found = settings.changed(old, new)
    assert differing
    assert found == replaces


def test_a_cluster_with_another_authority_is_another_cluster_lf18() -> None:
    def trusting(authority: str) -> dict[str, str]:
        return {
            "kubeconfig": HERE.replace(
                "cluster: {server", f"cluster: {{certificate-authority-data: {authority}, server"
            )
        }

    assert settings.changed(trusting("YQ=="), trusting("Yg=="))[1] == ["kubeconfig"]


def test_the_engine_is_told_that_the_provider_is_replaced_lf18() -> None:
    request = provider_pb2.DiffRequest(
        old_inputs=encode({"kubeconfig": HERE, "clusterIdentifier": "a"}),
        news=encode({"kubeconfig": UNKNOWN, "clusterIdentifier": UNKNOWN}, {("kubeconfig",)}),
    )
    answer = Stack(None).plugin.DiffConfig(request, Context())
    assert answer.changes == answer.DIFF_SOME
    assert list(answer.replaces) == ["clusterIdentifier", "kubeconfig"]


def test_a_cluster_off_loopback_is_never_touched() -> None:
    with pytest.raises(ValueError, match="not on this machine's loopback"):
        ProviderSettings(kubeconfig=kubeconfig("https://ABC.gr7.us-east-1.eks.amazonaws.com")).connect()


def test_arguments_that_are_not_rehearsed_are_refused_by_name() -> None:
    given = {"renderYamlToDirectory": "/tmp/x", "enableServerSideApply": "false", "namespace": "a"}
    assert [key for key, _ in settings.check(given)] == ["renderYamlToDirectory", "enableServerSideApply"]
    assert settings.check({"enableServerSideApply": "true", "clusterIdentifier": "arn"}) == []


ACCEPTED = 'jsonpath={.status.parents[*].conditions[?@.type=="Accepted"].status}=True'
REFS = [{"type": "ResolvedRefs", "status": "True"}]


@pytest.mark.parametrize(
    ("text", "obj", "expected"),
    [
        ("condition=Ready", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, []),
        ("condition=Ready=False", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, []),
        ("condition=Ready", {}, ["condition Ready is not set, waiting for True"]),
        ("jsonpath={.status.items[0].state}=Open", {"status": {"items": [{"state": "Open"}]}}, []),
        ("jsonpath={.status['a.b']}", {"status": {"a.b": 1}}, []),
        ("jsonpath={.status.n}=2", {"status": {"n": 1}}, ["field status.n is 1, waiting for 2"]),
        (ACCEPTED, {"status": {"parents": [{"conditions": [*REFS, {"type": "Accepted", "status": "True"}]}]}}, []),
        (ACCEPTED, {"status": {"parents": [{"conditions": [*REFS, {"type": "Accepted", "status": "False"}]}]}}, 1),
        (ACCEPTED, {"status": {"parents": [{"conditions": REFS}]}}, 1),
        ('["condition=A", "condition=B"]', {"status": {"conditions": [{"type": "A", "status": "True"}]}}, 1),
    ],
)
def test_wait_for(text: str, obj: dict[str, Any], expected: Any) -> None:
    missing = waitfor.unmet(obj, waitfor.parse(text))
    assert len(missing) == expected if isinstance(expected, int) else missing == expected


@pytest.mark.parametrize("text", ["state=Open", "jsonpath=.status.state", "jsonpath={.a[?@.b > 1].c}"])
def test_wait_for_that_cannot_be_read_is_quoted(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text)) + " is neither"):
        waitfor.parse(text)


def test_a_condition_of_an_older_generation_does_not_count() -> None:
    status = {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}
    assert waitfor.unmet({"metadata": {"generation": 2}, "status": status}, ["condition=Ready"])


@pytest.mark.parametrize(("generation", "missing"), [(2, 0), (3, 1)])
def test_a_condition_says_itself_of_which_generation_it_is(generation: int, missing: int) -> None:
    """As the Gateway API's do, whose status has no generation of its own."""
    status = {"conditions": [{"type": "Programmed", "status": "True", "observedGeneration": 2}]}
    found = waitfor.unmet({"metadata": {"generation": generation}, "status": status}, ["condition=Programmed"])
    assert len(found) == missing


def test_patience_prefers_custom_timeouts_then_the_annotation() -> None:
    inputs = {"metadata": {"annotations": {"pulumi.com/timeoutSeconds": "7"}}}
    assert patience(inputs, 3) == 3
    assert patience(inputs, 0) == 7
    assert patience({}, 0) == 600
    assert patience({"metadata": {"annotations": {"pulumi.com/timeoutSeconds": "5m"}}}, 0) == 600


@pytest.mark.parametrize(
    ("stated", "expected"),
    [(None, "Foreground"), ("background", "Background"), ("Orphan", "Orphan"), ("no such word", "Foreground")],
)
def test_dependents_go_first_unless_the_program_says_otherwise_lf27(stated: str | None, expected: str) -> None:
    annotations = {"pulumi.com/deletionPropagationPolicy": stated} if stated else {}
    assert propagation({"metadata": {"annotations": annotations}}) == expected


def test_tokens() -> None:
    assert kind_of_token("kubernetes:core/v1:Namespace") == ("v1", "Namespace")
    assert kind_of_token("kubernetes:kubeflow.org/v1:PyTorchJob") == ("kubeflow.org/v1", "PyTorchJob")


def test_nulls_are_dropped_from_maps_only() -> None:
    assert without_nulls({"a": None, "b": [{"c": None}, None]}) == {"b": [{}, None]}


def test_secret_inputs_keep_their_outputs_secret_even_if_the_server_reorders() -> None:
    live = {"apiVersion": "apps/v1", "kind": "Deployment"}
    assert output_secrets(live, {("spec", "env", 3, "value")}) == {("spec", "env")}
    assert output_secrets({"apiVersion": "v1", "kind": "Secret"}, set()) == {("data",), ("stringData",)}


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
    assert shown == {**inputs, "metadata": {"name": "a", "namespace": "default"}}


def test_string_data_of_a_secret_becomes_data_that_is_kept_secret_lf27() -> None:
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"k": "plain"}}
    checked = Stack(None).check("kubernetes:core/v1:Secret", "a", inputs).inputs
    seen, secrets = decode(checked)
    assert "stringData" not in seen
    assert seen["data"] == {"k": "cGxhaW4="}
    assert secrets == {("data",)}
    unknown = {**inputs, "stringData": {"k": UNKNOWN}}
    assert "stringData" in Stack(None).check("kubernetes:core/v1:Secret", "a", unknown).inputs


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


def test_a_cluster_that_is_away_when_the_provider_starts_is_away_for_the_run_lf21() -> None:
    """A preview says nothing of it; everything else fails at once."""
    config_map = "kubernetes:core/v1:ConfigMap"
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    began = time.monotonic()
    stack = Stack(kubeconfig("https://127.0.0.1:1"))
    assert stack.preview(config_map, "a", inputs)["data"] == {"k": "v"}
    with pytest.raises(Aborted, match=r"^configured Kubernetes cluster is unreachable: unable to load schema"):
        stack.up(config_map, "a", inputs)
    stack.state["a"] = Resource(config_map, "default/a", encode(inputs), encode(inputs))
    with pytest.raises(Aborted, match=r"^failed to read resource state due to unreachable cluster"):
        stack.refresh("a")
    with pytest.raises(Aborted, match=r"^configured Kubernetes cluster is unreachable"):
        stack.delete("a")
    assert time.monotonic() - began < 5


def test_of_a_cluster_that_is_gone_a_refresh_drops_everything_and_a_delete_all_but_releases_lf21(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The flag is for what is gone for good; pulumi-kubernetes' issue 2675 is that Delete does not honour it."""
    monkeypatch.setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
    stack = Stack(kubeconfig("https://127.0.0.1:1"))
    kinds = {"cm": "kubernetes:core/v1:ConfigMap", "chart": "kubernetes:helm.sh/v3:Release"}
    for name, kind in kinds.items():
        stack.state[name] = Resource(kind, f"default/{name}", encode({}), encode({}))
    held = dict(stack.state)
    assert [stack.refresh(name) for name in kinds] == [None, None]
    stack.state |= held
    stack.delete("cm")
    with pytest.raises(Aborted, match=r"^can't delete Helm Release with unreachable cluster\."):
        stack.delete("chart")


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
