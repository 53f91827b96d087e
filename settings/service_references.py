"""What services, Triton servers and people's pages say about each other: keys that only one may have, hostnames and
names that lead to one.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from catalogue.echo import echo
from settings.sections import Path

Problem = tuple[Path, str]
Place = tuple[str, int]
"""The list below `serving` in which a server stands, and where."""


def shared_keys(services: Mapping[Place, Mapping[str, Any]]) -> Iterable[Problem]:
    """Secrets that two services name: who may ask one model could ask the other."""
    owners: dict[str, Place] = {}
    for at, service in services.items():
        keys = service.get("keys")
        for place, key in enumerate(keys if isinstance(keys, list | tuple) else ()):
            if isinstance(key, str) and owners.setdefault(key, at) != at:
                sentence = f"{key!r} is a key of {_named(owners[key])} already; give each service its own secret"
                yield ("serving", *at, "keys", place), sentence


def published(serving: Any, services: Mapping[Place, Mapping[str, Any]]) -> Iterable[Problem]:
    """Public services without the gateway that has their TLS, and hostnames that lead nowhere or to two of them."""
    gateway = serving.get("gateway") if isinstance(serving, Mapping) else None
    domain = gateway.get("domain") if isinstance(gateway, Mapping) else None
    taken: dict[str, Place] = {}
    for at, service in services.items():
        path, named = ("serving", *at), service.get("hostname")
        if service.get("public") is not True:
            if named is not None:
                yield (*path, "hostname"), "applies to a public service; add public: true, or remove it"
            continue
        if gateway is None:
            sentence = (
                "is true, but there is no gateway with TLS; add serving.gateway: {domain: llm.example.com, "
                "issuer: {kind: private-ca}, callers: [10.0.0.0/8]}, or remove public"
            )
            yield (*path, "public"), sentence
        hostname = named if named is not None else f"{service.get('name')}.{domain}"
        if isinstance(hostname, str) and taken.setdefault(hostname, at) != at:
            sentence = f"{echo(hostname)} is where {_named(taken[hostname])} is found; choose another"
            yield (*path, "hostname"), sentence
    yield from _pages(gateway, taken, [service.get("name") for service in services.values()])


def _called(page: Mapping[str, Any]) -> str:
    """A page's name where the stack file gives it none."""
    team = page.get("team")
    return f"{page.get('page')}-{team}" if isinstance(team, str) else str(page.get("page"))


def _pages(gateway: Any, taken: dict[str, Place], services: Collection[Any]) -> Iterable[Problem]:
    """Pages of people that are found where something else is, or called like it."""
    people = gateway.get("people") if isinstance(gateway, Mapping) else None
    pages = people.get("pages") if isinstance(people, Mapping) else None
    for index, page in enumerate(pages if isinstance(pages, list | tuple) else ()):
        if not isinstance(page, Mapping):
            continue
        path, name = ("serving", "gateway", "people", "pages", index), page.get("name") or _called(page)
        if name in services:
            yield (*path, "name"), f"{echo(name)} is the name of a model service; choose another"
        hostname = page.get("hostname") or f"{name}.{gateway.get('domain')}"
        if isinstance(hostname, str) and taken.setdefault(hostname, ("pages", index)) != ("pages", index):
            yield (*path, "hostname"), f"{echo(hostname)} is where {_named(taken[hostname])} is found; choose another"


def _named(at: Place) -> str:
    return f"{at[0]}[{at[1]}]"
