"""Which outlets the power strips of the racks need. Direct current is none: no server of the catalogue takes it.

Source: IEC 60320-1: C13 carries 10 A, C19 and C21 carry 16 A (C21 where it is hot); whatever draws more has a plug of
IEC 60309 or is wired.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import sqrt

from planner.facility.power import Circuit, Machines

_MOST_AMPERES = (("C13", 10.0), ("C19", 16.0))
_LEAST_STAR_VOLTS = 300
"""Between phases: from here on, strips give what is between a phase and neutral (230 V of 400), below it all (208)."""


def outlets(machines: Iterable[Machines], circuit: Circuit) -> Mapping[str, int]:
    """Outlets by their kind, of all feeds together: one for each cord, by the most that one supply draws."""
    star = circuit.phases > 1 and circuit.volts >= _LEAST_STAR_VOLTS
    volts = circuit.volts / (sqrt(3) if star else 1)
    found: Counter[str] = Counter()
    for each in machines:
        amperes = (each.supplies.watts if each.supplies else each.watts) / volts
        found[next((kind for kind, most in _MOST_AMPERES if amperes <= most), "IEC 60309")] += each.count * each.cords
    return dict(sorted(found.items()))
