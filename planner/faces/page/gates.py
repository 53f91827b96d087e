"""What a pool's nodes must reach before they are given work, with where each line comes from."""

from planner.communication.gates import Gate
from planner.faces.gates import HEADINGS, gate_row
from planner.faces.page.elements import Child, Markup, element, section, table
from planner.types import Plan

_RATES = (1, 4, 5, 6)


def gates(plan: Plan) -> Markup | None:
    """A table for each pool; None where no pool has several GPUs."""
    tables = (
        table(f"Pool {pool}: bandwidth to reach", (*HEADINGS, "source"), map(_row, tests), _RATES)
        for pool, tests in plan.gates.items()
    )
    shown = [*tables]
    if not shown:
        return None
    said = "A result passes from the first line on, is looked at below it, and takes the node out below the second. "
    said += "What has no lines is recorded: it stops nobody."
    return section("gates", "Validation of nodes", element("p", said, class_="soft"), *shown)


def _row(gate: Gate) -> list[Child]:
    return [*gate_row(gate), gate.threshold.source]
