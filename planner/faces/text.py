"""A plan as text: everything a person asks of it, subject by subject, the findings last."""

from collections.abc import Iterator
from dataclasses import asdict

from rich.console import Group, RenderableType
from rich.text import Text

from planner.faces import forecast, money, nodes, room
from planner.faces.difference import Change, Difference, Value
from planner.faces.explain import Explanation, Verdict
from planner.faces.findings import findings_table
from planner.faces.layout import facts, quantity, section, table
from planner.metal_types import MetalPlan
from planner.types import AwsPlan
from planner.wording import counted


def plan_text(name: str, plan: AwsPlan | MetalPlan) -> RenderableType:
    """The whole plan of the stack `name`."""
    return Group(*_parts(name, plan))


def _parts(name: str, plan: AwsPlan | MetalPlan) -> Iterator[RenderableType]:
    totals = ", ".join(f"{quantity(value)} {words(key, value)}" for key, value in asdict(plan.totals).items())
    yield Text(f"{name}: {totals}\n", "bold")
    yield nodes.pools(plan)
    yield from nodes.runs(plan)
    yield from forecast.experiments(plan)
    yield from nodes.services(plan)
    if isinstance(plan, MetalPlan) and plan.fabric is not None:
        yield section("fabric", facts(room.fabric_facts(plan.fabric)))
    if isinstance(plan, MetalPlan) and plan.networks:
        yield section("networks", facts(room.network_facts(plan.networks)))
    yield from room.gates(plan)
    if plan.storage is not None:
        yield section("storage", facts(room.storage_facts(plan.storage)))
    if plan.monitoring is not None:
        yield section("monitoring", facts(room.monitoring_facts(plan.monitoring)))
    if isinstance(plan, AwsPlan):
        yield money.prices(plan.prices)
        yield money.quotas(plan.quotas)
    else:
        yield room.facility(plan.facility)
        yield money.purchase(plan.bom, plan.owned, plan.cloud)
    yield money.order(plan.bom, plan.checklist)
    yield findings_text(plan)


def findings_text(plan: AwsPlan | MetalPlan) -> RenderableType:
    """All findings, and what they mean for a deployment."""
    return Group(verdict(plan), findings_table(plan.findings)) if plan.findings else verdict(plan)


def verdict(plan: AwsPlan | MetalPlan) -> Text:
    """How many findings there are of each kind, and what that means for a deployment."""
    errors, warnings = len(plan.errors), len([each for each in plan.warnings if each.waiver is None])
    suppressed = len(plan.findings) - errors - warnings
    counts = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}, {suppressed} suppressed"
    text = Text(f"findings: {counts}; ", "bold")
    return text + (Text("the stack is refused", "bold red") if errors else Text("it can be deployed", "bold green"))


def difference_text(name: str, changed: Difference, plan: AwsPlan | MetalPlan) -> RenderableType:
    """How the plan of the stack `name` differs from what it is compared with."""
    parts: list[RenderableType] = [Text(f"{ending}", style="bold red") for ending in changed.endings]
    parts += [Text("\n".join(changed.assignments))] if changed.assignments else []
    listed = table(difference_headings(changed), difference_rows(changed), whole=(0,))
    parts.append(listed if changed.numbers else Text("no number changes"))
    for title, findings in changed.findings.items():
        if findings:
            parts.append(section(f"{title} findings", findings_table(findings)))
    if not any(changed.findings.values()):
        parts.append(Text("no finding comes or goes"))
    return Group(section(difference_title(name, changed), *parts), verdict(plan))


def difference_title(name: str, changed: Difference) -> str:
    """What is compared with what."""
    return f"{name}, changed" if changed.assignments else f"{name} against {changed.between[0]}"


def difference_headings(changed: Difference) -> tuple[str, ...]:
    return "number", *changed.between, "by"


def difference_rows(changed: Difference) -> Iterator[tuple[str, ...]]:
    """Each number before and after, and how much more or less it is."""
    for change in changed.numbers:
        yield change.path, _shown(change.before), _shown(change.after), _gain(change)


def explanation_text(name: str, explained: Explanation) -> RenderableType:
    """A rule, and its verdict on the stack `name`."""
    about = f"{explained.severity}, {explained.platform or 'every platform'}"
    said = f"{explained.verdict} for {name}" if explained.verdict is not Verdict.ELSEWHERE else explained.verdict
    rows = (
        ("what", explained.what),
        ("severity", about),
        ("guards", ", ".join(explained.guards)),
        ("formula", explained.formula),
        ("source", explained.source),
        ("verdict", said),
    )
    parts: list[RenderableType] = [facts(rows)]
    for finding in explained.findings:
        if finding.inputs:
            parts.append(section(f"inputs at {finding.path}", facts(finding.inputs.items())))
    if explained.findings:
        parts.append(findings_table(explained.findings))
    return section(explained.rule, *parts)


def words(field: str, count: float) -> str:
    """A total's name as it is said of so many."""
    several = {"gpus": "GPUs", "efa_interfaces": "EFA interfaces"}.get(field, field.replace("_", " "))
    return several.removesuffix("s") if count == 1 else several


def _shown(value: Value) -> str:
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return " to ".join(map(_shown, value)) if value else "none"
    return quantity(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _gain(change: Change) -> str:
    before, after = change.before, change.after
    if not isinstance(before, int | float) or not isinstance(after, int | float) or isinstance(before, bool):
        return ""
    return f"{'+' if after > before else '-'}{quantity(abs(after - before))}"
