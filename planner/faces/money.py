"""Prices, quotas and the purchase as text."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from catalogue.prices import LISTED_REGIONS
from planner.bom import Bom
from planner.cost.amounts import LIFE_YEARS, Amount, OwnedCost, Prices
from planner.cost.comparison import Comparison
from planner.faces.layout import facts, section, table
from planner.procurement import Check, QuotaNeed, Status, open_checks
from planner.wording import usd


def prices(plan: Prices) -> RenderableType:
    """Every line of the hourly price, the sum, and what the lines of use rest on."""
    headings = ("what", "quantity", "USD/h", "from", "to")
    lines = (
        (line.name, line.quantity, usd(line.usd_per_hour), usd(line.low), usd(line.high))
        for line in plan.lines
        if line.quantity
    )
    return section("price", table(headings, lines), facts(price_facts(plan)))


def price_facts(plan: Prices) -> Iterator[tuple[str, str | None]]:
    yield "an hour", f"{usd(plan.hourly)} USD, between {usd(plan.hourly_low)} and {usd(plan.hourly_high)}"
    yield "a month", f"{usd(plan.monthly)} USD"
    if not plan.listed:
        yield (
            "prices of",
            f"{', '.join(sorted(LISTED_REGIONS))}: none is recorded for {plan.region}; the range reaches to the "
            "dearest region seen",
        )
    if not plan.offers_recorded:
        yield "offers", f"what EC2 sells in {plan.region} is not recorded; make doctor asks the account"
    yield "an hour of", ", ".join(f"{purpose} {usd(each)}" for purpose, each in plan.by_purpose.items() if each)
    yield "by layer", ", ".join(f"{layer} {usd(each)}" for layer, each in plan.by_layer.items() if each)
    yield "without a price", ", ".join(plan.unpriced) or None
    for block in plan.blocks:
        yield f"block {block.pool}", f"{usd(block.usd)} USD in advance for {block.hours} h"
    yield "assumed", "; ".join(plan.assumptions) or None


def purchase(bom: Bom, owned: OwnedCost, cloud: Comparison | None) -> RenderableType:
    """The bill by part of the cluster, what the years cost, and renting the same."""
    sums = bom.by_part()
    lines = (
        (str(part), sum(line.part is part for line in bom.lines), *_range(amount))
        for part, amount in sums.items()
        if amount.usd or any(line.part is part for line in bom.lines)
    )
    headings = ("purchase", "lines", "USD", "from", "to")
    everything = ("all", len(bom.lines), *_range(owned.purchase))
    return section("cost", table(headings, [*lines, everything]), facts(owned_facts(bom, owned, cloud)))


def _range(amount: Amount) -> tuple[str, str, str]:
    if not amount.high:
        return "included", "", ""
    return usd(amount.usd), usd(amount.low), usd(amount.high)


def owned_facts(bom: Bom, owned: OwnedCost, cloud: Comparison | None) -> Iterator[tuple[str, str | None]]:
    yield "without a price", ", ".join(dict.fromkeys(line.item for line in bom.unpriced)) or None
    if owned.purchase_per_gpu:
        yield "a GPU", f"{usd(owned.purchase_per_gpu.usd)} USD"
    if owned.purchase.usd:
        more = owned.purchase_with_redundancy
        why = "where power, cooling and fabric of the bill are not redundant yet"
        yield "with redundancy", f"{usd(more.usd)} USD ({usd(more.low)} to {usd(more.high)}), {why}"
    running = owned.running
    parts = f"power {usd(running.power.usd)}, staff {usd(running.staff.usd)}, support {usd(running.support.usd)}"
    yield "a year", f"{usd(running.yearly.usd)} USD ({parts})"
    yield "an hour", f"{usd(owned.hourly.usd)} USD with the purchase spread over {LIFE_YEARS} years"
    if cloud:
        rented = ", ".join(f"{count} x {name}" for name, count in cloud.rented.items())
        span = f"{usd(cloud.cloud_low_usd_per_hour)} to {usd(cloud.cloud_high_usd_per_hour)}"
        yield cloud.price_class, f"{usd(cloud.cloud_usd_per_hour)} USD an hour on AWS, {span} ({rented})"
        months = cloud.break_even_months
        against = f"bought, against {cloud.price_class}"
        yield "break-even", f"after {months:.1f} months of full use, {against}" if months is not None else "never"


def order(bom: Bom, checklist: Sequence[Check]) -> RenderableType:
    """What the bill of materials and the checklist have, with the lines that a person has to confirm.

    Every line is in the JSON document.
    """
    counts, left = Counter(check.status for check in checklist), open_checks(checklist)
    checks = ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])
    missing = ", ".join(dict.fromkeys(check.section for check in left if check.status is Status.MISSING))
    rows = (
        ("bill", f"{len(bom.lines)} lines, {len(bom.unpriced)} of them without a price"),
        ("checklist", checks),
        ("missing", missing or None),
    )
    confirm = [check for check in left if check.status is Status.CONFIRM]
    listed = table(("to confirm", "what", "note"), ((check.section, check.item, check.note) for check in confirm))
    return section(
        "bill of materials",
        facts(rows),
        *([listed] if confirm else []),
        Text("FORMAT=json lists every line", "dim"),
    )


def quotas(needs: Sequence[QuotaNeed]) -> RenderableType:
    """The quotas that a new account has too little of."""
    beyond = [need for need in needs if need.beyond_default]
    rows = ((need.quota.name, need.need, need.quota.default, need.basis) for need in beyond)
    rest = f"{len(needs) - len(beyond)} further quotas suffice as a new account has them"
    if not beyond:
        return section("quotas", Text(rest))
    return section("quotas", table(("ask Service Quotas for", "needed", "default", "because of"), rows), Text(rest))
