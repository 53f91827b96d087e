"""What a pool's nodes must reach before they are given work, as text."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from catalogue.units import SECONDS_PER_MINUTE
from planner.communication.gates import Gate
from planner.faces.layout import facts, quantity, section
from planner.types import Plan
from planner.wording import counted

HEADINGS = ("test", "GPUs", "message", "pass from", "fail below", "expected", "unit", "from")


def gates(plan: Plan) -> Iterator[RenderableType]:
    """Of each pool the tests that something is demanded of, each at its largest message and most nodes."""
    for pool, tests in plan.gates.items():
        judged = {(gate.test, gate.reach): gate for gate in tests if gate.threshold.fail is not None}
        others = len(tests) - len(judged)
        rest = f"{others} further tests, of other messages and fewer nodes: FORMAT=json"
        rest = rest if judged else f"{others} tests, whose results are recorded only: FORMAT=json"
        rows = ((f"{gate.test}, {counted(gate.gpus, 'GPU')}", _demanded(gate)) for gate in judged.values())
        yield section(f"validation of pool {pool}", facts((*rows, *_pairs(plan, pool))), Text(rest, "dim"))


def _pairs(plan: Plan, pool: str) -> Iterator[tuple[str, str]]:
    """The schedule of what measures the nodes' cards two by two."""
    if (measured := plan.measured.get(pool)) is not None:
        pairs = measured.pairs
        whom = "each with every other" if pairs.rounds == pairs.all_rounds else f"of {pairs.all_rounds}"
        minutes = quantity(round(pairs.seconds / SECONDS_PER_MINUTE, 1))
        yield f"{pairs.program}, pairs of nodes", f"{pairs.rounds} rounds, {whom}, {minutes} minutes"


def _demanded(gate: Gate) -> str:
    _, _, _, passes, fails, _, unit, _ = gate_row(gate)
    return f"pass from {passes} {unit}, fail below {fails}, {gate.reach}"


def gate_row(gate: Gate) -> Sequence[str]:
    """A test in words; lines that nobody drew are empty."""
    threshold = gate.threshold
    return (
        f"{gate.test} {gate.reach}",
        f"{gate.gpus:,}",
        f"{gate.size_gib:g} GiB" if gate.size_gib is not None else "",
        _rate(threshold.warn),
        _rate(threshold.fail),
        _rate(threshold.expected),
        gate.unit,
        str(threshold.origin),
    )


def _rate(rate: float | None) -> str:
    return quantity(round(rate, 1)) if rate is not None else ""
