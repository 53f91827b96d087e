"""One graph of every cable: bill, racks, power, cable list and drawing are views of it."""

import csv
import re
from collections import Counter
from io import StringIO

import pytest

from planner.faces.lists import cables
from planner.faces.page.whole import page
from planner.facility.power import Kind
from planner.metal_types import MetalPlan
from tests.planner.site import planned_site
from tests.planner.stacks import planned_metal

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
    on_bill = sum(count for item, count in bought(plan, "").items() if item in _switch_lines(plan))
    assert on_bill == sum(design.switches for _, design in designs.values())
    fibres = sum(count for item, count in bought(plan, " cable").items() if item != "management cable")
    same = [line for line in plan.bom.lines if line.item == "ndr multimode cable"]
    fibres += sum(line.count for line in same[:-1])
    assert fibres == sum(count for span, count in spans.items() if span not in ("management", "bmc"))
    assert bought(plan, "management cable") == {"management cable": spans["management"] + spans["bmc"]}
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


def _switch_lines(plan: MetalPlan) -> set[str]:
    assert plan.fabric is not None
    return {plan.fabric.switch.name, "management switch"} | {
        f"{each.switch.name} of the storage network" for each in plan.networks if each.kind == "storage"
    }


@pytest.mark.parametrize("changes", _SITES)
def test_every_port_is_plugged_once(changes: dict[str, object]) -> None:
    """A12: no port of a switch or machine has two cables, and each machine is on the management network twice."""
    plan = planned_site(changes)
    for network in plan.networks:
        links = list(network.links())
        ends = [(link.high, link.high_port) for link in links] + [(link.low, link.low_port) for link in links]
        assert len(ends) == len(set(ends))
        assert len(links) == network.design.cables
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
        sum(each.design.cables for each in planned_metal({"pools.1.count": nodes, "pools.1.maxCount": 64}).networks)
        for nodes in (1, 2, 5, 9, 17, 23)
    ]
    assert counts == sorted(counts)
