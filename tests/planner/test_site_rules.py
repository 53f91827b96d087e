"""What stands on a site: control plane nodes, ranges of addresses, rows of hardware, management controllers."""

from __future__ import annotations

from typing import Any

import pytest

from planner.facility.power import Kind
from planner.metal_types import MetalPlan
from settings.errors import SettingsError
from tests.planner.stacks import planned_metal
from tests.planner.storage.test_ceph_machines import planned as ceph

SITE = ("control-plane", "addresses", "unknown", "site-row")


def findings(changes: dict[str, Any]) -> list[str]:
    """Rules of this module that speak about the metal stack with values replaced."""
    found = planned_metal(changes).findings
    return [each.rule for each in found if each.rule.startswith(SITE) or each.rule.endswith(SITE)]


def sentence(plan: MetalPlan, rule: str) -> str:
    (found,) = (finding for finding in plan.findings if finding.rule == rule)
    return str(found)


@pytest.mark.parametrize(
    ("nodes", "system", "said"),
    [
        (3, 3, []),
        (3, 2, ["control-plane-nodes"]),
        (5, 4, ["control-plane-nodes"]),
        (5, 5, []),
        (1, 1, ["control-plane-alone"]),
    ],
)
def test_control_plane_has_nodes_of_its_own(nodes: int, system: int, said: list[str]) -> None:
    """KJ29: three or five on nodes without GPUs; one is allowed, and its price is said."""
    assert findings({"platform.controlPlaneNodes": nodes, "pools.0.count": system}) == said


def test_control_plane_never_counts_gpu_nodes() -> None:
    """KJ29: eight GPU nodes do not make up for two missing system nodes."""
    said = sentence(planned_metal({"pools.0.count": 1}), "control-plane-nodes")
    assert "takes 3 nodes, and the system pools have 1; raise the count of a system pool by 2" in said


@pytest.mark.parametrize("nodes", [0, 2, 4, 7])
def test_an_even_control_plane_is_no_majority(nodes: int) -> None:
    """KJ29: with two or four members etcd survives no more than with one or three."""
    with pytest.raises(SettingsError, match="controlPlaneNodes: must be 1, 3 or 5"):
        planned_metal({"platform.controlPlaneNodes": nodes})


@pytest.mark.parametrize(
    ("path", "network", "other"),
    [
        ("platform.bmcCidr", "10.20.3.0/24", "platform.managementCidr"),
        ("platform.podCidr", "10.20.0.0/16", "platform.managementCidr"),
        ("platform.serviceCidr", "10.244.128.0/20", "platform.podCidr"),
        ("fabric.railCidr", "10.96.4.0/22", "platform.serviceCidr"),
    ],
)
def test_ranges_are_apart(path: str, network: str, other: str) -> None:
    """F02: any two ranges that overlap are named, wherever each of them stands."""
    found = [finding for finding in planned_metal({path: network}).errors if finding.rule == "addresses-overlap"]
    assert other in {finding.subject or "" for finding in found} | {finding.path.partition(":")[2] for finding in found}
    assert all(network in finding.sentence for finding in found)


@pytest.mark.parametrize(
    ("path", "network", "fits"),
    [
        ("platform.managementCidr", "10.30.0.0/27", True),
        ("platform.managementCidr", "10.30.0.0/28", False),
        ("platform.bmcCidr", "10.30.0.0/28", False),
        ("fabric.railCidr", "10.30.0.0/24", True),
        ("fabric.railCidr", "10.30.0.0/25", False),
        ("platform.podCidr", "10.32.0.0/19", True),
        ("platform.podCidr", "10.32.0.0/20", False),
    ],
)
def test_ranges_hold_everything_after_the_declared_growth(path: str, network: str, fits: bool) -> None:
    """F02: 19 nodes (3 and 16) take a /27; 16 x 8 compute ports exceed the 126 of a /25; 19 /24 take a /19."""
    assert findings({path: network}) == ([] if fits else ["addresses-too-few"])


def test_remedy_is_the_smallest_range_that_holds() -> None:
    """F02: 128 ports need 130 addresses with the range's own two, so a /24 and not a /25."""
    said = sentence(planned_metal({"fabric.railCidr": "10.30.0.0/25"}), "addresses-too-few")
    assert "has 126 addresses, and 128 are needed; take a /24" in said


@pytest.mark.parametrize("kind", ["infiniband", "roce", "ethernet"])
def test_fabric_kinds(kind: str) -> None:
    """FB11: Ethernet with RDMA is a fabric like InfiniBand; which one it is must be said."""
    assert planned_metal({"fabric.kind": kind}).totals.gpus == 64


@pytest.mark.parametrize("kind", ["nvlink", "ib", "400gbe", ""])
def test_nothing_else_is_a_fabric(kind: str) -> None:
    """FB10, FB11: NVLink ends at the server, and a rate is no kind."""
    with pytest.raises(SettingsError, match=r"fabric\.kind: must be infiniband, roce or ethernet"):
        planned_metal({"fabric.kind": kind})


@pytest.mark.parametrize(
    ("path", "value", "rule", "said"),
    [
        ("pools.1.server", "DGX H1000", "server-unknown", "did you mean DGX H100?"),
        ("fabric.switch", "qm9700", "switch-unknown", "did you mean QM9700?"),
        ("storage.lustre.mdsServer", "MDS 8x3.84TB", "storage-server-unknown", "did you mean MDS 8x3.84TB"),
        ("storage.lustre.server", "zzz", "storage-server-unknown", "known: OSS"),
    ],
)
def test_unknown_rows_are_named_with_what_was_meant(path: str, value: str, rule: str, said: str) -> None:
    """B01: a server, a switch or a storage server that no table has; the rest of the plan stands."""
    found = planned_metal({path: value})
    assert said in sentence(found, rule)
    assert "system" in found.pools


@pytest.mark.parametrize("path", ["platform.managementCidr", "platform.bmcCidr"])
def test_ranges_hold_what_is_no_node(path: str) -> None:
    """19 nodes and the storage servers have addresses; so have their controllers, each switch of the bill (of compute,
    storage and management) and each of its power strips."""
    found = planned_metal({path: "10.30.0.0/29"})
    (strips,) = (line.count for line in found.bom.lines if line.item == "rack PDU")
    needed = 19 + sum(each.count for each in found.facility.machines if each.kind is Kind.STORAGE)
    if path == "platform.bmcCidr":
        assert found.fabric is not None
        growth = found.fabric.growth
        bought_switches = sum(each.count for each in found.facility.machines if each.kind is Kind.SWITCH)
        needed += bought_switches + growth.at_maximum.switches - growth.day_one.switches + int(strips)
    assert f"has 6 addresses, and {needed} are needed" in sentence(found, "addresses-too-few")


@pytest.mark.parametrize(
    ("network", "remedy"),
    [("10.0.0.0/11", "take a /12"), ("10.96.0.0/12", None), ("10.96.0.0/28", None), ("10.96.0.0/29", "take a /24")],
)
def test_services_have_a_range_that_kubernetes_takes(network: str, remedy: str | None) -> None:
    """Kube-apiserver takes 20 bits at most, kubeadm 10 addresses at least."""
    found = [each for each in planned_metal({"platform.serviceCidr": network}).errors if each.rule == "service-range"]
    assert [each.remedy.partition(",")[0] for each in found] == ([remedy] if remedy else [])


RULES = ("controllers-reachable", "controller-certificate")
SHOWN = ":".join(["0A"] * 32)


def said(changes: dict[str, Any]) -> list[str]:
    return [str(each) for each in planned_metal(changes).findings if each.rule in RULES]


def test_the_committed_controllers_are_apart_and_known() -> None:
    assert said({}) == []


@pytest.mark.parametrize("cidr", ["10.20.4.0/22", "10.20.5.0/28", "10.20.4.21/32", "10.20.0.0/16"])
def test_no_range_that_pods_reach_has_controllers_in_it(cidr: str) -> None:
    (found,) = said({"inventory.objectStore.cidrs": ["10.20.2.0/28", cidr]})
    assert "inventory.objectStore.cidrs[1]" in found
    assert f"pods may speak with {cidr}, which overlaps platform.bmcCidr 10.20.4.0/22" in found
    assert "name the addresses of that service alone" in found


def test_neither_has_ceph() -> None:
    found = ceph(publicCidr="10.20.4.0/24", clusterCidr="10.20.5.0/24").findings
    paths = {each.path.removeprefix("gpucluster:") for each in found if each.rule == "controllers-reachable"}
    assert paths == {"storage.ceph.publicCidr", "storage.ceph.clusterCidr"}


def test_a_range_beside_theirs_may_be_reached() -> None:
    assert said({"inventory.objectStore.cidrs": ["10.20.8.0/24", "10.20.3.0/24"]}) == []


@pytest.mark.parametrize("path", ["platform.podCidr", "fabric.railCidr", "platform.managementCidr"])
def test_pods_rails_and_machines_are_in_networks_of_their_own(path: str) -> None:
    found = [each for each in planned_metal({path: "10.20.4.0/24"}).errors if each.rule == "addresses-overlap"]
    assert any("10.20.4.0/22" in each.sentence and "10.20.4.0/24" in each.sentence for each in found)


def test_a_controller_that_is_asked_has_a_known_certificate() -> None:
    """A password would go to whoever takes its address."""
    bare = {"inventory.controllers": {"user": "ops"}}
    found = said(bare)
    assert len(found) == 4
    assert "inventory.hosts[1].bmcFingerprints: the controllers of dgx-[01-08] have no known certificate" in found[1]
    assert len(said(bare | {"inventory.hosts.1.bmcFingerprints": [SHOWN] * 8})) == 3
    assert said({"inventory.controllers": None}) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"inventory.hosts.1.bmcFingerprints": [SHOWN]}, "has 1 for 8 machines"),
        ({"inventory.hosts.1.bmcFingerprints": ["0a:1b"] * 8}, "is not the SHA-256 of a certificate"),
        (
            {"inventory.hosts.1.bmcFingerprints": [SHOWN] * 8, "inventory.hosts.1.bmc": None},
            "bmcFingerprints: needs the controllers' addresses; add bmc",
        ),
        ({"inventory.controllers": {"user": "ops", "authority": "signed"}}, "is not a certificate as PEM"),
        ({"inventory.controllers": {"user": "ops", "password": "secret"}}, "password"),
    ],
)
def test_words_about_controllers_that_mean_nothing_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words.replace("[", r"\[")):
        planned_metal(changes)


WATCHED = {"monitoring": {}, "inventory.logs": {"host": "10.20.0.5"}}
SENSORS = WATCHED | {"inventory.controllers.sensors": {"user": "sensors"}}


def test_sensors_are_read_where_somebody_is_told() -> None:
    def sensors(changes: dict[str, Any]) -> list[str]:
        return [each.sentence for each in planned_metal(changes).findings if each.rule == "controller-sensors"]

    bare = {f"inventory.hosts.{index}.bmc": None for index in range(4)}
    assert sensors(SENSORS) == sensors({}) == []
    assert sensors(SENSORS | {"monitoring": None}) == [
        "there is no section monitoring, so nobody would be told what the sensors say"
    ]
    assert sensors(SENSORS | bare) == ["no machine of the inventory has a controller with an address"]


def test_what_controllers_tell_has_room_in_prometheus() -> None:
    plan, without = planned_metal(SENSORS).monitoring, planned_metal(WATCHED).monitoring
    assert plan is not None
    assert without is not None
    added = next(each for each in plan.exporters if each.name == "sensors")
    assert (added.targets, plan.series - without.series) == (1, added.series)
