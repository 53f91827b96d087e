"""Each rule: programs that trip it, and programs that are right in another way than the shipped ones."""

import pytest

from policy import RULES
from policy.rule import violations
from tests.graph.stackfiles import graph_of
from tests.policy.cases import CASES
from tests.policy.cases.case import Case
from tests.policy.programs import PROGRAMS
from tests.policy.programs.form import Program

BY_ID = {rule.id: rule for rule in RULES}


def said(case: Case, *, preview: bool) -> list[str]:
    """What the case's rule says about the changed stack."""
    graph = case.change(graph_of(case.stack, preview=preview))
    return [str(each) for each in violations(graph, [BY_ID[case.rule]])]


@pytest.mark.parametrize("case", [each for each in CASES if each.said], ids=str)
def test_a_wrong_program_is_found(case: Case) -> None:
    """By its rule, in the sentence that names it; in a first preview too, wherever the value is known by then."""
    for preview in (False, True) if case.preview else (False,):
        found = said(case, preview=preview)
        assert [each for each in found if str(case.said) in each], (preview, found)


@pytest.mark.parametrize("case", [each for each in CASES if not each.said], ids=str)
def test_what_is_right_in_another_way_passes(case: Case) -> None:
    assert said(case, preview=False) == []
    assert not case.preview or said(case, preview=True) == []


def test_every_rule_that_is_tripped_is_passed_too() -> None:
    """By a program that is right in another way. That each rule is tripped: test_rules.py."""
    programs: list[Case | Program] = [*CASES, *PROGRAMS]
    assert {each.rule for each in programs if each.said} == {each.rule for each in programs if not each.said}
