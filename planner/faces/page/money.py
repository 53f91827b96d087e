"""What the stack costs, drawn: over the years where it is bought, by the hour where it is rented."""

from collections.abc import Iterator

from planner.bom import Bom, BomLine
from planner.cost.amounts import LIFE_YEARS, Prices
from planner.faces.layout import quantity
from planner.faces.money import owned_facts, price_facts
from planner.faces.page.charts import Axis, Curve, Mark, curves, ranges, short
from planner.faces.page.elements import Child, Markup, element, facts, folded, section, table
from planner.metal_types import MetalPlan
from planner.procurement import Check, QuotaNeed, Status, open_checks
from planner.wording import usd

_MONTHS = 12
_VISIBLE = 0.002
"""Lines of a smaller share than this are drawn as one."""


def prices(plan: Prices) -> Markup:
    """The hourly price by line with its range, the sums, and what they rest on."""
    lines = sorted((each for each in plan.lines if each.quantity), key=lambda each: -each.usd_per_hour)
    rows = [(each.name, each.usd_per_hour, each.low, each.high) for each in lines if each.usd_per_hour]
    shown = [row for row in rows if row[1] >= _VISIBLE * plan.hourly]
    rest = rows[len(shown) :]
    if rest:
        _, values, lows, highs = zip(*rest, strict=True)
        shown.append((f"{len(rest)} further lines", sum(values), sum(lows), sum(highs)))
    drawn = ranges("prices-drawing", "USD an hour, by line", "USD/h", shown) if shown else None
    listed = table(
        "Every line, USD an hour",
        ("what", "quantity", "USD/h", "from", "to", "assumed"),
        (
            (each.name, quantity(each.quantity), usd(each.usd_per_hour), usd(each.low), usd(each.high), each.basis)
            for each in lines
        ),
        range(1, 5),
    )
    return section("cost", "Cost", facts(price_facts(plan)), drawn, folded(f"{len(lines)} lines", listed))


def purchase(plan: MetalPlan) -> Markup:
    """What is bought, what the years cost, and renting the same."""
    owned, cloud = plan.owned, plan.cloud
    spans = range(LIFE_YEARS + 1)
    spent_by = [(float(span), owned.over(span)) for span in spans]
    band = [(span, amount.low, amount.high) for span, amount in spent_by]
    lines = [Curve(name="owned", points=[(span, amount.usd) for span, amount in spent_by], band=band)]
    if cloud:
        spent = [(0.0, 0.0), *((float(year.years), year.cloud_usd) for year in cloud.years)]
        low, high = (
            each / cloud.cloud_usd_per_hour for each in (cloud.cloud_low_usd_per_hour, cloud.cloud_high_usd_per_hour)
        )
        ranged = [(span, low * usd_, high * usd_) for span, usd_ in spent]
        lines.append(Curve(name=f"rented on AWS {cloud.price_class}", points=spent, band=ranged))
    even = cloud.break_even_months if cloud else None
    marks = [Mark(name="break-even after years", x=even / _MONTHS)] if even is not None else []
    drawn = curves(
        "cost-drawing",
        "USD spent after so many years",
        f"At the end of {LIFE_YEARS} years {', '.join(map(_end, lines))}.",
        lines,
        Axis(name="years", steps=LIFE_YEARS),
        Axis(name="USD", written=short),
        marks,
    )
    return section("cost", "Cost", facts(owned_facts(plan.bom, owned, cloud)), drawn if owned.purchase.usd else None)


def _end(curve: Curve) -> str:
    ranged = f" ({usd(curve.band[-1][1])} to {usd(curve.band[-1][2])})" if curve.band else ""
    return f"{curve.name} {usd(curve.points[-1][1])} USD{ranged}"


def quotas(needs: tuple[QuotaNeed, ...]) -> Markup:
    """Every quota that the stack takes from, those to ask for first."""
    ordered = sorted(needs, key=lambda need: not need.beyond_default)
    rows = (
        (
            element("b", "ask for more", class_="warning") if need.beyond_default else "suffices",
            need.quota.name,
            quantity(need.need),
            quantity(need.quota.default),
            need.basis,
        )
        for need in ordered
    )
    headings = ("", "quota", "needed", "a new account has", "because of")
    return section("quotas", "Service quotas", table("Service quotas of the account", headings, rows, (2, 3)))


def bill(bom: Bom, checklist: tuple[Check, ...]) -> Markup:
    """The bill by part, every line of it, and what is left to do."""
    parts = [
        (str(part), sum(line.part is part for line in bom.lines), usd(amount.usd), usd(amount.low), usd(amount.high))
        for part, amount in bom.by_part().items()
        if any(line.part is part for line in bom.lines)
    ]
    summary = table("Purchase by part, USD", ("part", "lines", "USD", "from", "to"), parts, range(1, 5))
    headings = ("part", "item", "count", "spares", "paid", "USD", "note")
    lines = table("Bill of materials", headings, map(_line, bom.lines), (2, 3, 5))
    left = open_checks(checklist)
    done = tuple(each for each in checklist if each.status is Status.DERIVED)
    checks = table(
        "Procurement checklist",
        ("state", "section", "item", "note"),
        ((str(each.status), each.section, each.item, each.note) for each in (*left, *done)),
    )
    return section(
        "bill",
        "Bill of materials",
        summary if any(amount.usd for amount in bom.by_part().values()) else None,
        folded(f"{len(bom.lines)} lines, {len(bom.unpriced)} of them without a price", lines),
        folded(f"checklist: {len(checklist)} lines, {len(left)} missing or to confirm", checks),
    )


def _line(line: BomLine) -> Iterator[Child]:
    yield str(line.part)
    yield line.item
    yield quantity(line.count)
    yield quantity(line.spares) if line.spares else ""
    yield str(line.basis)
    yield "" if line.cost is None else usd(line.cost.usd)
    yield line.note
