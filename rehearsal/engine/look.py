"""One look at a cluster: each kind is listed once, however many objects of it are asked for."""

from collections.abc import Sequence
from typing import Any

from rehearsal.kube.client import ApiError, Kube
from rehearsal.plugins.kubernetes.reasons import explain

Object = dict[str, Any]
Key = tuple[str | None, str]
"""Namespace and name."""


class Look:
    """What is there at one moment. Raises what the client raises if the API server does not answer."""

    def __init__(self, kube: Kube) -> None:
        self.kube = kube
        self._kinds: dict[tuple[str, str], dict[Key, Object] | None] = {}

    def all(self, api_version: str, kind: str) -> Sequence[Object]:
        """All objects of a kind; none where it is not served."""
        return list((self._listed(api_version, kind) or {}).values())

    def served(self, api_version: str, kind: str) -> bool:
        """Whether the API server knows the kind."""
        return self._listed(api_version, kind) is not None

    def find(self, api_version: str, kind: str, name: str, namespace: str | None) -> Object | None:
        """The object, or None."""
        return (self._listed(api_version, kind) or {}).get((namespace, name))

    def why(self, live: Object, kind: str) -> str:
        """`: ` and what Kubernetes says of an object that is not as asked; empty where it says nothing."""
        return because(explain({**live, "kind": kind}, self.kube))

    def events(self, kind: str, name: str, namespace: str | None) -> list[str]:
        """The newest event of each type about an object, be it gone; some controllers refuse in `Normal` ones."""
        selector = f"involvedObject.kind={kind},involvedObject.name={name}"
        events = self.kube.list("v1", "Event", namespace or "default", field_selector=selector)
        newest = sorted(events, key=lambda event: event.get("lastTimestamp") or "")
        return [f"{event['reason']}: {event['message']}" for event in {each["type"]: each for each in newest}.values()]

    def _listed(self, api_version: str, kind: str) -> dict[Key, Object] | None:
        if (api_version, kind) not in self._kinds:
            self._kinds[api_version, kind] = self._list(api_version, kind)
        return self._kinds[api_version, kind]

    def _list(self, api_version: str, kind: str) -> dict[Key, Object] | None:
        try:
            found = self.kube.list(api_version, kind)
        except ApiError as error:
            if error.reason in {"NoMatch", "NotFound"}:
                return None
            raise
        return {(each["metadata"].get("namespace"), each["metadata"]["name"]): each for each in found}


def because(why: Sequence[str]) -> str:
    """The reasons as the end of a sentence."""
    return f": {'; '.join(why)}" if why else ""
