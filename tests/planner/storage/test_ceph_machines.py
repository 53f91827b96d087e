"""Machines of Ceph in an inventory that cannot be what the stack file says."""

from collections.abc import Mapping
from typing import Any

import pytest

from planner.metal_types import MetalPlan
from planner.site import CEPH_STORE_PORT, SitePlan
from settings.secrets import named_secrets
from tests.planner.stacks import metal_plan_of, sections_in
from tests.stacks.ceph_stack import DISKS, SERVERS, with_ceph

RULES = ("ceph-drives", "ceph-spread", "ceph-monitors", "ceph-two-stores")


def planned(
    hosts: Mapping[str, Any] | None = None, inventory: Mapping[str, Any] | None = None, **ceph: Any
) -> MetalPlan:
    config = with_ceph(dict(hosts or {}), **ceph)
    config["gpucluster:inventory"] |= inventory or {}
    return metal_plan_of(config)


def said(found: MetalPlan) -> list[tuple[str, str]]:
    """Rules about Ceph's machines that trip, with the keys they name."""
    return [(each.rule, each.path.removeprefix("gpucluster:")) for each in found.findings if each.rule in RULES]


def site(**ceph: Any) -> SitePlan:
    found = planned(**ceph).site
    assert found is not None
    return found


def test_the_stack_with_ceph_is_planned_without_an_error() -> None:
    assert [each.rule for each in planned().findings if each.severity == "error"] == []
    assert said(planned()) == []


@pytest.mark.parametrize(
    ("hosts", "ceph", "rule", "path"),
    [
        ({"disks": DISKS[:-1]}, {}, "ceph-drives", "inventory.hosts[2].disks"),
        ({"disks": []}, {}, "ceph-drives", "inventory.hosts[2].disks"),
        ({"racks": "r1", "units": [12, 14, 16]}, {}, "ceph-spread", "storage.ceph.failureDomain"),
        ({"racks": None, "units": None}, {}, "ceph-spread", "storage.ceph.failureDomain"),
        ({}, {"monitors": 5}, "ceph-monitors", "storage.ceph.monitors"),
    ],
)
def test_what_cannot_be_is_refused(hosts: dict[str, Any], ceph: dict[str, Any], rule: str, path: str) -> None:
    assert said(planned(hosts, **ceph)) == [(rule, path)]


def test_racks_do_not_count_where_hosts_are_the_failure_domain() -> None:
    assert said(planned({"racks": "r1", "units": [12, 14, 16]}, failureDomain="host")) == []


def test_beside_ceph_there_is_no_second_store_or_file_system() -> None:
    store = {"endpoint": "https://s3.example.com", "bucket": "elsewhere", "cidrs": ["10.20.2.0/28"]}
    both = planned(inventory={"sharedFiles": {"kind": "nfs", "source": "nfs:/x"}, "objectStore": store})
    assert sorted(said(both)) == [
        ("ceph-two-stores", "inventory.objectStore"),
        ("ceph-two-stores", "inventory.sharedFiles"),
    ]
    assert said(planned(inventory={"objectStore": store}, bucket=None)) == []


def test_more_memory_for_each_osd_than_there_is_is_refused() -> None:
    assert "ceph-memory" not in [each.rule for each in planned().findings]
    assert "ceph-memory" in [each.rule for each in planned(osdMemoryGib=24).findings]


def test_cephs_store_answers_on_each_of_its_machines() -> None:
    store = site().object_store
    assert store is not None
    assert store.endpoint == f"http://rook-ceph-rgw-objects.rook-ceph.svc:{CEPH_STORE_PORT}"
    assert store.cidrs == ("10.20.0.31/32", "10.20.0.32/32", "10.20.0.33/32")
    assert site(bucket=None).object_store is None


def test_its_machines_are_nodes_and_its_store_has_a_key() -> None:
    assert [host.name for host in site().storage_nodes] == list(SERVERS)
    assert {*SERVERS} < {host.name for host in site().nodes}
    assert "objectStoreKey" in named_secrets(sections_in(with_ceph()))
    assert "objectStoreKey" not in named_secrets(sections_in(with_ceph(bucket=None)))


def test_copies_beside_parity_survive_as_many_losses() -> None:
    ceph = planned(replicas=None, erasure="4+2").site
    assert ceph is not None
    assert ceph.ceph is not None
    assert (ceph.ceph.copies, str(ceph.ceph.redundancy)) == (3, "4+2")


def test_charts_of_ceph_take_the_place_of_local_volumes() -> None:
    assert {"rook-ceph", "ceph-csi-drivers"} <= set(planned().charts)
    assert "local-static-provisioner" not in planned().charts
