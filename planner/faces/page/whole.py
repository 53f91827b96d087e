"""The whole page of a stack, from its plan alone."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict

from monitoring.dashboards import dashboards
from monitoring.dashboards.address import PORT_FORWARD, address
from planner.draft import registry
from planner.faces import nodes
from planner.faces.difference import Difference
from planner.faces.layout import quantity
from planner.faces.page import money, racks
from planner.faces.page.charts import wide
from planner.faces.page.elements import (
    COLOURS,
    DRAWINGS,
    PAGE,
    Child,
    Markup,
    element,
    facts,
    folded,
    section,
    table,
    together,
)
from planner.faces.page.fabric import fabric_drawing
from planner.faces.page.workloads import workloads
from planner.faces.room import (
    HEADINGS,
    fabric_facts,
    gate_row,
    monitoring_facts,
    network_facts,
    power_facts,
    storage_facts,
)
from planner.faces.text import difference_headings, difference_rows, difference_title, verdict, words
from planner.findings import Finding, Severity
from planner.interconnect import Gate
from planner.metal_types import MetalPlan
from planner.networks import NetworkPlan
from planner.pool_types import PoolPlan
from planner.references import references
from planner.types import AwsPlan, Plan

_ALL = (*HEADINGS, "source")
_RATES = (1, 3, 4, 5)

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The page loads nothing and runs nothing."""


def page(name: str, plan: AwsPlan | MetalPlan, changed: Difference | None = None) -> str:
    """An HTML document that needs nothing beside itself: the plan, and above it how it differs from another."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{name}: plan"),
        element("style", COLOURS, DRAWINGS, PAGE),
    )
    body = element(
        "body", element("header", *_header(name, plan)), element("main", _changes(name, changed), *_parts(plan))
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _changes(name: str, changed: Difference | None) -> Markup | None:
    """The runs that it stops, the numbers before and after, and the findings that come, change and go."""
    if changed is None:
        return None
    made = [element("p", f"{each}", class_="verdict bad") for each in changed.endings]
    made += [element("p", each, class_="rule") for each in changed.assignments]
    rows = list(difference_rows(changed))
    listed = table(difference_title(name, changed), difference_headings(changed), rows, range(1, 4))
    below: list[Child] = [listed if rows else element("p", "No number changes.")]
    for title, findings in changed.findings.items():
        if findings:
            below += [element("h3", f"Findings: {title}"), *(_finding(each, opened=False) for each in findings)]
    if not any(changed.findings.values()):
        below.append(element("p", "No finding comes or goes."))
    return section("changes", "What changes", *made, *below)


def _header(name: str, plan: AwsPlan | MetalPlan) -> Iterator[Markup]:
    yield element("h1", name)
    totals = asdict(plan.totals).items()
    yield element(
        "ul",
        *(
            element("li", element("b", quantity(value)), words(key, value), data_total=key, data_value=value)
            for key, value in totals
        ),
        class_="totals",
    )
    yield element("p", verdict(plan).plain, class_="verdict bad" if plan.errors else "verdict good")


def _parts(plan: AwsPlan | MetalPlan) -> Iterator[Markup]:
    if plan.findings:
        ordered = sorted(plan.findings, key=lambda each: (each.waiver is not None, each.severity))
        yield section("findings", "Findings", *map(_finding, ordered))
    headings = ("pool", "role", "nodes", "GPUs", "hardware", "a node offers")
    yield section("pools", "Pools", table("Node pools", headings, map(_pool, plan.pools.values()), (2,)))
    if isinstance(plan, MetalPlan):
        yield from _room(plan)
    if (tested := _gates(plan)) is not None:
        yield tested
    yield from workloads(plan)
    if plan.storage is not None:
        yield section("storage", "Storage", facts(storage_facts(plan.storage)))
    if plan.monitoring is not None:
        yield section("monitoring", "Monitoring", facts(monitoring_facts(plan.monitoring)))
    if isinstance(plan, AwsPlan):
        yield money.prices(plan.prices)
        yield money.quotas(plan.quotas)
    else:
        yield money.purchase(plan)
    yield money.bill(plan.bom, plan.checklist)
    yield _dashboards(plan)


def _network(each: NetworkPlan) -> Iterator[Markup]:
    name = each.kind.capitalize()
    drawing = fabric_drawing(each.design, name=f"{name} network", kind=each.kind, uplinks=each.uplinks)
    yield element("h3", name)
    yield wide(drawing, f"Drawing: {each.kind} network")


def _room(plan: MetalPlan) -> Iterator[Markup]:
    if plan.fabric is not None:
        joined = wide(fabric_drawing(plan.fabric.growth.day_one), "Drawing of the fabric")
        yield section("fabric", "Fabric", joined, facts(fabric_facts(plan.fabric)))
    if plan.networks:
        beside = (drawn for each in plan.networks for drawn in _network(each))
        yield section("networks", "Storage and management networks", *beside, facts(network_facts(plan.networks)))
    drawn = racks.racks(plan.facility) if plan.facility.racks else None
    yield section("racks", "Power and racks", facts(power_facts(plan.facility)), drawn)


def _pool(pool: PoolPlan) -> list[Child]:
    cells = nodes.pool_row(pool)
    return [quantity(cell) if isinstance(cell, int) else None if cell is None else str(cell) for cell in cells]


def _finding(finding: Finding, *, opened: bool = True) -> Markup:
    """A finding folded; behind it what led to it. Errors that stand are `opened`, where they are not listed twice."""
    state = f"suppressed {finding.severity}" if finding.waiver else str(finding.severity)
    tone = "soft" if finding.waiver else "error" if finding.severity is Severity.ERROR else "warning"
    summary = together(
        (
            element("span", state, class_=f"badge {tone}"),
            element("span", finding.rule, class_="rule"),
            ": ",
            finding.sentence,
        )
    )
    rule = next((each for each in registry.rules if each.id == finding.rule), None)
    causes: list[tuple[str, str | None]] = [
        ("where", finding.path),
        ("about", finding.subject),
        ("remedy", finding.remedy),
        ("suppressed by", finding.waiver),
        ("formula", rule.formula if rule else None),
        ("source", rule.source if rule else None),
    ]
    below: list[Child] = [facts(causes)]
    if finding.inputs:
        below.append(table("Numbers that it took", ("input", "value"), finding.inputs.items()))
    return folded(summary, *below, opened=opened and finding.severity is Severity.ERROR and finding.waiver is None)


def _gates(plan: Plan) -> Markup | None:
    """A table for each pool; None where no pool has several GPUs."""
    shown = [part for pool, tests in plan.gates.items() for part in _tests(pool, tests)]
    if not shown:
        return None
    said = "Below fail, take the node out; between fail and pass, inspect it. A test without limits is only recorded."
    return section("gates", "Validation of nodes", element("p", said, class_="soft"), *shown)


def _tests(pool: str, tests: Iterable[Gate]) -> Iterator[Markup]:
    """What is judged, and folded what is recorded."""
    judged: list[Gate] = []
    recorded: list[Gate] = []
    for gate in tests:
        (recorded if gate.threshold.fail is None else judged).append(gate)
    if judged:
        yield table(f"Pool {pool}: bandwidth to reach", _ALL, map(_gate_row, judged), _RATES)
    if recorded:
        listed = table(f"Pool {pool}: bandwidth to expect", _ALL, map(_gate_row, recorded), _RATES)
        yield folded(f"recorded only, of pool {pool}: {len(recorded)}", listed)


def _gate_row(gate: Gate) -> list[Child]:
    return [*gate_row(gate), gate.threshold.source]


def _dashboards(plan: Plan) -> Markup:
    """The dashboards of the stack, with the command that brings them to a person's machine."""
    rows = (
        (element("a", each.title, href=address(each.uid)), each.description) for each in dashboards(references(plan))
    )
    said = "Once the stack is deployed with monitoring, this command brings its Grafana to your machine:"
    return section(
        "dashboards",
        "Dashboards",
        element("p", said),
        element("p", PORT_FORWARD, class_="rule"),
        table("What it shows, with this plan's numbers drawn in", ("dashboard", "shows"), rows),
    )
