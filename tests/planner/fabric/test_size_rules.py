"""Rules about the size of the fabric trip where they should, and nowhere else."""

from typing import Any

import pytest

from catalogue.network_types import NicRole
from catalogue.tables import SHIPPED
from planner.draft import registry
from planner.findings import Severity
from tests.planner.fabric.sites import one, with_cards
from tests.planner.site import found, planned_site

OURS = (
    "fabric-too-small",
    "fabric-growth",
    "fabric-oversubscribed",
    "fabric-uplinks-idle",
    "fabric-uneven-spines",
    "fabric-storage-ports",
    "fabric-one-switch",
    "fabric-planes",
    "fabric-rails",
    "fabric-unlike-nodes",
    "fabric-link",
    "fabric-rate",
    "fabric-idle-rate",
    "few-cards",
    "gang-without-fabric",
    "roce-lossless",
    "fabric-mtu",
    "roce-rail-networks",
    "subnet-manager",
    "sharp-switch",
    "sharp-manager",
    "rdma-devices",
    "cable-too-long",
    "fabric-switch-unnamed",
    "pod-devices-cards",
    "virtual-functions",
    "pod-port-addresses",
    "pod-ports-named",
)


def test_nothing_is_wrong_with_the_site() -> None:
    """No rule about the fabric speaks about a fabric that works, but that its leaves are for more nodes than it has."""
    assert {finding.rule for finding in planned_site().findings} & set(OURS) == {"fabric-uplinks-idle"}
    assert not {finding.rule for finding in planned_site({"pools.1.count": 32}).findings} & {"fabric-uplinks-idle"}


def test_every_rule_of_ours_is_tested() -> None:
    """A rule that is added is added above."""
    defined = {rule.id for rule in registry.rules if rule.look.__module__.startswith("planner.rules.metal.fabric")}
    assert defined == set(OURS)


@pytest.mark.parametrize(
    ("changes", "path", "sentence"),
    [
        (
            {"fabric.topology": "single", "fabric.storagePorts": 4},
            "fabric.topology",
            "8 nodes with 8 ports each, 4 ports for storage are more than a single fabric of QM9700 holds, which is 7 "
            "such nodes",
        ),
        (
            {"fabric.topology": "single", "fabric.subnetManager": "ufm"},
            "fabric.topology",
            "8 nodes with 8 ports each, 4 ports for the subnet manager are more than a single fabric of QM9700 holds",
        ),
        (
            {"fabric.topology": "auto", "fabric.switch": "SB7790", "pools.1.count": 1459},
            "fabric.switch",
            "1459 nodes with 8 ports each are more than a leaf-spine fabric of SB7790 holds, which is 1458",
        ),
        (
            {"fabric.spareLeafPorts": 32},
            "fabric.spareLeafPorts",
            "32 spare ports take all of the 32 that a leaf of 64 has for nodes",
        ),
    ],
)
def test_too_small(changes: dict[str, Any], path: str, sentence: str) -> None:
    """FB03, FB04, A07: a switch of 64 has no port beside 8 nodes; E14: UFM takes four."""
    finding = one("fabric-too-small", changes)
    assert finding.severity is Severity.ERROR
    assert finding.path == f"gpucluster:{path}"
    assert sentence in finding.sentence
    assert not found("fabric-growth", changes)


def test_just_large_enough() -> None:
    """FB03: 64 ports hold 8 nodes, or 7 and storage; 1,296 nodes are the most that switches of 36 ports take."""
    assert not found("fabric-too-small", {"fabric.topology": "single"})
    assert not found("fabric-too-small", {"fabric.topology": "single", "fabric.storagePorts": 8, "pools.1.count": 7})
    assert not found("fabric-too-small", {"fabric.switch": "SB7790", "pools.1.count": 1296})
    assert not found("fabric-too-small", {"fabric.spareLeafPorts": 31})


def test_auto_tries_every_topology() -> None:
    """Beyond the 1,296 nodes that rails hold, leaves and spines hold 1,458."""
    rails = {"fabric.switch": "SB7790", "pools.1.count": 1458}
    assert found("fabric-too-small", {**rails, "fabric.topology": "rail-optimised"})
    assert not found("fabric-too-small", {**rails, "fabric.topology": "auto"})


def test_growth_beyond_the_fabric() -> None:
    """FB13, A05, A07: 8 nodes on one switch are not 9; 64 that become 256 are fine, and their spines stand already."""
    changes = {"fabric.topology": "single", "pools.1.maxCount": 32}
    finding = one("fabric-growth", changes)
    assert finding.path == "gpucluster:pools[1].maxCount"
    assert "8 nodes fit, and the 32 declared ones do not: a single fabric of QM9700 ends at 8" in finding.sentence
    assert not found("fabric-too-small", changes)
    assert not found("fabric-growth", {"pools.1.count": 64, "pools.1.maxCount": 256})
    fabric = planned_site({"pools.1.count": 64, "pools.1.maxCount": 256}).fabric
    assert fabric is not None
    assert (fabric.growth.day_one.leaves, fabric.growth.day_one.spines) == (16, 32)


def test_oversubscribed() -> None:
    """FB03, A14: 4:1 is said with its numbers, 1:1 is not; on one switch there is nothing to oversubscribe."""
    finding = one("fabric-oversubscribed", {"fabric.topology": "leaf-spine", "fabric.oversubscription": 4})
    assert finding.severity is Severity.WARNING
    assert "4 ports down for each up, so 3200 of 12800 Gb/s" in finding.sentence
    assert not found("fabric-oversubscribed", {"fabric.topology": "leaf-spine"})
    assert not found("fabric-oversubscribed", {"fabric.topology": "single", "fabric.oversubscription": 4})
    assert not found("fabric-oversubscribed", {"fabric.oversubscription": 4}), "rails that are not full"


def test_uplinks_that_no_node_fills() -> None:
    """FB03, A14: leaves of rails for 32 nodes have 256 links up; 16 nodes are carried by 128 of leaves and spines, and
    8 by one switch. Growth that fills the leaves, or the topology that is told, ends it."""
    grows = {"pools.1.maxCount": 16}
    finding = one("fabric-uplinks-idle", grows)
    assert (finding.severity, finding.path) == (Severity.WARNING, "gpucluster:fabric.topology")
    assert "2 times the uplinks that 16 nodes can fill: 256 leaf-spine links are bought" in finding.sentence
    assert finding.sentence.endswith("a leaf-spine fabric needs 128")
    assert not found("fabric-uplinks-idle", {**grows, "fabric.topology": "leaf-spine"})
    assert "needs none, as one switch carries all nodes" in one("fabric-uplinks-idle", {}).sentence
    assert not found("fabric-uplinks-idle", {"fabric.topology": "single"})
    assert not found("fabric-uplinks-idle", {"pools.1.maxCount": 32})


def test_spines_that_do_not_divide_the_uplinks() -> None:
    """FB03: 26 nodes take 7 leaves with 30 links up at most, of which 4 spines have 7 or 8: two leaves that have their
    eighths on different spines share 28 of 30. 16 nodes take 4 leaves of 32 and 2 spines; with growth all is plugged.
    """
    uneven = {"fabric.topology": "leaf-spine", "pools.1.count": 26}
    finding = one("fabric-uneven-spines", uneven)
    assert "4 spines do not divide the leaves' uplinks evenly: between two of the leaves pass 93%" in finding.sentence
    assert not found("fabric-uneven-spines", {**uneven, "pools.1.count": 16})
    assert not found("fabric-uneven-spines", {**uneven, "pools.1.maxCount": 32})


def test_storage_on_the_fabric_has_ports() -> None:
    """FB03: storage that shares the fabric is counted, each server with the ports it uses."""
    servers = {
        name: sum(g.ports for g in SHIPPED.storage_servers[name].nics if g.role is NicRole.STORAGE)
        for name in ("OSS 24x15.36TB NDR", "MDS 8x3.84TB NDR")
    }
    needed = 4 * servers["OSS 24x15.36TB NDR"] + 2 * servers["MDS 8x3.84TB NDR"]
    changes = {"storage.lustre.network": "compute", "fabric.storagePorts": needed - 1}
    finding = one("fabric-storage-ports", changes)
    assert finding.path == "gpucluster:fabric.storagePorts"
    assert f"take {needed} ports" in finding.sentence
    assert not found("fabric-storage-ports", {**changes, "fabric.storagePorts": needed})
    assert not found("fabric-storage-ports"), "a fabric of its own"
    fewer = {**changes, "fabric.storagePorts": 6, "storage.lustre.nicsPerServer": 1}
    assert not found("fabric-storage-ports", fewer)


def test_a_card_of_a_storage_server_may_have_two_ports() -> None:
    """FB03: nicsPerServer counts cards of object servers; each port of theirs takes one of the fabric's."""
    dual = {"storage.lustre.server": "OSS 48x7.68TB 100GbE", "storage.lustre.nicsPerServer": 1}
    changes = {**dual, "storage.lustre.network": "compute", "fabric.storagePorts": 4 * 2 + 2 * 1}
    assert not found("fabric-storage-ports", changes)
    assert "take 10 ports" in one("fabric-storage-ports", {**changes, "fabric.storagePorts": 9}).sentence


def test_one_switch_in_production() -> None:
    """FB05: production is told that one switch carries everything; four spines are not one."""
    finding = one("fabric-one-switch", {"fabric.topology": "single", "lifecycle.protect": True})
    assert finding.severity is Severity.WARNING
    assert "one switch carries the fabric: when it fails, jobs on 8 nodes stop" in finding.sentence
    spine = one("fabric-one-switch", {"fabric.topology": "leaf-spine", "lifecycle.protect": True})
    assert "the only spine connects all leaves" in spine.sentence
    assert not found("fabric-one-switch", {"fabric.topology": "single"})
    assert not found("fabric-one-switch", {"lifecycle.protect": True})


def test_planes_need_ports() -> None:
    """E13: a second plane is nothing without a second port on the card."""
    finding = one("fabric-planes", {"fabric.redundant": True})
    assert "ConnectX-7 NDR of DGX H100 has 1" in finding.sentence
    dual = with_cards("ConnectX-6 HDR dual")
    changes = {"fabric.redundant": True, "fabric.switch": "QM8700"}
    assert not found("fabric-planes", changes, catalogue=dual)
    fabric = planned_site(changes, catalogue=dual).fabric
    assert fabric is not None
    assert (fabric.growth.day_one.planes, fabric.growth.day_one.demand.rails) == (2, 8)


def test_rails_need_several_ports() -> None:
    """E12: one card a node makes no rails."""
    single = with_cards("ConnectX-7 NDR", count=1)
    assert one("fabric-rails", catalogue=single).path == "gpucluster:fabric.topology"
    assert not found("fabric-rails", {"fabric.topology": "leaf-spine"}, catalogue=single)


def test_nodes_of_two_kinds() -> None:
    """E12: nodes with fewer cards leave ports of the leaves empty."""
    pools = [
        {"name": "system", "role": "system", "server": "Dell PowerEdge R660", "count": 3},
        {"name": "training", "role": "training", "server": "DGX H100", "count": 8},
        {"name": "small", "role": "training", "server": "Dell PowerEdge XE8640", "count": 2},
    ]
    finding = one("fabric-unlike-nodes", {"pools": pools})
    assert (finding.path, finding.subject) == ("gpucluster:pools[2].server", "small")
    assert "has 4 compute ports where other nodes have 8; 8 ports of the leaves stay empty" in finding.sentence
    pools[2] = {**pools[2], "role": "inference"}
    assert not found("fabric-unlike-nodes", {"pools": pools})


def test_the_largest_settings_are_planned() -> None:
    """Whatever the settings take, there is a plan or a finding."""
    changes = {
        "pools.1.count": 4096,
        "pools.1.maxCount": 16384,
        "fabric.spareLeafPorts": 1024,
        "fabric.storagePorts": 4096,
    }
    for topology in ("auto", "single", "leaf-spine", "rail-optimised"):
        for switch in ("QM9700", "Q3400-RA", "SN2201"):
            planned = planned_site({**changes, "fabric.topology": topology, "fabric.switch": switch})
            assert planned.fabric is None
            assert found("fabric-too-small", {**changes, "fabric.topology": topology, "fabric.switch": switch})
