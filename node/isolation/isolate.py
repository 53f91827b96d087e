"""Keeps new pods off nodes of which an alert says that their hardware or system is broken, and gives them back.

Every half minute it asks Prometheus which alerts fire that isolate, and cordons the nodes that they name, as `kubectl
cordon` does: what runs there goes on, and daemons stay. Of each pool it takes a few nodes and no more; more than that
are no broken machines but a fabric, a rack or a wrong rule, and somebody must look. A node comes back when it is ready
and nothing was said of it for a while. Only nodes that it cordoned itself come back by it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, urlencode

from publish import KEY as GATE
from publish import Api, ConflictError

POOL = "gpucluster/pool"
WHY, SINCE = "gpucluster/isolated", "gpucluster/isolated-since"
"""Annotations of a node that was isolated here: the failures, and when the first was seen."""

QUERY = 'ALERTS{alertstate="firing",isolates="yes",node!=""}'
MEASURED = (GATE, f"{GATE}-tests", f"{GATE}-driver", f"{GATE}-at")
"""Labels of a verdict, which says nothing of a node that was broken since: it is measured again."""

Sick = Mapping[str, frozenset[str]]
"""Failures by node."""


def firing(prometheus: str, seconds: float = 15) -> Sick:
    """What Prometheus says now. Raises OSError or ValueError where it says nothing that can be read."""
    address = f"{prometheus}/api/v1/query?{urlencode({'query': QUERY})}"
    with urllib.request.urlopen(address, timeout=seconds) as answer:  # noqa: S310 - an address of the cluster
        said = json.load(answer)
    if not isinstance(said, dict) or said.get("status") != "success":
        raise ValueError(f"unexpected answer of Prometheus: {str(said)[:200]}")
    found: dict[str, set[str]] = {}
    for each in said["data"]["result"]:
        labels = each["metric"]
        found.setdefault(labels["node"], set()).add(labels.get("failure") or labels["alertname"])
    return {node: frozenset(each) for node, each in found.items()}


@dataclass
class Isolation:
    """Nodes of `pools`, of each at most `most` isolated at a time; one comes back after `calm_s` without an alert."""

    api: Api
    pools: Sequence[str]
    most: int
    calm_s: float
    ask: Callable[[], Sick]
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _sick_at: dict[str, float] = field(default_factory=dict)
    _told: dict[str, str] = field(default_factory=dict)

    def look(self) -> None:
        """Asks once, and does what follows. Without an answer nothing changes, and no time passes for a node."""
        try:
            sick = self.ask()
        except (OSError, ValueError, KeyError, TypeError) as error:
            self._tell("", f"Prometheus did not answer: {error}")
            self._sick_at = dict.fromkeys(self._sick_at, self.clock())
            return
        self._told.pop("", None)
        for pool in self.pools:
            try:
                nodes = self.api.ask("GET", f"/api/v1/nodes?labelSelector={quote(f'{POOL}={pool}')}")["items"]
                self._pool(pool, nodes, sick)
            except OSError as error:
                self._tell(pool, f"nodes of pool {pool} could not be checked: {error}")

    def _pool(self, pool: str, nodes: Sequence[Mapping[str, Any]], sick: Sick) -> None:
        here = {each["metadata"]["name"]: each for each in nodes}
        isolated = {name for name, each in here.items() if WHY in (each["metadata"].get("annotations") or {})}
        for name in sorted(isolated - set(sick)):
            self._give_back(here[name])
        for name in sorted(set(sick) & set(here)):
            self._sick_at[name] = self.clock()
            why = ",".join(sorted(sick[name]))
            if name in isolated or here[name]["spec"].get("unschedulable"):
                self._told.pop(name, None)
            elif len(isolated) >= self.most:
                self._tell(
                    name,
                    f"{name} stays open although {why} is said of it: {len(isolated)} of pool {pool} are isolated"
                    f" already, and no more than {self.most} may be; look at them first",
                )
            elif self._isolate(here[name], why):
                isolated.add(name)

    def _isolate(self, node: Mapping[str, Any], why: str) -> bool:
        since = self.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {"metadata": {"annotations": {WHY: why, SINCE: since}}, "spec": {"unschedulable": True}}
        return self._change(node, body, "Isolated", f"no new pods come here: {why}")

    def _give_back(self, node: Mapping[str, Any]) -> None:
        name = node["metadata"]["name"]
        last = self._sick_at.setdefault(name, self.clock())
        if self.clock() - last < self.calm_s or not _ready(node):
            return
        body: dict[str, Any] = {
            "metadata": {"annotations": {WHY: None, SINCE: None}, "labels": dict.fromkeys(MEASURED)},
            "spec": {"unschedulable": None},
        }
        why = node["metadata"]["annotations"][WHY]
        if self._change(node, body, "GivenBack", f"{why} was not said of it for {self.calm_s / 60:g} minutes"):
            del self._sick_at[name]

    def _change(self, node: Mapping[str, Any], body: dict[str, Any], reason: str, message: str) -> bool:
        """Changes a node of the version that was read; one that somebody else changed waits for the next look."""
        name = node["metadata"]["name"]
        body["metadata"]["resourceVersion"] = node["metadata"]["resourceVersion"]
        try:
            self.api.patch(f"/api/v1/nodes/{name}", body)
        except ConflictError:
            return False
        print(f"{name} {reason}: {message}", flush=True)
        self._event(name, reason, message)
        return True

    def _event(self, name: str, reason: str, message: str) -> None:
        """An event of the node, which `kubectl describe node` shows; one that is not taken is no reason to stop."""
        now = self.now()
        stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{name}.{int(now.timestamp() * 1e6):x}", "namespace": "default"},
            # Of a node kubectl describe finds events by its name as uid too, as kubelets write it.
            "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": name, "uid": name},
            "type": "Warning" if reason == "Isolated" else "Normal",
            "reason": reason,
            "message": message[:1024],
            "source": {"component": "isolation"},
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
        }
        try:
            self.api.ask("POST", "/api/v1/namespaces/default/events", body)
        except OSError as error:
            print(f"could not write an event: {error}", flush=True)

    def _tell(self, about: str, sentence: str) -> None:
        """Says a sentence once, as long as it is the same."""
        if self._told.get(about) != sentence:
            self._told[about] = sentence
            print(sentence, file=sys.stderr, flush=True)


def _ready(node: Mapping[str, Any]) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def main(words: Sequence[str]) -> NoReturn:
    """Looks until it is ended."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--identity", type=Path, required=True, help="directory of the service account's token and CA")
    parser.add_argument("--prometheus", required=True, help="URL of Prometheus")
    parser.add_argument("--pool", action="append", required=True, help="pool whose nodes are watched; may be repeated")
    parser.add_argument("--most", type=int, required=True, help="most nodes of a pool to isolate at a time")
    parser.add_argument(
        "--calm-seconds", type=float, required=True, help="seconds without an alert before a node returns"
    )
    parser.add_argument("--look-seconds", type=float, required=True, help="seconds between two checks")
    asked = parser.parse_args(list(words))
    ask = partial(firing, asked.prometheus)
    isolation: Isolation | None = None
    while True:
        try:
            # A token in a file is replaced before it ends (Kubernetes: after 80 % of its time).
            api = Api.inside(asked.identity)
        except OSError as error:
            print(f"cannot read the service account's files: {error}", file=sys.stderr, flush=True)
        else:
            isolation = isolation or Isolation(api, asked.pool, asked.most, asked.calm_seconds, ask)
            isolation.api = api
            isolation.look()
        time.sleep(asked.look_seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
