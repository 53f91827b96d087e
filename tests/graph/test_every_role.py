"""Every role that a stack makes is simulated: those of the shipped stacks, and of settings that no file has."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from policy.graph import Graph
from tests.graph.roles import STANDS, unsimulated
from tests.graph.stackfiles import graph_of, stack_names
from tests.graph.test_roles import TABLE
from tests.graph.test_roles_by_setting import ROLES
from tests.stacks import test_follow_ups, test_gateway, test_signatures

MADE: dict[str, Callable[[], Graph]] = {
    **{name: partial(graph_of, name) for name in stack_names()},
    "followed and gates with a history": test_follow_ups.followed,
    "certificates by a zone": partial(test_gateway.graph, zone=True),
    "signed images": test_signatures.deployed,
}


@pytest.mark.parametrize("made", MADE)
def test_every_role_with_a_document_of_its_own_is_simulated(made: str) -> None:
    """Presets: tests/presets/test_policies.py. Files with every setting: tests/stacks/test_corpus.py."""
    graph = MADE[made]()
    assert unsimulated(graph, made if made in stack_names() else "dev") == []


def test_a_role_of_no_row_and_a_further_right_are_named() -> None:
    graph = graph_of("dev")
    policy = graph.one("run-llama-3-8b-sft-identity-policy")
    named = replace(policy, inputs={**policy.inputs, "role": "gpucluster-dev-poet"})
    wider = replace(policy, inputs={**policy.inputs, "policy": policy.inputs["policy"].replace("sft/*", "*")})
    more = replace(policy, inputs={**policy.inputs, "policy": policy.inputs["policy"].replace("s3:Put", "s3:Restore")})
    told = [unsimulated(replace(graph, resources={"one": each}), "dev") for each in (named, wider, more)]
    assert told[0] == ["the role poet is simulated by no row of tests/graph/test_roles*.py"]
    assert [len(each) > 0 and "run-llama-3-8b-sft-identity may s3:" in each[0] for each in told[1:]] == [True, True]


def test_each_row_stands_for_some_role_and_no_name_for_a_row_that_is_gone() -> None:
    rows = {row[1] for row in TABLE} | set(ROLES)
    assert rows - set(STANDS.values()) == {"weights-llama-3-70b-identity"}  # a reader without a key, beside one with it
    assert set(STANDS.values()) <= rows
