"""Where instance types are offered, pods without addresses, repair in a block; suppliers' machine lists."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalogue.offerings import OFFERINGS, offered
from catalogue.tables import SHIPPED
from planner.machines_csv import ListError, machines
from planner.types import AwsPlan
from settings.errors import SettingsError
from settings.load import from_sections
from tests.planner.stacks import ROOT, planned, rules, sections
from tests.planner.test_placement_rules import booked

DEAR = {"budget.maxHourlyUsd": 9000}
EFA_LUSTRE = {"deploymentType": "PERSISTENT_2", "capacityGib": 4800, "throughputMbpsPerTib": 1000, "efa": True}
LOGIN = {
    "registry": "registry.example.com/mirror",
    "registryLogin": {
        "secretArn": "arn:aws:secretsmanager:us-east-2:123456789012:secret:mirror-AbCdEf",
    },
}


def told(plan: AwsPlan, rule: str) -> list[str]:
    return [f"{each.sentence}; {each.remedy}" for each in plan.findings if each.rule == rule]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "inference needs the GPU Operator's device plugin, which would run beside Bottlerocket's own"),
        ({"pools.2.amiFamily": "bottlerocket"}, None),
        (
            {"pools.1.instanceType": "p6e-gb200.36xlarge"},
            "does not boot p6e-gb200.36xlarge: on Arm it is for G5g alone",
        ),
        ({"storage.lustre": EFA_LUSTRE}, "FSx' client over EFA is published for Amazon Linux, Red Hat and Ubuntu"),
        ({"supply": LOGIN}, "nodes sign in at the mirror by a script, and Bottlerocket runs none"),
    ],
)
def test_what_bottlerocket_has_not_is_refused_where_the_pool_asks_for_it(changes: Any, said: str | None) -> None:
    same = {"pools.1.amiFamily": "bottlerocket", "pools.2.amiFamily": "bottlerocket"} if changes else {}
    plan = planned(changes={"pools.1.amiFamily": "bottlerocket", **same, **changes, **DEAR})
    found = told(plan, "bottlerocket-lacks")
    assert [said in each for each in found[:1]] == [True] if said else found == []
    paths = {each.path for each in plan.findings if each.rule == "bottlerocket-lacks"}
    assert paths <= {"gpucluster:pools[1].amiFamily", "gpucluster:pools[2].amiFamily"}


def test_a_system_pool_of_bottlerocket_stands_beside_others() -> None:
    assert told(planned(changes={"pools.0.amiFamily": "bottlerocket"}), "bottlerocket-lacks") == []


def test_a_type_that_the_region_has_not_is_refused_with_the_regions_that_have_it() -> None:
    """p6-b300 was planned and priced in us-east-2 without a word."""
    plan = planned(changes={"pools.1.instanceType": "p6-b300.48xlarge", **DEAR})
    assert "instance-not-offered" in [finding.rule for finding in plan.errors]
    (text,) = told(plan, "instance-not-offered")
    assert "no p6-b300.48xlarge in us-east-2" in text
    assert "us-east-1, us-west-2" in text


def test_a_gpu_zone_that_has_not_the_type_is_refused_with_the_zones_that_have_it() -> None:
    where = {"region": "us-east-1", "zones": ["use1-az1", "use1-az2", "use1-az4"], "gpuZone": "use1-az1"}
    changes: dict[str, Any] = {f"platform.{key}": value for key, value in where.items()}
    changes |= {"pools.1.instanceType": "p5en.48xlarge", **DEAR}
    plan = planned(changes=changes)
    (text,) = told(plan, "instance-not-offered")
    assert "no p5en.48xlarge in use1-az1" in text
    assert "it does in use1-az2, use1-az6; set platform.gpuZone to use1-az2" in text
    moved = planned(
        changes={**changes, "platform.gpuZone": "use1-az2", "pools.1.instanceType": "p5en.48xlarge", **DEAR}
    )
    assert "p5en" not in str(told(moved, "instance-not-offered"))


def test_a_local_zone_is_no_place_for_a_node_group() -> None:
    where = {"region": "us-east-1", "zones": ["use1-az1", "use1-az2"], "gpuZone": "use1-az1"}
    changes: dict[str, Any] = {f"platform.{key}": value for key, value in where.items()}
    (text,) = told(planned(changes={**changes, "pools.1.instanceType": "p6e-gb200.36xlarge"}), "instance-not-offered")
    assert "it does in use1-dfw2-az1; take another type: a local zone has no managed node groups" in text


def test_a_system_pool_is_refused_where_no_zone_and_warned_of_where_some_zone_has_its_type() -> None:
    few = replace(SHIPPED, offerings={**OFFERINGS, "m7i.": {"us-east-2": ("use2-az2",)}})
    none = replace(SHIPPED, offerings={**OFFERINGS, "m7i.": {"us-east-2": ("use2-az3",)}})
    assert rules(planned(catalogue=few)) == ["instance-not-in-every-zone"]
    assert rules(planned(catalogue=none)) == ["instance-not-offered"]


@pytest.mark.parametrize("offerings", [{}, {"m7i.": {"eu-west-1": ("euw1-az1",)}}])
def test_what_is_not_recorded_is_not_judged(offerings: dict[str, dict[str, tuple[str, ...]]]) -> None:
    assert rules(planned(catalogue=replace(SHIPPED, offerings=offerings))) == []


def test_the_longest_beginning_of_a_name_holds() -> None:
    table = {"g7e.": {"us-east-1": ("use1-az1",)}, "g7e.8xlarge": {"us-east-1": ("use1-az2",)}}
    assert offered("g7e.8xlarge", table) == {"us-east-1": ("use1-az2",)}
    assert offered("g7e.2xlarge", table) == {"us-east-1": ("use1-az1",)}
    assert offered("x1.large", table) is None


def test_pods_that_get_no_address_are_foreseen_lf10() -> None:
    """LF10: EKS lets 58 pods onto a node of 3 x 15 addresses, one of whose places is taken by EFA."""
    row = SHIPPED.instances["p5.4xlarge"]
    card = replace(row.cards[0], max_interfaces=3)

    def plan(addresses: int) -> AwsPlan:
        small = replace(row, cards=(card,), addresses_per_interface=addresses)
        return planned(catalogue=replace(SHIPPED, instances={**SHIPPED.instances, row.type: small}))

    (text,) = told(plan(10), "pods-without-addresses")
    assert "has addresses for 20 pods, EKS lets 29 in, and up to 21 are expected" in text
    assert told(plan(11), "pods-without-addresses") == []


@pytest.mark.parametrize("name", sorted(SHIPPED.instances))
def test_no_type_of_the_catalogue_lacks_addresses_lf10(name: str) -> None:
    assert told(planned(changes={"pools.1.instanceType": name}), "pods-without-addresses") == []


def test_repair_in_a_block_is_told_lf13() -> None:
    """LF13: the successor of a replaced node can come from the same block only."""
    plan = booked()
    (text,) = told(plan, "repair-in-block")
    assert "ends a sick node of block cr-" in text
    assert "has 1 of its 2 nodes" in text
    assert "let runs take 1 nodes, so that one is spare, set repair to false" in text
    (alone,) = told(booked(count=1), "repair-in-block")
    assert "has 0 of its 1 nodes; set repair to false" in alone
    assert told(planned(), "repair-in-block") == []


@pytest.mark.parametrize(("instance", "found"), [("g6.2xlarge", []), ("g6.xlarge", ["exclusive-cpus-few"])])
def test_cpus_are_given_away_where_some_are_left_aa03(instance: str, found: list[str]) -> None:
    """Of 4 CPUs 4 would stay for daemons."""
    pool = {"pools.1.instanceType": instance, "pools.1.exclusiveCpus": True}
    plan = planned(changes=pool)
    assert [each for each in rules(plan) if each == "exclusive-cpus-few"] == found


def test_what_daemons_keep_is_not_counted_for_pods_aa03() -> None:
    shared, alone = planned(), planned(changes={"pools.1.exclusiveCpus": True})
    (name,) = (each.name for each in shared.pools.values() if each.role == "training")
    kept = shared.pools[name].allocatable_cpu_millicores - alone.pools[name].allocatable_cpu_millicores
    assert kept == 5500 - 110
    assert alone.runs["llama-3-8b-sft"].pod.cpu_millicores == 10_000


def test_no_kubelet_counts_the_numa_nodes_of_a_superchip_aa03() -> None:
    """34 of them: it does not start, and were it told to, it would not end."""
    (said,) = told(booked(type_="p6e-gb200.36xlarge", exclusive=True), "exclusive-cpus-numa")
    assert said.startswith("a p6e-gb200.36xlarge shows the memory of its GPUs")
    assert told(booked(type_="p6e-gb200.36xlarge"), "exclusive-cpus-numa") == []
    assert told(planned(changes={"pools.1.exclusiveCpus": True}), "exclusive-cpus-numa") == []


def test_services_have_no_cpus_to_themselves_aa03() -> None:
    """A proxy stands beside the server, and its CPU is not limited."""
    with pytest.raises(SettingsError, match="exclusiveCpus"):
        planned(changes={"pools.1.role": "inference", "pools.1.exclusiveCpus": True})


KEYS = [f"ssh-ed25519 {letter * 68}" for letter in "ABC"]
LIST = f"""Hostname;Pool;Management IP;Host Key;Service Tag;iDRAC;Rack;Unit;Colour
CP-1;system;10.20.0.11;{KEYS[0]};JQ7K01;10.20.4.11;r1;U40;grey
cp-2;system;10.20.0.12;{KEYS[1]};JQ7K02;10.20.4.12;r2;40;grey

cp-3;system;10.20.0.13;{KEYS[2]};JQ7K03;;;;
"""


def test_a_suppliers_list_becomes_an_inventory() -> None:
    """What it writes is what a stack file takes."""
    found, strange = machines(LIST)
    assert strange == ["Colour"]
    assert found[0] == {
        "name": "cp-1",
        "pool": "system",
        "address": "10.20.0.11",
        "hostKeys": [KEYS[0]],
        "serials": ["JQ7K01"],
        "bmc": "10.20.4.11",
        "racks": "r1",
        "units": [40],
    }
    told = sections("metal")
    told["inventory"]["hosts"] = [*found, *told["inventory"]["hosts"][1:]]
    inventory = from_sections(told).inventory  # type: ignore[union-attr]
    assert inventory is not None
    assert [member.address for _, member in inventory.members()][:3] == ["10.20.0.11", "10.20.0.12", "10.20.0.13"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the list is empty"),
        ("name,address\na,10.0.0.1\n", "no column is hostKeys; the first line has name, address"),
        ("name,address,host key\na,10.0.0.1\n", "line 2 has 2 cells and the first line 3"),
        ("name,address,host key\na,,k\n", "line 2: address is empty"),
        ("name,address,ip,host key\n", "two columns are address"),
        ("name,address,host key,unit\na,10.0.0.1,k,top\n", "line 2: unit is top; write its number"),
    ],
)
def test_a_list_that_says_too_little_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(ListError, match=said):
        machines(text)


def test_the_command_prints_entries_and_names_what_it_left_out(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("\ufeff" + LIST, encoding="utf-8")
    command = [sys.executable, "-m", "planner.machines_csv"]
    done = subprocess.run([*command, str(file)], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "left out: Colour\n")
    assert len(yaml.safe_load(done.stdout)["hosts"]) == 3
    lost = subprocess.run([*command, "nowhere.csv"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert lost.returncode == 1
    assert lost.stderr.startswith("error: nowhere.csv: ")
