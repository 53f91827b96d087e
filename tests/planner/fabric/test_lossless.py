"""What each switch is told: the classes are those of cards and ranks, and nothing else is paused."""

import csv
from dataclasses import replace
from io import StringIO

import pytest

from planner.fabric.plan import PodPorts
from planner.faces.lists import switches
from planner.metal_types import MetalPlan
from tests.planner.site import planned_site

from .sites import ROCE, ROCE_CARDS


def told(planned: MetalPlan) -> list[dict[str, str]]:
    listed = switches(planned)
    assert listed is not None
    return list(csv.DictReader(StringIO(listed)))


def roce(mtu: int | None = 9000) -> MetalPlan:
    return planned_site({**ROCE, "fabric.ecn": True, **({"fabric.mtu": mtu} if mtu else {})}, catalogue=ROCE_CARDS)


def test_every_switch_has_a_line_for_each_setting_in_three_makers_words() -> None:
    planned = roce()
    assert planned.fabric is not None
    rows = told(planned)
    design = planned.fabric.growth.day_one
    assert len({row["switch"] for row in rows}) == design.leaves + design.spines
    settings = ["frames", "trust", "class of RDMA", "PFC", "ECN", "answers to marks"]
    assert [row["setting"] for row in rows if row["switch"] == rows[0]["switch"]] == settings
    assert all(row["Cumulus Linux (NVIDIA)"] and row["EOS (Arista)"] and row["SONiC"] for row in rows)
    assert not any(row["done"] for row in rows)


def test_ranks_cards_and_switches_mean_one_class() -> None:
    planned = roce()
    assert planned.fabric is not None
    rows = {row["setting"]: row for row in told(planned)}
    assert int(planned.fabric.nccl["NCCL_IB_TC"]) >> 2 == 26
    assert rows["class of RDMA"]["value"] == "DSCP 26 is class 3"
    assert rows["PFC"]["EOS (Arista)"].endswith("priority-flow-control priority 3 no-drop")
    assert rows["ECN"]["SONiC"] == "ecnconfig -p PROFILE -gmin 150000 -gmax 1500000"


@pytest.mark.parametrize(("mtu", "words"), [(9000, "at least 9022"), (None, "the same at every port")])
def test_frames_are_longer_than_packets(mtu: int | None, words: str) -> None:
    assert told(roce(mtu))[0]["value"] == f"9216 bytes ({words})"


def test_a_fabric_of_sockets_has_frames_alone() -> None:
    planned = roce()
    assert planned.fabric is not None
    rows = told(replace(planned, fabric=replace(planned.fabric, kind="ethernet")))
    assert {row["setting"] for row in rows} == {"frames"}


def test_infiniband_is_told_by_its_subnet_manager() -> None:
    planned = planned_site()
    assert planned.fabric is not None
    functions = PodPorts(mode="sriov", per_port=2, networks=())
    rows = told(replace(planned, fabric=replace(planned.fabric, pod_ports=functions)))
    lines = {row["setting"]: row["opensm: line"] for row in rows}
    assert "mtu=5" in lines["MTU of the default partition"]
    assert lines["virtual ports"] == "virt_enabled 2"
    assert len(told(planned)) == len(rows) - 1
