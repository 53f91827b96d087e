"""One graph of every cable: bill, racks, power, cable list and drawing are views of it; who is near whom."""

import csv
import re
from collections import Counter
from io import StringIO
from typing import Any

import pytest

from planner.fabric.design import names
from planner.fabric.near import Domain, domains, plugged_above
from planner.faces.lists import cables
from planner.faces.page.whole import page
from planner.facility.power import Kind
from planner.metal_types import MetalPlan
from tests.planner.fabric.fabrics import LEAF_SPINE, SINGLE, built
from tests.planner.fabric.test_pod_ports import inventory
from tests.planner.fuzz.checks import switch_lines
from tests.planner.site import found, planned_site
from tests.planner.stacks import planned, planned_metal

_SITES: tuple[dict[str, object], ...] = (
    {},
    {"pools.1.count": 3},
    {"pools.1.count": 21, "facility.racks.count": 40, "training.runs.0.nodes": 21},
    {"storage.lustre.network": "compute", "fabric.storagePorts": 8, "fabric.topology": "leaf-spine"},
    {"fabric.redundant": False, "storage.lustre.count": 11, "facility.racks.count": 9},
)


def bought(plan: MetalPlan, word: str) -> dict[str, float]:
    """Lines of the bill with that word, how many of each."""
    return {line.item: line.count for line in plan.bom.lines if word in line.item}


@pytest.mark.parametrize("changes", _SITES)
def test_five_views_of_one_graph_agree(changes: dict[str, object]) -> None:
    """A11, A12, H16: switches on the bill draw power and fill racks, cables on the bill are listed and drawn."""
    plan = planned_site(changes)
    assert plan.fabric is not None
    listed = list(csv.DictReader(StringIO(cables(plan) or "")))
    spans = Counter(each["span"] for each in listed)
    designs = {"switch": (plan.fabric.switch, plan.fabric.growth.day_one)}
    designs |= {f"{each.kind}-switch": (each.switch, each.design) for each in plan.networks}
    # bill
    on_bill = sum(count for item, count in bought(plan, "").items() if item in switch_lines(plan))
    assert on_bill == sum(design.switches for _, design in designs.values())
    fibres = sum(count for item, count in bought(plan, " cable").items() if item != "management cable")
    same = [line for line in plan.bom.lines if line.item == "ndr multimode cable"]
    fibres += sum(line.count for line in same[:-1])
    assert fibres == sum(count for span, count in spans.items() if span not in ("management", "bmc", "uplink"))
    beside = spans["management"] + spans["bmc"] + spans["uplink"]
    assert bought(plan, "management cable") == {"management cable": beside}
    strips = {each["from"] for each in listed if each["from"].startswith("power-strip-")}
    assert bought(plan, "rack PDU") == {"rack PDU": len(strips)}
    assert spans["uplink"] == 2 * bought(plan, "management switch")["management switch"]
    # racks and power
    racked = Counter(name.rpartition("-")[0] for rack in plan.facility.racks for name in rack.machines)
    for name, (row, design) in designs.items():
        assert racked[name] == design.switches
        (group,) = [each for each in plan.facility.machines if each.name == name]
        assert group.kind is Kind.SWITCH
        assert group.watts == row.max_w
    watts = sum(design.switches * row.max_w for row, design in designs.values())
    assert plan.facility.power.switches_kw == pytest.approx(watts / 1000)
    # drawing
    drawn = sum(map(int, re.findall(r'data-cables="(\d+)"', page("site", plan))))
    assert drawn == len(listed) / plan.fabric.growth.day_one.planes


@pytest.mark.parametrize("changes", _SITES)
def test_every_port_is_plugged_once(changes: dict[str, object]) -> None:
    """A12: no port of a switch or machine has two cables, and each machine is on the management network twice."""
    plan = planned_site(changes)
    for network in plan.networks:
        links = list(network.links())
        ends = [(link.high, link.high_port) for link in links] + [(link.low, link.low_port) for link in links]
        assert len(ends) == len(set(ends))
        assert len(links) == network.cables
    (management,) = (each for each in plan.networks if each.kind == "management")
    plugged = Counter(link.low for link in management.links())
    for pool in plan.pools.values():
        assert all(plugged[f"{pool.name}-{number}"] == 2 for number in range(pool.count))


def test_storage_on_the_compute_fabric_has_no_network_of_its_own() -> None:
    """A12: with `network: compute` nothing of a storage network is bought, racked or plugged."""
    plan = planned_site(_SITES[3])
    assert [each.kind for each in plan.networks] == ["management"]
    assert not bought(plan, "of the storage network")


def test_more_machines_never_take_fewer_cables() -> None:
    """A12: at odd sizes too."""
    counts = [
        sum(each.cables for each in planned_metal({"pools.1.count": nodes, "pools.1.maxCount": 64}).networks)
        for nodes in (1, 2, 5, 9, 17, 23)
    ]
    assert counts == sorted(counts)


SMALL_LEAVES = {"fabric.spareLeafPorts": 28}
"""Four nodes at a leaf of each rail."""


WITHIN = {"training.runs.0.within": "leaf"}
BY_TRAINER = {**WITHIN, "training.runs.0.api": "v2"}


def above(changes: dict[str, Any] | None = None) -> dict[str, tuple[str, ...]]:
    return dict(planned_site({**inventory(), **(changes or {})}).above)


def test_nodes_of_a_group_have_its_leaf_of_the_first_rail_above_them() -> None:
    assert set(above()) == {f"dgx-{number:02}" for number in range(1, 9)}
    assert set(above().values()) == {("leaf-r0-01", "spine-01")}
    apart = above(SMALL_LEAVES)
    assert [apart[f"dgx-{number:02}"][0] for number in (1, 8)] == ["leaf-r0-01", "leaf-r0-02"]


def test_machines_at_one_leaf_are_equally_near() -> None:
    assert domains(above()) == ()
    assert domains({}) == ()
    design = built(2, 64, SINGLE)
    assert domains(plugged_above(design, names(design))) == ()


def test_domains_of_three_tiers_are_a_tree() -> None:
    """Switches of four ports: two nodes at a leaf, two leaves in a pod."""
    design = built(10, 4, LEAF_SPINE, rails=1)
    assert (design.leaves, design.pods, design.cores) == (5, 3, 4)
    tree = domains(plugged_above(design, names(design)))
    assert [each for each in tree if each.tier > 1] == [
        Domain(name="spine-01", tier=2, members=("leaf-01", "leaf-02")),
        Domain(name="spine-03", tier=2, members=("leaf-03", "leaf-04")),
        Domain(name="spine-05", tier=2, members=("leaf-05",)),
        Domain(name="core-01", tier=3, members=("spine-01", "spine-03", "spine-05")),
    ]
    nodes = [member for each in tree if each.tier == 1 for member in each.members]
    assert nodes == [f"node-{number:02}" for number in range(1, 11)]


def test_a_stack_without_machines_has_none() -> None:
    assert planned_site().above == {}


def test_a_run_is_within_a_leaf_that_has_its_nodes() -> None:
    assert not found("within-cannot", {**inventory(), **BY_TRAINER})
    (finding,) = found("within-cannot", {**inventory(), **SMALL_LEAVES, **BY_TRAINER})
    assert finding.path == "gpucluster:training.runs[0].within"
    assert finding.sentence == "is leaf, the run has 8 nodes, and no leaf has more than 4"
    assert not found("within-cannot", {**inventory(), **SMALL_LEAVES, **BY_TRAINER, "training.runs.0.nodes": 4})
    assert not found("within-cannot", {**inventory(), **SMALL_LEAVES, **BY_TRAINER, "training.runs.0.within": "spine"})
    assert not found("within-cannot", {**inventory(), **SMALL_LEAVES, **BY_TRAINER, "training.runs.0.within": "core"})


def test_a_group_that_cannot_say_it_is_refused() -> None:
    (finding,) = found("within-cannot", {**inventory(), **WITHIN})
    assert finding.remedy == "set api to v2, or remove it"
    (finding,) = [each for each in planned("prod", BY_TRAINER).errors if each.rule == "within-cannot"]
    assert "knows no switches" in finding.sentence


def test_the_plan_of_a_run_says_what_it_is_within() -> None:
    assert planned_site({**inventory(), **BY_TRAINER}).runs["pretrain"].within == "leaf"
    assert planned_site(inventory()).runs["pretrain"].within is None
