"""Charts that are not available here are simulated: rendered from a data file of facts, with switches for values.

A further chart is a data file (`python -m rehearsal.charts.played.generate NAME`) and, for the values that it
should follow, a module of switches next to this one, called as the chart is, with `RULES`.
"""

from importlib import import_module
from importlib.util import find_spec

from rehearsal.charts.played import files
from rehearsal.charts.played.chart import PlayedChart
from rehearsal.charts.played.switches import Rules

__all__ = ["PlayedChart", "find"]


def find(name: str, version: str) -> PlayedChart | None:
    """The chart of that name, if there is data to play it from; of another version if need be, which it says."""
    if name not in files.names():
        return None
    module = f"{__name__}.{name.replace('-', '_')}"
    rules = import_module(module).RULES if find_spec(module) else Rules()
    return PlayedChart(name, version, files.load(name), rules)
