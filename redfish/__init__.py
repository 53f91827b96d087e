"""How Redfish documents are read, by `oob` here and by `node/sensors` in a pod, which is given this file alone.

So it needs nothing but Python. Real controllers leave members out, give null or another type, and answer 404 or 500 for
resources that they list: each of these reads as nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

Document = Mapping[str, Any]

ROOT = "/redfish/v1/"
MOST = 64
"""Members of one collection that are read."""


class Reader(ABC):
    """One controller's documents; `ABSENT` are what `must` raises where there is no document at a path."""

    ABSENT: tuple[type[Exception], ...] = (ValueError,)

    @abstractmethod
    def must(self, path: str) -> Document:
        """A document without which nothing is known."""

    def may(self, path: str | None) -> Document:
        """A document, or an empty one where there is none."""
        try:
            return self.must(path) if path else {}
        except self.ABSENT:
            return {}

    def members(self, path: str | None) -> Iterator[Document]:
        """The documents of a collection; some controllers put them into it, others name them."""
        for each in rows(self.may(path), "Members")[:MOST]:
            yield self.whole(each)

    def whole(self, member: Document) -> Document:
        """The document itself of a member that names it."""
        return member if len(member) > 1 else self.may(text(member, "@odata.id"))


def inside(document: Document, name: str) -> Document:
    """The document that a member is, an empty one where it is none."""
    found = document.get(name)
    return found if isinstance(found, Mapping) else {}


def rows(document: Document, name: str) -> list[Document]:
    """The documents in a list."""
    found = document.get(name)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def link(document: Document, name: str) -> str | None:
    """The path that a member leads to."""
    return text(inside(document, name), "@odata.id")


def text(document: Document, name: str) -> str | None:
    """Some pad with blanks, and some say nothing with blanks alone."""
    found = document.get(name)
    return found.strip() or None if isinstance(found, str) else None


def number(document: Document, name: str) -> float | None:
    """A number, which true and false are not."""
    found = document.get(name)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None
