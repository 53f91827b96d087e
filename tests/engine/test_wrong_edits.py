"""The mistakes that the wrong programs are made of fit what the program registers: asked here, where it is cheap."""

from dataclasses import replace

import pytest
import yaml

from policy import RULES
from policy.rule import violations
from stacks import devices
from tests.graph.harness import Recorded
from tests.graph.stackfiles import run_program

from . import mistakes, wrong
from .making import Argument, Mistake
from .trees import Tree

CHANGES = {name: each for name, each in vars(mistakes).items() if isinstance(each, Mistake)}
ARGUMENTS = {name: each for name, each in vars(mistakes).items() if isinstance(each, Argument)}


def test_there_are_mistakes() -> None:
    assert len(CHANGES) >= 20


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    tree = Tree.copy(tmp_path_factory.mktemp("wrong") / "tree")
    wrong.many_small_pools(tree, "outside")
    return tree


def registered(tree: Tree) -> Recorded:
    return run_program(yaml.safe_load(tree.text("Pulumi.dev.yaml"))["config"], stack="dev")


@pytest.fixture(scope="module")
def right(tree: Tree) -> Recorded:
    """What the right program registers for the stack of the wrong ones."""
    return registered(tree)


@pytest.mark.parametrize("name", CHANGES)
def test_a_mistake_changes_what_is_registered(name: str, right: Recorded) -> None:
    change = CHANGES[name]
    found = [each for each in right.resources.values() if change.concerns(each.token, each.name)]
    assert found
    for each in found:
        properties = {key: each.inputs.get(key) for key in change.properties}
        assert change.of(properties) != properties


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """What it registers for the stack of few runs."""
    tree = Tree.copy(tmp_path_factory.mktemp("few") / "tree")
    wrong.few_runs(tree)
    return registered(tree)


def test_the_planner_takes_the_stack_of_few_runs_too(few: Recorded) -> None:
    jobs = {each.name for each in few.of_type("PyTorchJob")}
    assert jobs == {f"run-{name}-job" for name in ("plain", *wrong.BESIDE)}


IMPATIENT = "a person's patience, which a test has less of"
LATER = {
    "weights_that_are_not_there": "what lies in a bucket is seen by make doctor, and by the copy",
    "one_try_for_weights": IMPATIENT,
    "short_wait_for_weights": IMPATIENT,
    "short_wait_for_gpus": IMPATIENT,
    "checks_that_nobody_waits_for": IMPATIENT,
}
"""Mistakes of which what is registered says nothing, and why."""


def broken(graph: Recorded, name: str) -> list[str]:
    """What the rules that `make up` asks first say of the program with this mistake."""
    change, resources = CHANGES[name], dict(graph.resources)
    for urn, each in graph.resources.items():
        if change.concerns(each.token, each.name):
            wrong_ones = change.of({key: each.inputs.get(key) for key in change.properties})
            resources[urn] = replace(each, inputs={**each.inputs, **wrong_ones})
    return [str(each) for each in violations(replace(graph, resources=resources), RULES)]


def test_the_stacks_without_mistakes_break_no_rule(right: Recorded, few: Recorded) -> None:
    assert violations(right, RULES) == violations(few, RULES) == []


@pytest.mark.parametrize("name", CHANGES)
def test_make_up_ends_with_the_rule_that_a_mistake_breaks(name: str, right: Recorded, few: Recorded) -> None:
    assert bool(broken(right, name) or broken(few, name)) == (name not in LATER)


def test_an_argument_is_given_otherwise(tree: Tree, right: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "deploy_devices", devices.deploy_devices)
    for each in ARGUMENTS.values():
        each.change()
    graph = registered(tree)
    gone = {each.name for each in right.resources.values()} - {each.name for each in graph.resources.values()}
    assert "gpu-operator-release" in gone
    assert all(name.startswith("gpu-") for name in gone)


def test_the_copied_program_makes_them_and_is_otherwise_the_program(tree: Tree) -> None:
    right = tree.text("__main__.py")
    wrong.make(tree, "tolerates_nothing", "no_gpu_operator")
    first, _, rest = tree.text("__main__.py").partition('"""The program')
    assert (
        first
        == "from tests.engine import making, mistakes\n\nmaking.commit('tolerates_nothing', 'no_gpu_operator')\n\n"
    )
    assert '"""The program' + rest == right


def test_a_mistake_that_nobody_knows_is_not_made(tree: Tree) -> None:
    with pytest.raises(AssertionError, match="tolerates_everything"):
        wrong.make(tree, "tolerates_everything")
