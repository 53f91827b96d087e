"""Fit the rows of `catalogue/calibration.py` to runs.csv again: `python -m tests.planner.published.fit` prints them,
and with `held-out` how far runs lie from rows that were fitted without their source.

Each constant goes up and down by ever smaller parts for as long as the mean of |ln(forecast / published)| falls, of
which at most 0.35 counts; 0.03 more counts for a run beyond 10 %. Runs weigh 1/sqrt(runs of their source).
"""

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields, replace
from math import log
from typing import Any

import catalogue.calibration as table
from catalogue.calibration import Calibration
from planner.step import step_time
from tests.planner.published.runs import Run, published

_BOUNDS = {
    "peak_part": (0.3, 0.85),
    "attention_part": (0.15, 0.75),
    "again_part": (0.3, 1.1),
    "tensor_hidden": (0.0, 0.95),
    "layers_hidden": (0.0, 1.0),
    "gradients_hidden": (0.0, 1.0),
    "tokens_hidden": (0.0, 0.95),
    "per_expert_s": (1e-5, 1e-3),
    "compiled_part": (0.7, 1.0),
}
"""A constant that a row leaves at its default is not fitted for it."""
_SWEEPS = 6


def _error(runs: Iterable[tuple[float, Run]]) -> float:
    sums = weights = 0.0
    for weight, run in runs:
        off = abs(log(step_time(run.model, run.job, run.layout, run.cluster).seconds / run.seconds))
        sums += weight * (min(off, 0.35) + 0.03 * (off > 0.095))
        weights += weight
    return sums / weights


def fitted(row: Calibration, runs: list[tuple[float, Run]]) -> Calibration:
    """The row with the constants that fit the weighted runs best, beginning at its own."""
    rows, defaults = table._ROWS, {each.name: each.default for each in fields(row)}

    def error(tried: Calibration) -> float:
        table._ROWS = tuple(tried if each is row else each for each in rows)
        return _error(runs)

    best, least, part = row, error(row), 0.12
    for _ in range(_SWEEPS):
        for name, (low, high) in _BOUNDS.items():
            if getattr(row, name) == defaults[name]:
                continue
            for change in (-part, -part / 3, part / 3, part):
                value = getattr(best, name)
                moved = value + change if name.endswith("_hidden") else value * (1 + change)
                tried = replace(best, **{name: min(high, max(low, moved))})
                if (found := error(tried)) < least:
                    best, least = tried, found
        part *= 0.65
    table._ROWS = rows
    return best


_NEUTRAL = {
    "peak_part": 0.6,
    "attention_part": 0.4,
    "again_part": 0.7,
    "tensor_hidden": 0.5,
    "layers_hidden": 0.5,
    "gradients_hidden": 0.6,
    "tokens_hidden": 0.3,
    "per_expert_s": 3e-4,
    "compiled_part": 0.85,
}


def held_out() -> None:
    """Each source's runs by rows fitted to the others, which begin at no row of today."""
    runs, rows, off = list(published()), table._ROWS, []
    defaults = {each.name: each.default for each in fields(Calibration)}
    for row in rows:
        mine = [run for run in runs if _kind(run) == (row.software, row.compute_capability, row.precision)]
        values: dict[str, Any] = {
            name: value for name, value in _NEUTRAL.items() if getattr(row, name) != defaults[name]
        }
        table._ROWS = tuple(replace(row, **values) if each is row else each for each in rows)
        start = next(each for each in table._ROWS if each not in rows)
        for source in sorted({_source(run) for run in mine}):
            others = [run for run in mine if _source(run) != source]
            if not others:
                continue
            shares = Counter(map(_source, others))
            best = fitted(start, [(shares[_source(run)] ** -0.5, run) for run in others])
            table._ROWS = tuple(best if each is row else each for each in rows)
            steps = [(run, step_time(run.model, run.job, run.layout, run.cluster)) for run in mine]
            off += [(step.seconds / run.seconds, step.off) for run, step in steps if _source(run) == source]
            table._ROWS = tuple(start if each is row else each for each in rows)
    table._ROWS = rows
    within = [sum(abs(each - 1) <= part for each, _ in off) / len(off) for part in (0.10, 0.25)]
    inside = sum(1 - part <= 1 / each <= 1 + part for each, part in off) / len(off)
    print(f"{len(off)} runs: {within[0]:.0%} within 10 %, {within[1]:.0%} within 25 %, {inside:.0%} in the range")


def _kind(run: Run) -> tuple[str, int, str]:
    return run.job.software, int(run.cluster.gpu.compute_capability), run.job.precision


def _source(run: Run) -> str:
    return run.name.split()[0]


def main() -> None:
    if "held-out" in sys.argv:
        held_out()
        return
    runs = list(published())
    shares = Counter((_kind(run), _source(run)) for run in runs)
    for row in table._ROWS:
        own = (row.software, row.compute_capability, row.precision)
        of_row = [(shares[own, _source(run)] ** -0.5, run) for run in runs if _kind(run) == own]
        best = fitted(row, of_row)
        print(*own, {name: f"{getattr(row, name):.3g} -> {getattr(best, name):.3g}" for name in _BOUNDS})


if __name__ == "__main__":
    main()
