"""A resource that a sweep found: its stack, its price, and whether it may be removed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

PROJECT, STACK, EXPIRY, PROTECT = "gpucluster:project", "gpucluster:stack", "expiry", "gpucluster:protect"
RETAIN = "gpucluster:retain"
"""A tag of volumes that stay when their claim goes."""

Tags = Mapping[str, str]


class Account(Protocol):
    """Where to ask: one region of one account."""

    def pages(self, service: str, operation: str, **request: Any) -> Iterator[Mapping[str, Any]]:
        """All pages of an answer."""

    def call(self, service: str, operation: str, **request: Any) -> Mapping[str, Any]:
        """One answer."""


@dataclass(frozen=True, kw_only=True)
class Owner:
    """A stack, by its tags: the last of its days, None where it has none, and whether its data is protected."""

    project: str
    stack: str
    expiry: date | None
    protected: bool

    def expired(self, today: date) -> bool:
        """Whether its last day is over. A stack without one, or with a day nobody can read, never is."""
        return self.expiry is not None and self.expiry < today


@dataclass(frozen=True, kw_only=True)
class Found:
    """One thing that costs, or that holds what costs. `size` is what its price goes by: GiB, instances that
    are held and not run, interfaces of an endpoint, or 1.

    `state` is AWS' word. `price` names it in the price list, an instance by its type. `within` is the cluster of a node
    group, or the instance that an interface was made for. `stays` is why it is not removed, empty where it may go.
    """

    kind: str
    id: str
    owner: Owner
    state: str
    price: str | None = None
    size: float = 1
    spot: bool = False
    within: str = ""
    stays: str = ""


def owner_of(tags: Tags) -> Owner | None:
    """Whose a thing with such tags is; None if no stack of this program made it."""
    if not tags.get(PROJECT) or not tags.get(STACK):
        return None
    try:
        expiry = date.fromisoformat(tags[EXPIRY]) if EXPIRY in tags else None
    except ValueError:
        expiry = None
    return Owner(project=tags[PROJECT], stack=tags[STACK], expiry=expiry, protected=tags.get(PROTECT) == "true")


def pairs(tags: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {each["Key"]: each["Value"] for each in tags}
