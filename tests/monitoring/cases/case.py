"""A failure as series show it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.monitoring.healthy import Series


@dataclass(frozen=True, kw_only=True)
class Case:
    """What differs from the healthy cluster when the failure shows (`firing`), and when it nearly does (`silent`, empty
    where that is another failure). At `minute` the alert says `summary`, once for each of `labels`. Series that are
    `gone` end with the failure. `also` shows it in another way.
    """

    firing: Series
    labels: tuple[Mapping[str, str], ...]
    summary: str
    silent: Series = field(default_factory=dict)
    minute: int = 20
    gone: tuple[str, ...] = ()
    also: Series = field(default_factory=dict)
