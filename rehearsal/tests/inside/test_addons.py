"""EKS add-ons: defaults, configuration values, tolerations."""

from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.eks import addonobjects
from rehearsal.eks.addons import Addons


def pod(addon: str, kind: str, **values: Any) -> dict[str, Any]:
    made = [each for each in addonobjects.objects(addon, "v1", values) if each["kind"] == kind]
    spec: dict[str, Any] = made[0]["spec"]["template"]["spec"]
    return spec


@pytest.mark.parametrize(
    "addon", ["vpc-cni", "kube-proxy", "eks-pod-identity-agent", "aws-efs-csi-driver", "aws-fsx-csi-driver"]
)
def test_node_daemons_run_on_tainted_nodes(addon: str) -> None:
    assert pod(addon, "DaemonSet")["tolerations"] == [{"operator": "Exists"}]


def test_coredns_does_not_tolerate_gpu_nodes() -> None:
    keys = {each["key"] for each in pod("coredns", "Deployment")["tolerations"]}
    assert keys == {"node-role.kubernetes.io/control-plane", "CriticalAddonsOnly"}


def test_configured_tolerations_replace_the_defaults() -> None:
    only = [{"key": "a", "operator": "Exists"}]
    assert pod("coredns", "Deployment", tolerations=only)["tolerations"] == only
    assert pod("vpc-cni", "DaemonSet", tolerations=only)["tolerations"] == only


def test_a_csi_node_plugin_can_be_kept_off_tainted_nodes() -> None:
    tolerated = pod("aws-fsx-csi-driver", "DaemonSet", node={"tolerateAllTaints": False})["tolerations"]
    assert {"operator": "Exists"} not in tolerated


def test_a_csi_driver_is_known_to_kubernetes() -> None:
    made = addonobjects.objects("aws-fsx-csi-driver", "v1", {})
    driver = next(each for each in made if each["kind"] == "CSIDriver")
    assert driver["metadata"]["name"] == "fsx.csi.aws.com"
    assert driver["spec"]["attachRequired"] is False


def test_the_driver_of_efs_reaches_mount_targets_from_the_host_by_its_own_plugin() -> None:
    spec = pod("aws-efs-csi-driver", "DaemonSet")
    assert spec["hostNetwork"] is True
    assert spec["containers"][0]["name"] == "efs-plugin"
    only = [{"key": "a", "operator": "Exists"}]
    assert {"operator": "Exists"} not in pod("aws-efs-csi-driver", "DaemonSet", node={"tolerations": only})[
        "tolerations"
    ]


def test_configuration_values_are_json_or_yaml() -> None:
    assert addonobjects.configuration('{"replicaCount": 3}') == {"replicaCount": 3}
    assert addonobjects.configuration("replicaCount: 3\n") == {"replicaCount": 3}
    assert addonobjects.configuration(None) == {}
    with pytest.raises(addonobjects.ConfigurationError):
        addonobjects.configuration("[1, 2]")
    with pytest.raises(addonobjects.ConfigurationError):
        addonobjects.configuration('{"a": ')


def test_the_controller_of_snapshots_brings_their_kinds() -> None:
    made = addonobjects.objects("snapshot-controller", "v1", {})
    kinds = {each["spec"]["names"]["plural"]: each["spec"] for each in made if "names" in each.get("spec", {})}
    assert {name: each["scope"] for name, each in kinds.items()} == {
        "volumesnapshots": "Namespaced",
        "volumesnapshotcontents": "Cluster",
        "volumesnapshotclasses": "Cluster",
    }
    assert [each["kind"] for each in made][-2:] == ["ServiceAccount", "Deployment"]


def test_an_unknown_addon_makes_nothing() -> None:
    assert addonobjects.objects("metrics-server", "v1", {}) == []


@pytest.mark.parametrize(("wanted", "daemons"), [(True, ["aws-node", "kube-proxy"]), (False, [])])
def test_a_new_cluster_comes_with_three_addons_once_unless_its_request_says_otherwise(
    wanted: bool, daemons: list[str]
) -> None:
    applied: list[dict[str, Any]] = []
    world: Any = SimpleNamespace(
        cluster="c",
        kube=SimpleNamespace(apply=lambda each, *_, **__: applied.append(each)),
        aws=SimpleNamespace(
            bootstraps_addons=lambda _: wanted, cluster=lambda _: {"version": "1.35"}, addons=lambda _: []
        ),
    )
    addons = Addons(world)
    addons.reconcile()
    addons.reconcile()
    assert [each["metadata"]["name"] for each in applied if each["kind"] == "DaemonSet"] == daemons
    assert [each["metadata"]["name"] for each in applied if each["kind"] == "Deployment"] == ["coredns"] * wanted
