"""Machines of Lustre in an inventory: their targets and numbers, and what cannot be what the stack file says."""

from typing import Any

import pytest

from planner.storage.lustre_targets import LustrePlan
from settings.errors import SettingsError
from tests.planner.stacks import metal_plan_of
from tests.stacks.lustre_stack import ENCLOSURE, MDS_DISKS, OSS_DISKS, paired, with_lustre

RULES = ("lustre-drives", "lustre-targets", "lustre-partners", "lustre-lnet", "lustre-two-served")
MDS, OSS, DGX = "mds-[1-2]", "oss-[1-4]", "dgx-[01-08]"


def said(config: dict[str, Any]) -> list[tuple[str, str]]:
    """Rules about Lustre's machines that trip, with the keys they name."""
    found = metal_plan_of(config).findings
    return [(each.rule, each.path.removeprefix("gpucluster:")) for each in found if each.rule in RULES]


def served(config: dict[str, Any]) -> LustrePlan:
    site = metal_plan_of(config).site
    assert site is not None
    assert site.lustre is not None
    return site.lustre


def test_the_stack_with_servers_of_its_own_is_planned_without_an_error() -> None:
    for config in (with_lustre(), paired()):
        assert [each.rule for each in metal_plan_of(config).findings if each.severity == "error"] == []


def test_each_group_of_drives_is_a_target_under_its_machines_numbers() -> None:
    lustre = served(with_lustre())
    assert {each.name: [target.index for target in each.targets] for each in lustre.servers} == {
        "oss-1": [0, 1],
        "oss-2": [2, 3],
        "oss-3": [4, 5],
        "oss-4": [6, 7],
        "mds-1": [0],
        "mds-2": [1],
    }
    store, meta = lustre.of("oss-2"), lustre.of("mds-1")
    assert store is not None
    assert meta is not None
    assert store.targets[1].vdevs == ("raidz2", *OSS_DISKS[10:20])
    assert meta.targets[0].vdevs[:3] == ("mirror", *MDS_DISKS[:2])
    assert len(meta.targets[0].vdevs) == 12
    assert store.nids == "10.22.0.32@o2ib,10.22.1.32@o2ib,10.20.0.32@tcp"
    assert lustre.source == "10.22.0.35@o2ib,10.20.0.35@tcp:/shared"


def test_no_target_moves_when_a_machine_goes() -> None:
    config = with_lustre(
        {
            OSS: {
                "name": "oss-[2-4]",
                "address": "10.20.0.[32-34]",
                "bmc": "10.20.4.[32-34]",
                "racks": "r[2-4]",
                "hostKeys": [f"ssh-ed25519 {letter * 68}" for letter in "XYZ"],
                "serials": ["SX9R12", "SX9R13", "SX9R14"],
                "allowFormat": [],
                "storageAddresses": ["10.22.0.[32-34]", "10.22.1.[32-34]"],
                "targets": [2, 4, 6],
            }
        },
        count=3,
    )
    before, after = served(with_lustre()), served(config)
    assert said(config) == []
    for each in after.servers:
        was = before.of(each.name)
        assert was is not None
        assert each.targets == was.targets


def test_a_machine_less_with_its_number_left_is_no_list() -> None:
    with pytest.raises(SettingsError, match=r"targets.*has 3 for 4 machines"):
        metal_plan_of(with_lustre({OSS: {"targets": [2, 4, 6]}}))


def test_a_pair_is_two_machines_that_any_of_its_targets_may_run_on() -> None:
    lustre = served(paired())
    first, second = (lustre.of(f"mds-{number}") for number in (1, 2))
    assert first is not None
    assert second is not None
    assert lustre.service(first) == (first.nids, second.nids)
    assert lustre.service(second) == (second.nids, first.nids)
    assert lustre.source == f"{first.nids}:{second.nids}:/shared"


def test_a_machine_that_stands_by_has_no_drives_of_its_own() -> None:
    config = paired(mds_1={"disks": ENCLOSURE[:8]}, mds_2={"disks": [], "targets": []})
    assert said(config) == []
    second = served(config).of("mds-2")
    assert second is not None
    assert second.targets == ()


@pytest.mark.parametrize(
    ("hosts", "rule", "path"),
    [
        ({OSS: {"disks": OSS_DISKS[:-1]}}, "lustre-drives", "inventory.hosts[2].disks"),
        ({OSS: {"disks": []}}, "lustre-drives", "inventory.hosts[2].disks"),
        ({MDS: {"disks": MDS_DISKS[:7]}}, "lustre-drives", "inventory.hosts[3].disks"),
        ({MDS: {"disks": OSS_DISKS[:10]}}, "lustre-drives", "inventory.hosts[3].disks"),
        ({OSS: {"targets": []}}, "lustre-targets", "inventory.hosts[2].targets"),
        ({OSS: {"targets": [0, 2, 4, 5]}}, "lustre-targets", "inventory.hosts[2].targets"),
        ({MDS: {"targets": [1, 2]}}, "lustre-targets", "inventory.hosts"),
        ({OSS: {"storageAddresses": ["10.22.0.[31-34]"]}}, "lustre-lnet", "inventory.hosts[2].storageAddresses"),
        ({MDS: {"storageAddresses": ["10.20.1.[35-36]"]}}, "lustre-lnet", "inventory.hosts[3].storageAddresses"),
        ({MDS: {"storageAddresses": ["10.22.0.[34-35]"]}}, "lustre-lnet", "inventory.hosts[3].storageAddresses"),
        ({DGX: {"storageAddresses": []}}, "lustre-lnet", "inventory.hosts[1].storageAddresses"),
    ],
)
def test_what_cannot_be_is_refused(hosts: dict[str, Any], rule: str, path: str) -> None:
    assert set(said(with_lustre(hosts))) == {(rule, path)}


def test_what_somebody_else_serves_stands_beside_no_targets() -> None:
    elsewhere = {"sharedFiles": {"kind": "lustre", "source": "10.22.0.11@o2ib:/shared"}}
    found = said(with_lustre(inventory=elsewhere))
    assert set(found) == {("lustre-two-served", f"inventory.hosts[{place}].targets") for place in (2, 3)}
    assert said(with_lustre({OSS: {"targets": []}, MDS: {"targets": []}}, elsewhere)) == []


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"mds_2": {"partner": None}}, "inventory.hosts[3].partner"),
        ({"mds_2": {"partner": "oss-1"}}, "inventory.hosts[4].partner"),
        ({"mds_2": {"partner": "mds-2"}}, "inventory.hosts[4].partner"),
        ({"mds_1": {"disks": MDS_DISKS}}, "inventory.hosts[3].disks"),
        ({"mds_2": {"disks": ENCLOSURE[:8]}}, "inventory.hosts[4].disks"),
    ],
)
def test_pairs_that_are_none_are_refused(changes: dict[str, Any], path: str) -> None:
    assert ("lustre-partners", path) in said(paired(**changes))


@pytest.mark.parametrize(("parity", "trips"), [("8+2", False), ("8+4", True), ("1+1", False)])
def test_parity_is_what_zfs_has(parity: str, trips: bool) -> None:
    config = with_lustre({OSS: {"targets": [0, 24, 48, 72]}}, parity=parity)
    assert (("lustre-drives", "storage.lustre.parity") in said(config)) is trips


def test_a_serial_that_is_no_machines_may_not_format() -> None:
    rules = [each.rule for each in metal_plan_of(with_lustre({OSS: {"allowFormat": ["ELSEWHERE"]}})).findings]
    assert "format-without-serial" in rules


def test_over_tcp_machines_are_reached_where_they_are_managed() -> None:
    config = with_lustre(
        {name: {"storageAddresses": []} for name in (OSS, MDS, DGX)},
        server="OSS 24x7.68TB 200GbE",
        mdsServer="MDS 8x3.84TB 200GbE",
    )
    assert [each for each in said(config) if each[0] == "lustre-lnet"] == []
    assert served(config).source == "10.20.0.35@tcp:/shared"
