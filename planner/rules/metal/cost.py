"""The purchase, and the hourly price of what was bought."""

from collections.abc import Iterable
from math import ceil

from planner.bom import Part
from planner.cost.amounts import LIFE_YEARS
from planner.draft import MetalDraft, metal_rule, metal_warning
from planner.findings import Observation
from planner.wording import enough, usd


@metal_rule(
    "Z15 PW10 PW11 PW12",
    formula="sum of the bill of materials <= maxPurchaseUsd",
    source="Definition of the stack file; prices of the catalogue's rows",
)
def purchase_budget(draft: MetalDraft) -> Iterable[Observation]:
    """The purchase as a whole, item by item, stays within its budget."""
    limit, cost = _purchase_limit(draft), draft.bom.cost()
    if limit is not None and cost.usd > limit:
        part, dearest = max(draft.bom.by_part().items(), key=lambda each: each[1].usd)
        yield Observation(
            path="budget.maxPurchaseUsd",
            sentence=f"the bill of materials is about {_round(cost.usd)} USD ({_round(cost.low)} to "
            f"{_round(cost.high)}; most of it {part}, {_round(dearest.usd)}), and the budget is {_round(limit)}",
            remedy=f"raise the budget to {ceil(cost.usd)}, or buy fewer or smaller parts",
            inputs={"purchase": f"{cost.usd:.0f} USD", "limit": f"{limit:.0f} USD"},
        )


@metal_warning(
    "PW11 I09",
    formula="high end of the bill <= maxPurchaseUsd",
    source="Definition of the stack file; price ranges of the catalogue's rows",
)
def purchase_range(draft: MetalDraft) -> Iterable[Observation]:
    """Prices are ranges: a budget that covers the likely sum may not cover the highest one."""
    limit, cost = _purchase_limit(draft), draft.bom.cost()
    if limit is not None and cost.usd <= limit < cost.high:
        yield Observation(
            path="budget.maxPurchaseUsd",
            sentence=f"the budget of {_round(limit)} USD covers the likely purchase of {_round(cost.usd)}, but not the "
            f"high end of its range, {_round(cost.high)}",
            remedy="ask for quotations of the dearest parts (the checklist names them), and set them as site prices",
            inputs={"likely": f"{cost.usd:.0f} USD", "high": f"{cost.high:.0f} USD", "limit": f"{limit:.0f} USD"},
        )


@metal_warning(
    "PW11 I09",
    by_name=True,
    formula="every line of the bill of materials has a price",
    source="Definition of the stack file; prices of the catalogue's rows",
)
def purchase_unpriced(draft: MetalDraft) -> Iterable[Observation]:
    """A part without a recorded price is not free, so the budget says nothing about it."""
    if _purchase_limit(draft) is None:
        return
    for line in draft.bom.unpriced:
        yield Observation(
            path="budget.maxPurchaseUsd",
            sentence=f"no price of {line.item} is recorded, so the budget cannot cover "
            f"{line.count or line.spares:g} of it",
            remedy="add a row like it with a price to gpucluster:catalogue, or waive it with the quotation as reason",
            subject=line.item,
            inputs={"unpriced": f"{line.count or line.spares:g} pieces"},
        )


@metal_warning(
    "PW10",
    formula="storage <= half of the bill of materials",
    source="Definition of the planner; prices of the catalogue's rows",
)
def storage_outweighs_gpus(draft: MetalDraft) -> Iterable[Observation]:
    """Storage costs less than everything else together; more is seldom what was meant."""
    whole, storage = draft.bom.cost(), draft.bom.by_part()[Part.STORAGE]
    if storage.usd > whole.usd / 2:
        yield Observation(
            path="storage",
            sentence=f"storage is {_round(storage.usd)} of the purchase's {_round(whole.usd)} USD, more than the rest",
            remedy="take fewer storage servers, or check that the GPUs are the right ones",
            inputs={"storage": f"{storage.usd:.0f} USD", "purchase": f"{whole.usd:.0f} USD"},
        )


@metal_rule(
    "Z15 PW12",
    formula="(purchase + 5 years of power, staff and support) / 43,800 h <= maxHourlyUsd",
    source="Definition of the planner: a life of five years; prices of the catalogue's rows",
)
def owned_hourly_budget(draft: MetalDraft) -> Iterable[Observation]:
    """An hour of on-premises racks, with the purchase spread over five years, stays within its budget."""
    limit = draft.settings.budget.max_hourly_usd if draft.settings.budget else None
    hourly, running = draft.owned.hourly, draft.owned.running
    if limit is not None and hourly.usd > limit:
        yield Observation(
            path="budget.maxHourlyUsd",
            sentence=f"an hour costs {hourly.usd:.2f} USD over {LIFE_YEARS} years ({hourly.low:.2f} to "
            f"{hourly.high:.2f}; a year of power {_round(running.power.usd)}, of staff {_round(running.staff.usd)}, of "
            f"support {_round(running.support.usd)}), and the budget is {usd(limit)}",
            remedy=f"raise the budget to {enough(hourly.usd)}, or buy fewer nodes",
            inputs={"hourly": f"{hourly.usd:.2f} USD/h", "limit": f"{usd(limit)} USD/h"},
        )


def _purchase_limit(draft: MetalDraft) -> float | None:
    return draft.settings.budget.max_purchase_usd if draft.settings.budget else None


def _round(amount: float) -> str:
    """Dollars as people say them: three figures are more than the prices know."""
    if amount < 10_000:
        return usd(amount)
    return f"{amount / 1e6:.2f} million" if amount >= 1e6 else f"{amount / 1e3:.0f} thousand"
