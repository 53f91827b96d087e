"""The nodes of racked machines that are on, and of those that are not."""

from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.racks import nodes
from rehearsal.racks.nodes import RackedNodes


class Seen:
    """A cluster with one node, whose network runs; it keeps what is written of the node."""

    def __init__(self) -> None:
        self.node: dict[str, Any] = {"metadata": {"name": "a", "uid": "1"}, "status": {"conditions": []}}
        self.holders: list[str | None] = []
        self.kube = SimpleNamespace(apply=self._apply, patch=self._patch, create=lambda _: None)
        self.orders = SimpleNamespace(now=lambda: SimpleNamespace(of=lambda _: ()))
        self.hosts = SimpleNamespace(add=lambda _: None)

    def find(self, *_: Any) -> dict[str, Any]:
        return self.node

    def running(self, *_: Any) -> list[str]:
        return ["cilium"]

    def _apply(self, item: dict[str, Any], *_: Any, **__: Any) -> None:
        self.holders.append(item["spec"].get("holderIdentity"))

    def _patch(self, *words: Any) -> None:
        self.node["status"] |= words[4]["status"]

    def ready(self) -> tuple[Any, ...]:
        (found,) = (each for each in self.node["status"]["conditions"] if each["type"] == "Ready")
        return found["status"], found["reason"]


def test_a_node_whose_machine_is_off_is_unknown_after_a_while_and_ready_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    seen = Seen()
    kept = RackedNodes(seen)  # type: ignore[arg-type]  # what it asks of a world
    kept.join(SimpleNamespace(node="a"))  # type: ignore[arg-type]
    kept.reconcile()
    assert seen.ready()[0] == "True"
    assert seen.holders[-1] is None, "kwok sends its heartbeats"

    kept.off(["a"])
    kept.reconcile()
    assert seen.ready()[0] == "True", "nobody knows yet"
    assert seen.holders == ["a", None, "a"], "and kwok does not speak for it"
    now[0] += nodes.GRACE_SECONDS + 1
    kept.off(["a"])
    kept.reconcile()
    assert seen.ready() == ("Unknown", "NodeStatusUnknown")

    kept.off([])
    kept.reconcile()
    assert seen.ready()[0] == "True"
    assert seen.holders[-1] is None
