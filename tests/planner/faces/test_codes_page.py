"""Every code that a rule carries has its letters in the legend, and no table that people read has codes."""

import csv

from planner.draft import registry
from planner.faces import codes_page, rules_page
from tests.graph.stackfiles import ROOT


def test_every_code_has_a_meaning() -> None:
    with (ROOT / "docs" / "reference" / "corrections.csv").open(encoding="utf-8") as file:
        corrections = {row["id"] for row in csv.DictReader(file)}
    guards = {code for rule in registry.rules for code in rule.guards}
    known = {**codes_page.CORRECTIONS, **codes_page.REQUIREMENTS, **codes_page.LIFE}
    assert [code for code in sorted(corrections | guards) if code.rstrip("0123456789") not in known] == []


def test_a_code_leads_to_its_rules_there_and_nowhere_else() -> None:
    (rule,) = [each for each in registry.rules if each.id == "gang-fits-pool"]
    lines = codes_page.page().splitlines()
    for code in rule.guards:
        (line,) = [each for each in lines if each.startswith(f"| {code} |")]
        assert "`gang-fits-pool`" in line
    (row,) = [each for each in rules_page.page().splitlines() if each.startswith("| `gang-fits-pool`")]
    assert not any(f"| {code}" in row or f", {code}" in row for code in rule.guards)
