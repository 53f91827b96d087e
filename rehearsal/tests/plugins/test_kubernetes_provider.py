"""The kubernetes plugin's provider: its arguments, which cluster it means, and one that is away."""

import time

import pytest
from pulumi.runtime.proto import provider_pb2

from rehearsal.kube.client import Kube
from rehearsal.plugins.kubernetes import settings
from rehearsal.plugins.kubernetes.settings import ProviderSettings
from rehearsal.plugins.wire import UNKNOWN, encode
from rehearsal.tests.kube.engine import Aborted, Context, Resource, Stack


def kubeconfig(server: str) -> str:
    return f"""
current-context: a
contexts: [{{name: a, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: {server}}}}}]
users: [{{name: u, user: {{token: t}}}}]
"""


HERE, THERE = kubeconfig("https://127.0.0.1:1"), kubeconfig("https://127.0.0.1:2")


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


def test_arguments_that_are_not_rehearsed_are_refused_by_name() -> None:
    given = {"renderYamlToDirectory": "/tmp/x", "enableServerSideApply": "false", "namespace": "a"}
    assert [key for key, _ in settings.check(given)] == ["renderYamlToDirectory", "enableServerSideApply"]
    assert settings.check({"enableServerSideApply": "true", "clusterIdentifier": "arn"}) == []


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


def test_without_a_kubeconfig_nothing_is_created() -> None:
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    with pytest.raises(Aborted, match="no kubeconfig"):
        Stack(None).up("kubernetes:core/v1:ConfigMap", "a", inputs)


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
