"""One rule on one stack: what it says, and its verdict."""

import pytest

from planner.faces.explain import Explanation, UnknownRuleError, Verdict, explain
from planner.plan import draft, plan
from tests.planner.stacks import TODAY, changed, planned_metal


def explained(rule: str, stack: str = "prod", changes: dict[str, object] | None = None) -> Explanation:
    wanted = changed(stack, changes)
    return explain(rule, draft(wanted, today=TODAY), plan(wanted, today=TODAY).findings)


def test_a_rule_that_holds_says_what_it_requires() -> None:
    """And which known mistake it answers."""
    shown = explained("gang-fits-pool")
    assert (shown.verdict, shown.findings, shown.platform) == (Verdict.HOLDS, (), None)
    assert shown.what.startswith("A run needs at most as many nodes as its pool has")
    assert "IN09" in shown.guards


def test_a_rule_that_refuses_shows_its_findings_alone() -> None:
    """Whatever else is wrong with the stack."""
    shown = explained("gang-fits-pool", changes={"pools.1.count": 6, "budget.maxHourlyUsd": 1})
    assert shown.verdict is Verdict.REFUSES
    assert [finding.rule for finding in shown.findings] == ["gang-fits-pool"]


def test_verdicts() -> None:
    """Accepted findings do not refuse, warnings warn, and a rule about racks says nothing of AWS."""
    assert explained("image-not-pinned").verdict is Verdict.WAIVED
    over = {"lifecycle.expiry": "2026-11-20", "lifecycle.protect": False}
    assert explained("stack-expired", changes=over).verdict is Verdict.REFUSES
    assert explained("run-context", changes={"training.runs.0.sequenceLength": 16384}).verdict is Verdict.WARNS
    elsewhere = explained("server-unknown")
    assert (elsewhere.verdict, elsewhere.platform) == (Verdict.ELSEWHERE, "metal")
    assert explained("server-unknown", "metal").verdict is Verdict.HOLDS


def test_an_unknown_rule_is_corrected() -> None:
    """With the near one."""
    with pytest.raises(UnknownRuleError, match="there is no rule 'gang-fits-pol'; did you mean gang-fits-pool"):
        explained("gang-fits-pol")


def test_every_finding_on_metal_can_be_explained() -> None:
    """Whatever a refused site says, its rules explain."""
    refused = planned_metal({"training.runs.0.nodes": 32})
    assert refused.errors
    for finding in refused.findings:
        shown = explained(finding.rule, "metal", {"training.runs.0.nodes": 32})
        assert finding in shown.findings
