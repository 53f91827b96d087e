"""The procurement checklist, and the bill of a stack on AWS."""

from datetime import date
from typing import Any

import pytest

from planner.bom import Basis, Bom, Part, bought, included
from planner.cost.amounts import Amount
from planner.procurement import Check, Status, bill_checks, open_checks, room_checks
from tests.planner.site import planned_site
from tests.planner.stacks import planned

SURE, ROUGH = Amount(usd=10, low=10, high=10), Amount(usd=10, low=5, high=15)
BLOCK = {"id": "cr-0123456789abcdef0", "zone": "use2-az1", "start": "2026-12-01", "end": "2026-12-08"}


def status(checks: tuple[Check, ...], item: str) -> Status:
    return next(check.status for check in checks if item in check.item)


def test_status_follows_from_what_is_known() -> None:
    """I02: a known price is derived, an order of magnitude is to be confirmed, no price and no line are missing."""
    bom = Bom(
        lines=(
            bought(Part.GPU, "server", 8, SURE),
            bought(Part.CABLING, "cable", 64, ROUGH, shelf=2),
            bought(Part.RACK, "rack", 4, None),
            included(Part.CPU, "processor", 16, "server"),
        )
    )
    checks = tuple(bill_checks(bom))
    assert status(checks, "8 x server") is Status.DERIVED
    assert status(checks, "64 x cable and 2 spare") is Status.CONFIRM
    assert status(checks, "4 x rack") is Status.MISSING
    assert status(checks, "16 x processor") is Status.DERIVED
    lacking = {check.section for check in checks if check.item == "nothing"}
    assert lacking == {"memory", "interconnect", "storage", "power", "cooling", "management"}
    assert [check.status for check in open_checks(checks)] == [*[Status.MISSING] * 7, Status.CONFIRM]


def test_prices_are_written_in_dollars() -> None:
    """I09: 250,000 and not 2.5e+05; cents below a hundred."""
    dear, cheap = Amount(usd=300_000, low=250_000, high=375_000), Amount(usd=70, low=60.5, high=250)
    bom = Bom(lines=(bought(Part.GPU, "server", 8, dear), bought(Part.CABLING, "cable", 64, cheap)))
    notes = [check.note for check in bill_checks(bom)][:2]
    assert notes == ["250,000 to 375,000 USD each", "60.50 to 250 USD each"]


def test_room_is_confirmed_by_its_owner() -> None:
    """I02, A12: power, circuits and heat; a room that nobody described is missing."""
    known = tuple(room_checks(planned_kw=112.04, rooms_kw=140, circuits=24, outlets={}, deliver_to="hall-2"))
    assert [check.status for check in known] == [Status.CONFIRM, Status.CONFIRM]
    assert "112.0 kW of power with its margin, on 24 circuits" in known[0].item
    unknown = tuple(room_checks(planned_kw=112.04, rooms_kw=None, circuits=24, outlets={}, deliver_to="hall-2"))
    assert unknown[1].status is Status.MISSING


def test_checklist_of_a_site() -> None:
    """I01, I02: compute, interconnect, storage, facility and management, each with what remains to be done."""
    plan = planned_site()
    sections = {check.section for check in plan.checklist}
    assert {"GPU subsystem", "interconnect", "storage", "facility", "management"} <= sections
    assert status(plan.checklist, "8 x DGX H100") is Status.CONFIRM
    assert status(plan.checklist, "64 x ConnectX-7 NDR") is Status.DERIVED
    assert status(plan.checklist, "kW of power") is Status.CONFIRM
    assert f"{plan.facility.power.planned_kw:.1f} kW" in " ".join(check.item for check in plan.checklist)


def test_checklist_of_a_stack_on_aws() -> None:
    """I02, Z04: quotas to ask for are told from those that every account has."""
    checks = planned("prod").checklist
    assert status(checks, "1536 vCPU of Running On-Demand P instances") is Status.CONFIRM
    assert status(checks, "NAT gateways") is Status.DERIVED
    assert status(checks, "8 x p5.48xlarge") is Status.DERIVED
    assert any("ec2 L-417A185B; a new account has 0" in check.note for check in checks)


def test_capacity_block_is_confirmed_by_its_buyer() -> None:
    """PF10, I02: the reservation is on the list, and the vCPU count against the quota of blocks."""
    changes: dict[str, Any] = {
        "pools.1": {
            "name": "training",
            "role": "training",
            "instanceType": "p5.48xlarge",
            "count": 2,
            "capacity": "capacity-block",
            "reservation": BLOCK,
        },
        "budget.maxHourlyUsd": 900,
    }
    checks = planned(changes=changes, today=date(2026, 12, 2)).checklist
    assert status(checks, "cr-0123456789abcdef0 for pool training") is Status.CONFIRM
    assert status(checks, "384 vCPU of Concurrent P5 Capacity Blocks per account") is Status.CONFIRM


def test_bill_of_a_stack_on_aws() -> None:
    """I01, A11, A12, Z17: ten sections by the hour, the sum of which is the stack's price; software costs nothing."""
    plan = planned("prod")
    assert plan.bom.empty == ()
    assert plan.bom.unpriced == ()
    assert plan.bom.cost(Basis.HOURLY).usd == pytest.approx(plan.prices.hourly, abs=0.005)
    assert plan.bom.cost().usd == 0
    items = {line.item: line for line in plan.bom.lines}
    assert items["p5.48xlarge"].count == 8
    assert items["EFA interface"].count == 256
    assert items["p5.48xlarge"].each == Amount(usd=55.04, low=55.04, high=75.9552)
    assert {line.item for line in plan.bom.lines if line.part is Part.SOFTWARE} >= {"Kubernetes", "volcano"}


def test_instances_without_a_price_are_missing() -> None:
    """PW14, I02: a type nobody has a price for is on the list as that."""
    plan = planned(changes={"pools.1.instanceType": "p5e.48xlarge"})
    assert [line.item for line in plan.bom.unpriced] == ["p5e.48xlarge"]
    assert status(plan.checklist, "2 x p5e.48xlarge") is Status.MISSING


def test_a_price_below_a_cent_is_not_told_as_zero() -> None:
    (logs,) = [check for check in planned().checklist if check.item.endswith("GB of logs a month")]
    assert logs.note.startswith("0.00068 to 0.001 USD an hour")
