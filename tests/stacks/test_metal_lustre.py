"""Servers of Lustre in the program: what each is told, in which order they are made, and what nodes mount then."""

import base64
import re
from functools import cache
from typing import Any

import pytest

from policy.graph import Resource
from tests.graph.harness import Recorded
from tests.graph.stackfiles import ROOT, refusal, run_program
from tests.planner.stacks import planned_metal
from tests.stacks.lustre_stack import ENCLOSURE, MDS_DISKS, OSS_DISKS, paired, told_of, with_lustre
from tests.stacks.test_metal import machines, told

SERVERS = ("mds-1", "mds-2", "oss-1", "oss-2", "oss-3", "oss-4")
SOURCE = "10.22.0.35@o2ib,10.20.0.35@tcp:/shared"


@cache
def graph() -> Recorded:
    return run_program(with_lustre(), stack="metal")


def called(host: str, found: Recorded) -> list[str]:
    return str(machines(found)[host].inputs["stdin"]).rstrip().rpartition("\n")[2].split()[1:]


def after(host: str) -> set[str]:
    """Machines whose preparation this one's waits for, at once or by others in between."""
    prepared: dict[str, Resource] = {each.urn: each for each in machines(graph()).values()}
    seen, left = set[str](), list(machines(graph())[host].depends_on)
    while left:
        urn = left.pop()
        if urn not in seen and (it := graph().resources.get(urn)):
            seen.add(urn)
            left += it.depends_on
    return {re.sub(r"^host-|-prepared$", "", prepared[urn].name) for urn in seen & prepared.keys()}


def test_a_server_is_told_its_targets_and_its_networks() -> None:
    found = told("oss-2", graph())
    assert found["LNET"] == "o2ib=10.22.0.32 o2ib=10.22.1.32 tcp=10.20.0.32"
    assert found["LUSTRE_MGS"] == "10.22.0.35@o2ib,10.20.0.35@tcp"
    assert found["LUSTRE_SERVICE"] == "10.22.0.32@o2ib,10.22.1.32@o2ib,10.20.0.32@tcp"
    assert (found["LUSTRE_FSNAME"], found["LUSTRE_RELEASE"], found["LUSTRE_STANDBY"]) == ("shared", "2.16.1", "")
    assert found["ALLOW_FORMAT"] == "SX9R12"
    first, second = found["LUSTRE_TARGETS"].splitlines()
    assert first.split() == ["ost", "2", "raidz2", *OSS_DISKS[:10]]
    assert second.split() == ["ost", "3", "raidz2", *OSS_DISKS[10:20]]
    assert told("mds-2", graph())["LUSTRE_TARGETS"].split()[:5] == ["mdt", "1", "mirror", *MDS_DISKS[:2]]


def test_its_packages_are_of_one_release_and_no_update_takes_the_kernel_away() -> None:
    found = told("mds-1", graph())
    names = found["PACKAGES"].split()
    assert names.index("zfs-dkms=") < names.index("lustre-server-modules-dkms=2.16.1-1")
    assert "lustre-server-utils=2.16.1-1" in names
    assert {"lustre-", "linux-generic"} <= set(found["KEEP"].split())
    assert not [word for word in told("dgx-01", graph())["PACKAGES"].split() if "lustre" in word or "zfs" in word]


@pytest.mark.parametrize("host", SERVERS)
def test_a_servers_concerns_are_its_own_and_it_is_no_node(host: str) -> None:
    assert called(host, graph())[-3:] == ["lnet", "lustre-server", "lustre-rates"]
    assert told(host, graph())["LUSTRE_RATES"] == ""
    assert "kubelet" not in called(host, graph())


def test_they_are_made_in_the_order_in_which_lustre_starts_and_nodes_come_last() -> None:
    assert after("mds-1") == set()
    assert after("mds-2") == {"mds-1"}
    assert after("oss-3") == {"mds-1", "mds-2"}
    assert set(SERVERS) <= after("cp-1")
    assert set(SERVERS) <= after("dgx-05")


def test_nodes_mount_what_they_serve_by_the_network_that_they_have() -> None:
    for host in ("cp-1", "dgx-01"):
        found = told(host, graph())
        assert (found["SHARED_KIND"], found["SHARED_SOURCE"]) == ("lustre", SOURCE)
        names = called(host, graph())
        assert names.index("lnet") < names.index("shared-files") < names.index("lustre-client")
    assert told("cp-1", graph())["LNET"] == "tcp=10.20.0.11"
    assert told("dgx-01", graph())["LNET"] == "o2ib=10.22.0.21"


def test_stripes_of_new_files_are_the_plans() -> None:
    found = run_program(with_lustre(stripeCount=8), stack="metal")
    assert told("cp-1", found)["LUSTRE_STRIPES"] == "8"


def test_partners_know_each_others_targets() -> None:
    found = run_program(paired(), stack="metal")
    first, second = told("mds-1", found), told("mds-2", found)
    assert first["LUSTRE_STANDBY"] == second["LUSTRE_TARGETS"]
    assert second["LUSTRE_STANDBY"] == first["LUSTRE_TARGETS"]
    assert first["LUSTRE_TARGETS"].split()[2:5] == ["mirror", *ENCLOSURE[:2]]
    assert first["LUSTRE_SERVICE"].split() == list(reversed(second["LUSTRE_SERVICE"].split()))
    assert first["LUSTRE_MGS"] == second["LUSTRE_MGS"] == first["LUSTRE_SERVICE"]


def test_a_machine_that_may_not_be_formatted_is_told_so() -> None:
    found = run_program(with_lustre({"oss-[1-4]": {"allowFormat": ["SX9R12"]}}), stack="metal")
    assert [told(f"oss-{number}", found)["ALLOW_FORMAT"] for number in (1, 2)] == ["", "SX9R12"]


def test_what_cannot_be_is_refused_before_a_machine_is_touched() -> None:
    changes: dict[str, Any] = {"oss-[1-4]": {"targets": [0, 2, 4, 5]}}
    assert "oss-3 and oss-4 both have OST 5" in refusal(with_lustre(changes), stack="metal")


@cache
def watched() -> Recorded:
    return run_program(told_of(with_lustre()), stack="metal")


def test_servers_tell_what_their_targets_do_where_somebody_asks_x05() -> None:
    """A unit with the script beside what serves its samples, as what every machine is told decodes it."""
    files = {}
    for line in told("oss-2", watched())["LUSTRE_RATES"].splitlines():
        mode, path, text = line.split()
        files[path] = (mode, base64.b64decode(text).decode())
    directory, unit = "/usr/local/lib/gpucluster", "/etc/systemd/system/gpucluster-lustre-rates.service"
    texts = [(ROOT / "node" / name).read_text() for name in ("file_system/targets.py", "exposed/exposed.py")]
    assert files == {
        f"{directory}/targets.py": ("644", texts[0]),
        f"{directory}/exposed.py": ("644", texts[1]),
        unit: ("644", files[unit][1]),
    }
    (started,) = re.findall("^ExecStart=(.*)$", files[unit][1], re.MULTILINE)
    storage = planned_metal().storage
    assert storage is not None
    assert started.split() == [
        "/usr/bin/python3",
        f"{directory}/targets.py",
        "--file-system=shared",
        f"--rate={storage.read_gb_per_s * 1e9:.0f}",
        "--address=10.20.0.32",
        "--listen=9292",
        "--look-seconds=30",
    ]
    assert "Restart=always" in files[unit][1]


def test_prometheus_scrapes_each_server_at_its_address_x05() -> None:
    """By the job and the namespace of monitors, which alerts on silent targets name."""
    scraped = watched().one("monitors-lustre").inputs
    assert (scraped["kind"], scraped["apiVersion"]) == ("ScrapeConfig", "monitoring.coreos.com/v1alpha1")
    assert scraped["metadata"] == {"name": "lustre", "namespace": "monitoring"}
    machines = [f"10.20.0.{number}:9292" for number in (35, 36, 31, 32, 33, 34)]
    assert scraped["spec"] == {
        "jobName": "lustre",
        "scrapeInterval": "30s",
        "staticConfigs": [{"targets": machines, "labels": {"namespace": "monitoring"}}],
    }
    assert "monitors-lustre" not in {each.name for each in graph().resources.values()}
