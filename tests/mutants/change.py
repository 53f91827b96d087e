"""Values that differ a little from what the program meant."""

import re
from enum import Enum
from typing import Any

import pulumi

Place = str
"""Where in its file a value is written, LINE:COLUMN."""

NOWHERE = "urn:pulumi:mutant::mutant::mutant:index:Mutant::nowhere"
NUMBER = re.compile(r"\d+")


class Changer:
    """Changes values and knows which it could: `worked` are the places of those that differ from what they were."""

    def __init__(self) -> None:
        self.worked: set[Place] = set()

    def __call__(self, value: Any, place: Place) -> Any:
        """Another value of the same type; an Output of one; another resource to come after. The value, if none."""
        if isinstance(value, pulumi.Output):
            return value.apply(lambda known: self(known, place))
        new = other(value)
        if new is not value:
            self.worked.add(place)
        return new


def other(value: Any) -> Any:
    """A wrong value in the place of `value`, which is returned itself where there is no obvious one."""
    match value:
        case bool():
            return not value
        case Enum():
            members = list(type(value))
            return members[(members.index(value) + 1) % len(members)]
        case int() | float():
            return value + 1
        case str():
            return _text(value)
        case list() | tuple() if value:
            return value[:-1]
        case dict() if value:
            return dict(list(value.items())[:-1])
        case pulumi.Resource() if not isinstance(value, pulumi.ProviderResource):
            return pulumi.resource.DependencyResource(NOWHERE)
    return value


def _text(value: str) -> str:
    """A quantity of another number ("64Mi", "15s", "3"), the other truth, or another word."""
    if value in ("true", "false"):
        return "false" if value == "true" else "true"
    number = NUMBER.match(value)
    if number and len(value) - number.end() <= 2:
        return f"{int(number[0]) + 1}{value[number.end() :]}"
    return f"{value}-x"
