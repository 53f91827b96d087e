"""Rules about what on-premises racks cost: each spoken and each silent."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.tables import SHIPPED
from catalogue.types import PurchasePrice
from catalogue.whole import Catalogue
from planner.bom import Part
from tests.planner.site import TODAY, found, planned_site

WHOLE = planned_site().bom.cost()
HOUR = planned_site().owned.hourly


def test_a_site_without_a_budget_is_not_judged() -> None:
    """Z15: nobody said what it may cost; the bill is there all the same."""
    assert not {"purchase-budget", "purchase-range", "purchase-unpriced", "owned-hourly-budget"} & {
        finding.rule for finding in planned_site().findings
    }
    assert WHOLE.usd > 3e6


@pytest.mark.parametrize(
    ("limit", "rules"),
    [
        (WHOLE.usd - 1, ["purchase-budget"]),
        (WHOLE.usd, ["purchase-range"]),
        (WHOLE.high - 1, ["purchase-range"]),
        (WHOLE.high, []),
    ],
)
def test_purchase_is_compared_with_its_range(limit: float, rules: list[str]) -> None:
    """Z15, PW11, I09: above the likely sum it is refused; between that and the dear one it is mentioned."""
    plan = planned_site({"budget": {"maxPurchaseUsd": limit}})
    assert [finding.rule for finding in plan.findings if finding.rule.startswith("purchase")] == rules


def test_purchase_budget_names_the_dearest_part() -> None:
    """PW10, PW12: the sentence has the sum, its range and where most of it goes."""
    (finding,) = found("purchase-budget", {"budget": {"maxPurchaseUsd": 2_000_000}})
    assert "most of it GPU subsystem, 2.40 million" in finding.sentence
    assert "and the budget is 2.00 million" in finding.sentence
    assert finding.path == "gpucluster:budget.maxPurchaseUsd"


def _priced(name: str, price: PurchasePrice | None) -> Catalogue:
    row = replace(SHIPPED.storage_servers[name], price=price)
    return replace(SHIPPED, storage_servers={**SHIPPED.storage_servers, name: row})


def test_part_without_a_price_is_named() -> None:
    """PW11: a sum that leaves the object servers out is no sum."""
    catalogue = _priced("OSS 24x15.36TB NDR", None)
    budget: dict[str, Any] = {"budget": {"maxPurchaseUsd": 1e7}}
    (finding,) = found("purchase-unpriced", budget, catalogue=catalogue)
    assert (finding.subject, "cover 4 of it" in finding.sentence) == ("OSS 24x15.36TB NDR", True)
    assert found("purchase-unpriced", budget) == []
    assert found("purchase-unpriced", catalogue=catalogue) == []


@pytest.mark.parametrize(("usd", "spoken"), [(500_000, False), (900_000, True)])
def test_storage_dearer_than_everything_else(usd: float, spoken: bool) -> None:
    """PW10: storage of 1.5 to 2 million in a cluster of 2.0 million leaves nothing for GPUs."""
    price = PurchasePrice(usd=usd, low=usd, high=usd, as_of=TODAY, source="a quotation")
    catalogue = _priced("OSS 24x15.36TB NDR", price)
    assert bool(found("storage-outweighs-gpus", catalogue=catalogue)) is spoken
    by_part = planned_site(catalogue=catalogue).bom.by_part()
    assert by_part[Part.STORAGE].usd > 4 * usd


@pytest.mark.parametrize(("limit", "spoken"), [(HOUR.usd + 0.01, False), (HOUR.usd - 0.01, True)])
def test_hour_of_ones_own(limit: float, spoken: bool) -> None:
    """Z15, PW12: purchase over five years, power, staff and support, to the cent."""
    findings = found("owned-hourly-budget", {"budget": {"maxHourlyUsd": limit}})
    assert bool(findings) is spoken
    assert all(f"an hour costs {HOUR.usd:.2f} USD over 5 years" in finding.sentence for finding in findings)


@given(limit=st.floats(1e5, 1e7), more=st.floats(0, 1e7), key=st.sampled_from(["maxPurchaseUsd", "maxHourlyUsd"]))
def test_a_higher_budget_never_breaks_a_site(limit: float, more: float, key: str) -> None:
    """Z15: what was no error with a budget is none with a larger one."""
    budgets = ({"budget": {key: min(usd, 1e6) if key == "maxHourlyUsd" else usd}} for usd in (limit, limit + more))
    before, after = ({finding.rule for finding in planned_site(budget).errors} for budget in budgets)
    assert after <= before


def test_a_small_budget_is_told_as_it_is() -> None:
    """3 USD are no "0 thousand"."""
    (finding,) = found("purchase-budget", {"budget": {"maxPurchaseUsd": 3}})
    assert finding.sentence.endswith("and the budget is 3.00")
    (finding,) = found("owned-hourly-budget", {"budget": {"maxHourlyUsd": 0.001}})
    assert finding.sentence.endswith("and the budget is 0.001")
