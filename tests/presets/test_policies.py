"""What each preset registers keeps every rule (the shipped stacks' test is tests/graph/test_program.py)."""

import pytest
import yaml

from policy import RULES
from policy.rule import violations
from settings.presets import preset_names
from tests.graph.roles import unsimulated
from tests.graph.stackfiles import run_program
from tests.presets import stacks

LARGE_PROD = pytest.param("prod", stacks.LARGE_PROD, id="prod of 2,048 GPUs")


@pytest.mark.parametrize(("name", "changes"), [*((name, "") for name in preset_names()), LARGE_PROD])
def test_a_preset_keeps_every_rule(name: str, changes: str) -> None:
    """And prod with 256 nodes, as it is rehearsed. Each role is simulated by a test of tests/graph/test_roles*.py."""
    graph = run_program(yaml.safe_load(stacks.text(name, changes))["config"], stack=name)
    assert [str(each) for each in violations(graph, RULES)] == []
    assert unsimulated(graph, name) == []
