"""How one kind of object is waited for: what is read, when it is ready, when time is up, what the error says."""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rehearsal.kube.client import Kube
from rehearsal.plugins.kubernetes.objects import Object, dig

Live = Mapping[str, Any]
CONDITION_TIMEOUT = "timed out waiting for the condition"


@dataclass(frozen=True)
class Seen:
    """One look: the object as it is (None if it is gone), and the objects beside it by kind."""

    live: Object | None
    beside: Mapping[str, Sequence[Object]] = field(default_factory=dict)


class Awaiter(abc.ABC):
    """Waits for one object from its creation or update on; times are seconds of one clock.

    Subclasses say in `beside` what else they read, and in `judge` what they make of it. `live` is the object as last
    seen, `wanted` what the API server answered to the request, `before` the object before an update.
    """

    breaks = False
    """Whether a failing look ends the wait; what watches the cluster goes on instead when the server is back."""

    def __init__(self, live: Object, began: float = 0.0, before: Object | None = None) -> None:
        self.wanted, self.live, self.before, self.began = live, live, before, began
        self.ready = self.failed = False
        self.said: list[tuple[str, str]] = []
        """Status lines, each (severity, text), that have not been shown yet."""

    def look(self, kube: Kube, now: float) -> None:
        """Reads the cluster once and judges. Raises ApiError, Unreachable."""
        meta = self.live["metadata"]
        live = kube.get(self.live["apiVersion"], self.live["kind"], meta["name"], meta.get("namespace"))
        self.observe(Seen(live, self.beside(kube)), now)

    def beside(self, kube: Kube) -> Mapping[str, Sequence[Object]]:  # noqa: ARG002 - subclasses ask it
        """The other objects that the kind's rule reads."""
        return {}

    def observe(self, seen: Seen, now: float) -> None:
        """Takes in one look. An object older than the one asked for is no news."""
        old = seen.live and dig(seen.live, "metadata", "generation", default=0) < dig(
            self.wanted, "metadata", "generation", default=0
        )
        if seen.live and not old:
            self.live = seen.live
        self.judge(Seen(None if old else seen.live, seen.beside), now)

    @abc.abstractmethod
    def judge(self, seen: Seen, now: float) -> None:
        """Sets `ready` or `failed`."""

    def late(self, now: float, seconds: float) -> bool:
        """Whether the time that the program grants is over."""
        return now - self.began >= seconds

    def at_last(self) -> bool:
        """Whether the object counts as ready when the time is over all the same."""
        return False

    def reasons(self) -> list[str]:
        """What is wrong with it, below the error's first sentence."""
        return []

    def timeout_text(self) -> str:
        """The first sentence of the error when the time is over (await/error.go)."""
        return f"'{self.live['metadata']['name']}' timed out waiting to be Ready"

    def failure_text(self) -> str:
        """The first sentence when the object failed for good, or is found unready by a refresh (await/error.go)."""
        return f"Resource '{self.live['metadata']['name']}' was created but failed to initialize"

    def say(self, text: str, severity: str = "info") -> None:
        """A status line, to be shown once."""
        self.said.append((severity, text))

    def selected(self, kube: Kube, api_version: str, kind: str) -> list[Object]:
        """Objects of the namespace with the labels that the object's selector names."""
        labels = dig(self.live, "spec", "selector", "matchLabels", default={})
        text = ",".join(f"{key}={value}" for key, value in labels.items())
        return kube.list(api_version, kind, self.live["metadata"].get("namespace"), text or None)


def versions(objects: Sequence[Live]) -> dict[str, str]:
    """Which objects there are, and in which state: it differs after any event."""
    return {str(dig(each, "metadata", "uid")): str(dig(each, "metadata", "resourceVersion")) for each in objects}
