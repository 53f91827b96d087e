"""People at the pages of the cluster: who vouches for them, and which page is open to whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from settings.people import Page, People

REQUEST = (50, 64)
"""Millicores and MiB of such a pod."""

_HTTPS_PORT = 443


@dataclass(frozen=True, kw_only=True)
class PagePlan:
    """A `page` under a name and at a hostname of its own, for members of any of the groups. `role` is theirs in
    Grafana, None at a page that knows no roles: there everybody who sees it may do all that it lets do.
    """

    name: str
    page: str
    hostname: str
    groups: tuple[str, ...]
    role: str | None


@dataclass(frozen=True, kw_only=True)
class PeoplePlan:
    """Pages behind an issuer of OpenID Connect, which answers at `issuer_port` of `issuer_networks`, or of the Internet
    where there are none. `secret` and `session_secret` are keys of the stack file: the client's at the issuer, and what
    seals sessions, which last `session_seconds`. `callers` are
    the groups whose members ask models by a token.
    """

    issuer: str
    issuer_port: int
    issuer_networks: tuple[str, ...]
    client_id: str
    groups_claim: str
    scopes: tuple[str, ...]
    secret: str
    session_secret: str
    session_seconds: int
    pages: tuple[PagePlan, ...]
    callers: tuple[str, ...] = ()

    @property
    def groups(self) -> tuple[str, ...]:
        """Everybody of whom anything is open, each group once."""
        return tuple(dict.fromkeys((*(group for page in self.pages for group in page.groups), *self.callers)))

    def hostnames(self, page: str) -> tuple[str, ...]:
        """Where a page is found."""
        return tuple(each.hostname for each in self.pages if each.page == page)


def plan_people(people: People | None, domain: str, callers: Iterable[str] = ()) -> PeoplePlan | None:
    """None where no page has a way in. `callers` are groups of services."""
    if people is None:
        return None
    said = {"issuer", "issuer_networks", "client_id", "groups_claim", "scopes", "secret", "session_secret"}
    return PeoplePlan(
        **people.model_dump(include=said),
        issuer_port=urlsplit(people.issuer).port or _HTTPS_PORT,
        session_seconds=people.session_hours * 3600,
        pages=tuple(_page(each, domain) for each in people.pages),
        callers=tuple(dict.fromkeys(callers)),
    )


def _page(page: Page, domain: str) -> PagePlan:
    return PagePlan(
        name=page.called,
        page=page.page,
        hostname=page.hostname or f"{page.called}.{domain}",
        groups=page.groups,
        role=page.role if page.page == "grafana" else None,
    )
