"""What each preset registers keeps every rule (the shipped stacks' test is tests/graph/test_program.py)."""

import pytest
import yaml

from policy import RULES
from policy.rule import violations
from settings.presets import preset_names
from tests.graph.stackfiles import run_program
from tests.presets import stacks


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_keeps_every_rule(name: str) -> None:
    graph = run_program(yaml.safe_load(stacks.text(name))["config"], stack=name)
    assert [str(each) for each in violations(graph, RULES)] == []
