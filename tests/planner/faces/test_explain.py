"""One rule on one stack: what it says, and what it looked at."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from planner.draft import Draft, registry
from planner.faces.explain import Explanation, UnknownRuleError, Verdict, explain
from planner.faces.reading import read_by
from planner.findings import Observation
from planner.plan import draft, plan
from tests.planner.stacks import TODAY, changed, planned_metal, settings


def explained(rule: str, stack: str = "prod", changes: dict[str, object] | None = None) -> Explanation:
    wanted = changed(stack, changes)
    return explain(rule, draft(wanted, today=TODAY), plan(wanted, today=TODAY).findings)


def read(explanation: Explanation) -> dict[str, str]:
    return {reading.path: reading.value for reading in explanation.looked_at}


def test_a_rule_that_holds_says_with_which_values() -> None:
    """The gang's nodes as in the stack file, and the pool's as planned."""
    shown = explained("gang-fits-pool")
    assert (shown.verdict, shown.findings, shown.platform) == (Verdict.HOLDS, (), None)
    assert shown.what.startswith("A run needs at most as many nodes as its pool has")
    assert "IN09" in shown.guards
    assert read(shown)["training.runs[0].nodes"] == "8"
    assert read(shown)["pools[training].count"] == "8"


def test_a_rule_that_refuses_shows_its_findings_alone() -> None:
    """Whatever else is wrong with the stack."""
    shown = explained("gang-fits-pool", changes={"pools.1.count": 6, "budget.maxHourlyUsd": 1})
    assert shown.verdict is Verdict.REFUSES
    assert [finding.rule for finding in shown.findings] == ["gang-fits-pool"]
    assert read(shown)["pools[training].count"] == "6"


def test_verdicts() -> None:
    """Accepted findings do not refuse, warnings warn, and a rule about racks says nothing of AWS."""
    assert explained("image-not-pinned").verdict is Verdict.WAIVED
    over = {"lifecycle.expiry": "2026-11-20", "lifecycle.protect": False}
    assert explained("stack-expired", changes=over).verdict is Verdict.REFUSES
    assert explained("run-context", changes={"training.runs.0.sequenceLength": 16384}).verdict is Verdict.WARNS
    elsewhere = explained("server-unknown")
    assert (elsewhere.verdict, elsewhere.platform, elsewhere.looked_at) == (Verdict.ELSEWHERE, "metal", ())
    assert explained("server-unknown", "metal").verdict is Verdict.HOLDS


def test_an_unknown_rule_is_corrected() -> None:
    """With the near one."""
    with pytest.raises(UnknownRuleError, match="there is no rule 'gang-fits-pol'; did you mean gang-fits-pool"):
        explained("gang-fits-pol")


@pytest.mark.parametrize("stack", ["dev", "prod", "metal"])
def test_every_rule_can_be_watched(stack: str) -> None:
    """Watching changes no verdict: each rule yields of the watched draft what it yields of the real one."""
    looked_at = draft(changed(stack), today=TODAY)
    for rule in registry.rules:
        if isinstance(looked_at, rule.about):
            seen: list[Observation] = []

            def look(watched: Draft, seen: list[Observation] = seen, rule: object = rule) -> Iterable[Observation]:
                seen += rule.look(watched)  # type: ignore[attr-defined]
                return seen

            read_by(look, looked_at)
            assert list(map(str, seen)) == list(map(str, rule.look(looked_at))), rule.id


def test_most_rules_tell_what_they_look_at() -> None:
    """Values that were read, not the whole stack."""
    looked_at = draft(settings("prod"), today=TODAY)
    told = [rule for rule in registry.rules if isinstance(looked_at, rule.about) and read_by(rule.look, looked_at)]
    applying = [rule for rule in registry.rules if isinstance(looked_at, rule.about)]
    assert len(told) > 0.8 * len(applying)


def test_a_watched_draft_passes_for_a_draft() -> None:
    """Whatever a rule does with its parts: count, slice, look up, compare, unpack, print."""
    real = draft(settings("prod"), today=TODAY)

    def look(watched: Draft) -> Iterable[Observation]:
        pools, rows = watched.settings.pools, watched.pools
        assert isinstance(watched, type(real))
        assert (len(pools), len(rows)) == (3, 3)
        assert [pool.name for pool in pools[1:]] == ["training", "inference"]
        assert pools[-1].name == "inference"
        assert pools[0] in real.settings.pools
        assert real.settings.pools[0] in pools
        assert pools[0] == real.settings.pools[0]
        assert {pools[0]: 1}[real.settings.pools[0]] == 1
        assert ("training" in rows, "x" in rows, rows.get("x"), rows.get("x", 3)) == (True, False, None, 3)
        assert [name for name, row in rows.items() if row.count == 8] == ["training"]
        assert list(rows) == list(rows.keys()) == [row.name for row in rows.values()]
        assert f"{pools[0]}" == str(pools[0]) == str(real.settings.pools[0])
        assert pools
        return ()

    told = read_by(look, real)
    assert list(look(real)) == []
    assert told == {"pools[training].count": "8", "pools[system].count": "3", "pools[inference].count": "1"}


def test_what_cannot_be_watched_tells_nothing() -> None:
    """A rule that copies its draft is explained without what it looked at, and never with a traceback."""

    def copies(watched: Draft) -> Iterable[Observation]:
        replace(watched, today=TODAY)
        return ()

    assert read_by(copies, draft(settings("dev"), today=TODAY)) == {}


def test_every_finding_on_metal_can_be_explained() -> None:
    """Whatever a refused site says, its rules explain."""
    refused = planned_metal({"training.runs.0.nodes": 32})
    assert refused.errors
    for finding in refused.findings:
        shown = explained(finding.rule, "metal", {"training.runs.0.nodes": 32})
        assert finding in shown.findings
