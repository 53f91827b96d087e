"""Which machines are near each other is what the cables say."""

from typing import Any

from planner.fabric.design import names
from planner.fabric.near import Domain, domains, plugged_above
from tests.planner.fabric.fabrics import LEAF_SPINE, SINGLE, built
from tests.planner.fabric.test_pod_ports import inventory
from tests.planner.site import found, planned_site
from tests.planner.stacks import planned

SMALL_LEAVES = {"fabric.spareLeafPorts": 28}
"""Four nodes at a leaf of each rail."""


WITHIN = {"training.runs.0.within": "leaf"}
BY_TRAINER = {**WITHIN, "training.runs.0.api": "v2"}


def above(changes: dict[str, Any] | None = None) -> dict[str, tuple[str, ...]]:
    return dict(planned_site({**inventory(), **(changes or {})}).above)


def test_nodes_of_a_group_have_its_leaf_of_the_first_rail_above_them() -> None:
    assert set(above()) == {f"dgx-{number:02}" for number in range(1, 9)}
    assert set(above().values()) == {("leaf-r0-01", "spine-01")}
    apart = above(SMALL_LEAVES)
    assert [apart[f"dgx-{number:02}"][0] for number in (1, 8)] == ["leaf-r0-01", "leaf-r0-02"]


def test_machines_at_one_leaf_are_equally_near() -> None:
    assert domains(above()) == ()
    assert domains({}) == ()
    design = built(2, 64, SINGLE)
    assert domains(plugged_above(design, names(design))) == ()


def test_domains_of_three_tiers_are_a_tree() -> None:
    """Switches of four ports: two nodes at a leaf, two leaves in a pod."""
    design = built(10, 4, LEAF_SPINE, rails=1)
    assert (design.leaves, design.pods, design.cores) == (5, 3, 4)
    tree = domains(plugged_above(design, names(design)))
    assert [each for each in tree if each.tier > 1] == [
        Domain(name="spine-01", tier=2, members=("leaf-01", "leaf-02")),
        Domain(name="spine-03", tier=2, members=("leaf-03", "leaf-04")),
        Domain(name="spine-05", tier=2, members=("leaf-05",)),
        Domain(name="core-01", tier=3, members=("spine-01", "spine-03", "spine-05")),
    ]
    nodes = [member for each in tree if each.tier == 1 for member in each.members]
    assert nodes == [f"node-{number:02}" for number in range(1, 11)]


def test_a_stack_without_machines_has_none() -> None:
    assert planned_site().above == {}


def test_a_run_is_within_a_leaf_that_has_its_nodes() -> None:
    assert not found("within-cannot", {**inventory(), **BY_TRAINER})
    (finding,) = found("within-cannot", {**inventory(), **SMALL_LEAVES, **BY_TRAINER})
    assert finding.path == "gpucluster:training.runs[0].within"
    assert finding.sentence == "is leaf, the run has 8 nodes, and no leaf has more than 4"
    assert not found("within-cannot", {**inventory(), **SMALL_LEAVES, **BY_TRAINER, "training.runs.0.nodes": 4})
    assert not found("within-cannot", {**inventory(), **SMALL_LEAVES, **BY_TRAINER, "training.runs.0.within": "spine"})
    assert not found("within-cannot", {**inventory(), **SMALL_LEAVES, **BY_TRAINER, "training.runs.0.within": "core"})


def test_a_group_that_cannot_say_it_is_refused() -> None:
    (finding,) = found("within-cannot", {**inventory(), **WITHIN})
    assert finding.remedy == "set api to v2, or remove it"
    (finding,) = [each for each in planned("prod", BY_TRAINER).errors if each.rule == "within-cannot"]
    assert "knows no switches" in finding.sentence


def test_the_plan_of_a_run_says_what_it_is_within() -> None:
    assert planned_site({**inventory(), **BY_TRAINER}).runs["pretrain"].within == "leaf"
    assert planned_site(inventory()).runs["pretrain"].within is None
