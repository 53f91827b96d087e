"""What a pool's nodes must reach before they are given work, with where each line comes from."""

from collections.abc import Iterable, Iterator

from planner.communication.gates import Gate
from planner.faces.gates import HEADINGS, gate_row
from planner.faces.page.elements import Child, Markup, element, folded, section, table
from planner.types import Plan

_ALL = (*HEADINGS, "source")
_RATES = (1, 3, 4, 5)


def gates(plan: Plan) -> Markup | None:
    """A table for each pool; None where no pool has several GPUs."""
    shown = [part for pool, tests in plan.gates.items() for part in _pool(pool, tests)]
    if not shown:
        return None
    said = "Below fail, take the node out; between fail and pass, inspect it. A test without limits is only recorded."
    return section("gates", "Validation of nodes", element("p", said, class_="soft"), *shown)


def _pool(pool: str, tests: Iterable[Gate]) -> Iterator[Markup]:
    """What is judged, and folded what is recorded."""
    judged: list[Gate] = []
    recorded: list[Gate] = []
    for gate in tests:
        (recorded if gate.threshold.fail is None else judged).append(gate)
    if judged:
        yield table(f"Pool {pool}: bandwidth to reach", _ALL, map(_row, judged), _RATES)
    if recorded:
        listed = table(f"Pool {pool}: bandwidth to expect", _ALL, map(_row, recorded), _RATES)
        yield folded(f"recorded only, of pool {pool}: {len(recorded)}", listed)


def _row(gate: Gate) -> list[Child]:
    return [*gate_row(gate), gate.threshold.source]
