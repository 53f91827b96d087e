"""Machines of an inventory that cannot be what the stack file says."""

from typing import Any

import pytest

from planner.findings import Severity
from planner.site import SitePlan
from settings.errors import SettingsError
from settings.ranges import members
from tests.planner.stacks import planned_metal, sections

KEY = "ssh-ed25519 " + "A" * 68
BASE = {"inventory.port": 22}
"""The inventory as it is committed."""

HOSTS = sections("metal")["inventory"]["hosts"]


def site(changes: dict[str, Any] | None = None) -> SitePlan:
    """The machines of the committed stack with values replaced."""
    found = planned_metal({**BASE, **(changes or {})}).site
    assert found is not None
    return found


def found(changes: dict[str, Any], rule: str) -> str:
    """The one finding of the rule, with its path."""
    (one,) = (each for each in planned_metal({**BASE, **changes}).findings if each.rule == rule)
    return str(one)


def keys(count: int) -> list[str]:
    return [f"ssh-ed25519 {chr(65 + index) * 68}" for index in range(count)]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("dgx-[08-11]", ("dgx-08", "dgx-09", "dgx-10", "dgx-11")),
        ("[9-10].rack", ("9.rack", "10.rack")),
        ("plain", ("plain",)),
    ],
)
def test_a_pattern_counts_as_wide_as_its_first_number(pattern: str, expected: tuple[str, ...]) -> None:
    assert members(pattern) == expected


@pytest.mark.parametrize("pattern", ["a[3-1]", "a[1-2][1-2]", "a[x-y]", "a[1]", "a[0-4096]"])
def test_a_pattern_that_counts_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"write it as|only one|write them as"):
        members(pattern)


def test_the_committed_machines_are_each_their_own() -> None:
    """Their ranges say once what all have, and count what each has."""
    hosts = {host.name: host for host in site().hosts}
    assert len(hosts) == 17
    last = hosts["dgx-08"]
    assert (last.address, last.bmc, last.serial, last.rack, last.unit) == (
        "10.20.0.28",
        "10.20.4.28",
        "1661923000408",
        "r4",
        10,
    )
    assert (hosts["dgx-03"].rack, hosts["dgx-03"].unit) == ("r2", 2)
    assert [host.name for host in site().control_plane] == ["cp-1", "cp-2", "cp-3"]
    assert not any(host.may_reset for host in site().hosts)
    assert {host.name for host in site().hosts if host.may_format} == {host.name for host in site().hosts if host.pool}


def test_the_committed_stack_has_no_finding_about_its_machines() -> None:
    rules = {each.rule for each in planned_metal(BASE).findings}
    assert rules == {each.rule for each in planned_metal().findings}


@pytest.mark.parametrize(
    ("changes", "rule", "said"),
    [
        (
            {"inventory.hosts.1.address": "10.20.0.[13-20]"},
            "machine-twice",
            "cp-3 and dgx-01 both have 10.20.0.13",
        ),
        (
            {"inventory.hosts.1.bmc": "10.20.4.[13-20]"},
            "machine-twice",
            "hosts[1].bmc: cp-3 and dgx-01 both have 10.20.4.13",
        ),
        ({"inventory.hosts.2.name": "cp-[3-6]"}, "machine-twice", "hosts[2].name: two machines have cp-3"),
        ({"inventory.hosts.3.serials": ["SX9R14", "Z-1"]}, "machine-twice", "oss-4 and mds-1 both have SX9R14"),
        ({"inventory.hosts.3.hostKeys": [KEY, KEY]}, "machine-twice", "mds-1 and mds-2 both have"),
        (
            {"inventory.hosts.3.macs": ["94:6d:ae:00:00:01"] * 2},
            "machine-twice",
            "both have 94:6d:ae:00:00:01",
        ),
        ({"inventory.hosts.3.units": [20]}, "rack-unit-twice", "mds-1 takes unit 20 of rack r1, which oss-1 takes"),
        ({"inventory.hosts.1.units": [2, 42]}, "rack-unit-twice", "takes units 42 to 49 of rack r1, which has 48"),
        ({"inventory.hosts.3.address": "10.20.8.[35-36]"}, "machine-elsewhere", "not in platform.managementCidr"),
        ({"inventory.hosts.3.bmc": "10.20.0.[95-96]"}, "machine-elsewhere", "not in platform.bmcCidr 10.20.4.0/22"),
        ({"inventory.endpoint": "10.244.0.9"}, "api-address", "in platform.podCidr 10.244.0.0/16, not in"),
        ({"inventory.endpoint": "10.21.0.9"}, "api-address", "in fabric.railCidr 10.21.0.0/20"),
        ({"inventory.endpoint": "10.20.0.21"}, "api-address", "10.20.0.21 is the address of dgx-01"),
        ({"inventory.hosts.1.serials": []}, "format-without-serial", "no machine of dgx-[01-08] has the serial"),
        ({"inventory.hosts.1.allowFormat": ["X-99"]}, "format-without-serial", "dgx-[01-08] has the serial X-99"),
        (
            {"inventory.hosts.1.osDisk": "/dev/disk/by-path/pci-0000:06:00.0-nvme-1"},
            "disk-of-the-system",
            "pci-0000:06:00.0-nvme-1 holds the operating system; take it off the list",
        ),
        ({"inventory.hosts.1.disks": []}, "scratch-unnamed", "DGX H100 has 8 drives of 3840 GB"),
        ({"inventory.driver": "container"}, "driver-in-containers", "DGX H100 of pool training is a DGX system"),
        ({"inventory.hosts.1.rails": ["0000:18:00.0"]}, "rails-of-the-server", "names 1 ports, and DGX H100 has 8"),
        *(
            (
                {"inventory.hosts.1.managementNic": nic},
                "rails-of-the-server",
                f"{nic} is the loopback or the name of a rail",
            )
            for nic in ("rail3", "lo", "ib0", "ibp24s0", "enp24s0np0", "enp24s0f0np0")
        ),
        ({"inventory.timeServers": ["10.20.1.1"]}, "time-server-alone", "10.20.1.1 is the only clock"),
        ({"inventory.objectStore.endpoint": "http://s3.hall-2"}, "store-in-clear", "http://s3.hall-2 has no TLS"),
        ({"inventory.endpoint": "10.20.3.255"}, "api-address", "the first or the last address of"),
        ({"inventory.hosts.0.racks": "r1", "inventory.hosts.0.units": [40, 41, 42]}, "control-plane-in-one-rack", "r1"),
    ],
)
def test_what_cannot_be_is_said_where_it_is_written(changes: dict[str, Any], rule: str, said: str) -> None:
    sentences = [str(each) for each in planned_metal({**BASE, **changes}).findings if each.rule == rule]
    assert [each for each in sentences if said in each], sentences


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("timeServers", ["127.0.0.1"]),
        ("timeServers", ["ntp-1", "ntp-1"]),
        ("logs", {"host": "localhost"}),
        ("objectStore.endpoint", "https://127.0.0.1:9000"),
    ],
)
def test_what_pods_and_machines_ask_is_elsewhere_and_named_once(key: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=f"inventory.{key}.*(other than the one that asks|no loopback|once)"):
        planned_metal({**BASE, f"inventory.{key}": value})


@pytest.mark.parametrize("servers", [["10.20.1.1", "10.20.1.2"], ["ntp.ubuntu.com"]])
def test_two_clocks_or_a_name_of_several_will_do_f04(servers: list[str]) -> None:
    rules = {each.rule for each in planned_metal({**BASE, "inventory.timeServers": servers}).findings}
    assert not rules & {"time-server-alone", "store-in-clear"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"pools.1.count": 9},
            "pools[1].count: the inventory has 8 machines of pool training, and the stack file declares 9",
        ),
        (
            {"storage.lustre.count": 5},
            "storage.lustre: the inventory has 4 machines of storage oss, and the stack file declares 5",
        ),
    ],
)
def test_every_node_is_a_machine(changes: dict[str, Any], said: str) -> None:
    assert said in found(changes, "machines-counted")


def test_a_machine_of_no_pool_is_named() -> None:
    said = [
        each
        for each in planned_metal({"inventory.hosts.1.pool": "trainning"}).findings
        if each.rule == "machines-counted"
    ]
    assert "machines of pool trainning, and the stack file has no pool trainning" in str(said[-1])


def test_warnings_do_not_stop_a_deployment() -> None:
    severities = {
        each.rule: each.severity
        for each in planned_metal({**BASE, "inventory.hosts.1.disks": [], "inventory.hosts.1.allowFormat": []}).findings
    }
    assert severities["scratch-unnamed"] is Severity.WARNING


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"inventory.hosts.1.hostKeys": []}, r"hosts\[1\].hostKeys: has 0 for 8 machines .* could be any machine"),
        ({"inventory.hosts.1.hostKeys": keys(7)}, r"hosts\[1\].hostKeys: has 7 for 8 machines"),
        ({"inventory.hosts.1.address": "10.20.0.[21-27]"}, r"hosts\[1\].address: counts 7 for 8 machines"),
        ({"inventory.hosts.1.storage": "oss"}, r"hosts\[1\].pool: a machine belongs to a pool or serves storage"),
        ({"inventory.hosts.1.units": [2]}, r"hosts\[1\].units: racks and units make 4 places for 8 machines"),
        ({"inventory.hosts.1.name": "DGX-[1-8]"}, "is not a host name"),
        ({"inventory.hosts.1.disks": ["/dev/sdb"]}, "is not a disk by a name that lasts"),
        ({"platform.controlPlaneNodes": 2, **BASE}, "controlPlaneNodes: must be 1, 3 or 5"),
    ],
)
def test_what_a_range_lacks_is_said_with_its_path(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        planned_metal(changes)


@pytest.mark.parametrize(
    ("switches", "rule", "said"),
    [
        ([{"name": "leaf-r9-01"}], "fabric-switch-unnamed", "switches[0].name: the fabric has no switch leaf-r9-01"),
        (
            [{"name": "leaf-r[0-3]-01"}, {"name": "leaf-r3-01"}],
            "fabric-switch-unnamed",
            "switches[1].name: two switches have leaf-r3-01",
        ),
        (
            [{"name": "spine-[01-02]", "guids": ["0x900a840300d2a1c0"] * 2}],
            "fabric-switch-unnamed",
            "switches[0].guids: two switches have 0x900a840300d2a1c0",
        ),
        (
            [{"name": "leaf-r[0-1]-01", "racks": "r1", "units": [2, 38]}],
            "rack-unit-twice",
            "switches[0].units: leaf-r0-01 takes unit 2 of rack r1, which dgx-01 takes",
        ),
        (
            [{"name": "leaf-r0-01", "racks": "r1", "units": [49]}],
            "rack-unit-twice",
            "leaf-r0-01 takes unit 49 of rack r1, which has 48",
        ),
    ],
)
def test_switches_are_the_fabrics_and_stand_somewhere(switches: list[dict[str, Any]], rule: str, said: str) -> None:
    assert said in found({"inventory.switches": switches}, rule)


def test_switches_as_the_cable_list_calls_them() -> None:
    """Leaves and spines, also those of the growth that the stack declares."""
    named = [
        {"name": "leaf-r[0-7]-01", "racks": "r[1-4]", "units": [36, 37], "guids": [f"0x{n:016x}" for n in range(1, 9)]},
        {"name": "spine-01"},
    ]
    rules = {each.rule for each in planned_metal({**BASE, "inventory.switches": named}).findings}
    assert rules == {each.rule for each in planned_metal(BASE).findings}
    assert [each.guid for each in site({"inventory.switches": named}).switches][:2] == [1, 2]


@pytest.mark.parametrize(
    ("switch", "said"),
    [
        ({"name": "leaf-[1-2]", "guids": ["0x900a840300d2a1c0"]}, "guids: has 1 for 2 switches"),
        ({"name": "leaf-[1-2]", "racks": "r1", "units": [1]}, "units: racks and units make 1 places for 2 switches"),
        ({"name": "leaf-1", "guids": ["900a840300d2a1c0"]}, "the GUID of a switch such as 0x900a840300d2a1c0"),
    ],
)
def test_what_a_range_of_switches_lacks_is_said(switch: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        planned_metal({**BASE, "inventory.switches": [switch]})
