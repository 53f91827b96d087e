"""Each rule about what pods need finds the wrong program of its kind and lets the right one pass."""

from dataclasses import replace

import pytest

from policy import RULES
from policy.rule import violations
from tests.policy.programs import PROGRAMS
from tests.policy.programs.form import Program


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_a_rule_tells_a_wrong_program_from_a_right_one(program: Program) -> None:
    found = [str(each) for each in violations(program.graph, [next(each for each in RULES if each.id == program.rule)])]
    if program.said is None:
        assert found == []
    else:
        assert [each for each in found if program.said in each], found


@pytest.mark.parametrize("rule", sorted({each.rule for each in PROGRAMS}))
def test_a_rule_is_seen_both_ways(rule: str) -> None:
    assert {each.said is None for each in PROGRAMS if each.rule == rule} == {True, False}


def test_an_autoscaler_may_be_fed_from_outside_lf06() -> None:
    unfed = next(each for each in PROGRAMS if each.rule == "metrics_are_served" and "(Pods)" in (each.said or ""))
    rule = next(each for each in RULES if each.id == unfed.rule)
    assert list(rule(unfed.graph))
    assert list(rule(replace(unfed.graph, fed_autoscalers=frozenset({"scaler"})))) == []
