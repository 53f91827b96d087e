"""Which kinds an API server serves, and under which paths."""

import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rehearsal.kube.errors import ApiError


@dataclass(frozen=True)
class ServedKind:
    """One kind as the server lists it."""

    plural: str
    namespaced: bool


def served(call: Callable[[str, str], dict[str, Any]]) -> frozenset[str]:
    """All that the server serves: `group/version` and `group/version/Kind`, without the group for the core's.

    A group whose own server does not answer is left out. Raises ApiError, Unreachable.
    """
    versions = list(call("GET", "/api")["versions"])
    versions += [each["groupVersion"] for group in call("GET", "/apis")["groups"] for each in group["versions"]]
    found = set(versions)
    for version in versions:
        try:
            listed = call("GET", f"/{'apis' if '/' in version else 'api'}/{version}")
        except ApiError:
            continue
        found.update(f"{version}/{each['kind']}" for each in listed.get("resources") or [])
    return frozenset(found)


class Discovery:
    """Answers from memory; asks the server once per group and version, and again for a kind it has not seen."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str], ServedKind] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def find(self, call: Callable[[str, str], dict[str, Any]], api_version: str, kind: str) -> ServedKind:
        """The kind as served. Raises ApiError 404 NoMatch if the server has no such kind (yet)."""
        known = self._kinds.get((api_version, kind))
        if known:
            return known
        with self._locks[api_version]:
            if (api_version, kind) not in self._kinds:
                self._fetch(call, api_version)
        known = self._kinds.get((api_version, kind))
        if known is None:
            raise ApiError(404, "NoMatch", f'no matches for kind "{kind}" in version "{api_version}"')
        return known

    def _fetch(self, call: Callable[[str, str], dict[str, Any]], api_version: str) -> None:
        try:
            listed = call("GET", f"/{'apis' if '/' in api_version else 'api'}/{api_version}")
        except ApiError as error:
            if error.code == 404:
                return
            raise
        for resource in listed.get("resources") or []:
            if "/" not in resource["name"]:
                self._kinds[api_version, resource["kind"]] = ServedKind(resource["name"], resource["namespaced"])
