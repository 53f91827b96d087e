"""Which machines are near each other is what the cables say."""

from typing import Any

from planner.fabric.names import names
from planner.fabric.near import Domain, domains, plugged_above
from tests.planner.fabric.fabrics import LEAF_SPINE, SINGLE, built
from tests.planner.fabric.test_pod_ports import inventory
from tests.planner.site import planned_site

SMALL_LEAVES = {"fabric.spareLeafPorts": 28}
"""Four nodes at a leaf of each rail."""


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
    found = domains(plugged_above(design, names(design)))
    assert [each for each in found if each.tier > 1] == [
        Domain(name="spine-01", tier=2, members=("leaf-01", "leaf-02")),
        Domain(name="spine-03", tier=2, members=("leaf-03", "leaf-04")),
        Domain(name="spine-05", tier=2, members=("leaf-05",)),
        Domain(name="core-01", tier=3, members=("spine-01", "spine-03", "spine-05")),
    ]
    nodes = [member for each in found if each.tier == 1 for member in each.members]
    assert nodes == [f"node-{number:02}" for number in range(1, 11)]


def test_a_stack_without_machines_has_none() -> None:
    assert planned_site().above == {}
