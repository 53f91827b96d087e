"""Kubernetes resource quantities ("500m", "16Gi", 8) as exact numbers.

Source: the serialisation format of k8s.io/apimachinery's resource.Quantity.
"""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction

_SUFFIX: dict[str, Fraction] = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{letter: Fraction(10 ** (3 * power)) for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": Fraction(2 ** (10 * power)) for power, letter in enumerate("KMGTPE", start=1)},
}
_FORM = re.compile(r"^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$")

Amounts = dict[str, Fraction]


def parse(quantity: str | int | float) -> Fraction:
    """The value of a quantity. Raises ValueError for text that is none."""
    found = _FORM.match(str(quantity).strip())
    if found is None:
        raise ValueError(f"{quantity!r} is not a Kubernetes quantity")
    number, exponent, suffix = found.groups()
    return Fraction(number) * (Fraction(10) ** int(exponent[1:]) if exponent else _SUFFIX[suffix or ""])


def amounts(resources: Mapping[str, str | int | float] | None) -> Amounts:
    """A resource list (`{"cpu": "500m"}`) as numbers."""
    return {name: parse(value) for name, value in (resources or {}).items()}


def total(parts: Iterable[Mapping[str, Fraction]]) -> Amounts:
    """The sum per resource."""
    result: Amounts = {}
    for part in parts:
        for name, value in part.items():
            result[name] = result.get(name, Fraction(0)) + value
    return result


def largest(parts: Iterable[Mapping[str, Fraction]]) -> Amounts:
    """The maximum per resource."""
    result: Amounts = {}
    for part in parts:
        for name, value in part.items():
            result[name] = max(result.get(name, Fraction(0)), value)
    return result
