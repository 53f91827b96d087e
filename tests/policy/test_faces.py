"""Where a person meets the rules: their page, and `make policy`."""

import pytest

from policy import RULES, page
from policy.report import report
from policy.rule import Rule, violations
from tests.graph import __main__ as command
from tests.graph import stackfiles
from tests.graph.changes import both, gone, put
from tests.graph.stackfiles import graph_of, stack_config


def test_the_page_is_what_the_rules_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert page.main(["--check"]) == 0, capsys.readouterr().out


def test_a_stale_page_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(page, "RULES", RULES[1:])
    assert page.main(["--check"]) == 1
    assert "type: make reference" in capsys.readouterr().out


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_what_holds_where_that_is_from_and_what_to_do(rule: Rule) -> None:
    assert rule.holds.partition(" (")[0].rstrip(".").count(" ") > 4
    assert ": " in rule.source
    assert rule.remedy
    assert not rule.remedy.endswith(".")


def test_no_two_rules_have_one_name() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)


def test_a_broken_rule_is_shown_with_its_remedy_and_source() -> None:
    change = both(gone("efa-self-out"), put("pool-training-template", "metadataOptions.httpTokens", "optional"))
    shown = report(violations(change(graph_of("prod")), RULES), RULES, "prod")
    assert shown.startswith(f"prod breaks 2 of {len(RULES)} rules\n")
    assert "  pool-training-template has EFA interfaces that share cluster-control-plane, efa-group" in shown
    assert "  source: EC2 guide: Get started with EFA" in shown
    assert shown.count("  remedy: ") == 2


def test_make_policy_ends_with_1_where_a_rule_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "told", graph_of)
    assert command.main(["prod"]) == 0
    assert capsys.readouterr().out == f"prod keeps all {len(RULES)} rules\n"
    monkeypatch.setattr(command, "told", lambda stack: gone("efa-self-in")(graph_of(stack)))
    assert command.main(["prod"]) == 1
    assert "efa_open_to_itself" in capsys.readouterr().out


def test_make_policy_says_which_stacks_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["pord"]) == 2
    assert "there are dev, lab, metal, prod" in capsys.readouterr().err


def test_make_policy_says_why_a_stack_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = stack_config("metal")
    bare = {key: value for key, value in config.items() if key != "gpucluster:inventory"}
    monkeypatch.setattr(stackfiles, "stack_config", lambda _: bare)
    with pytest.raises(SystemExit, match="1"):
        command.main(["metal"])
    assert "is missing, so the stack can only be planned" in capsys.readouterr().err
