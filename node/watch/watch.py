"""Says of every run of the namespace why it failed: class, node, rank and next step, in a ConfigMap and by an event.

It follows the runs' pods at the API server, reads their last words there, and asks those that tell of themselves for
their step. A run that has stood for too long is written down with its last words and its metrics, then its first pod
is taken away, so that the operator begins the gang again at its newest checkpoint.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

import pace
from ends import RUN, End, Incident, Row, Table, ends, job_of, seconds, written
from pace import Pace, Patience
from publish import Api, GoneError

KEPT = 10
"""Failures of a run that are kept, the newest last."""

LOOK_SECONDS = 10
EVIDENCE_LINES, EVIDENCE_BYTES, EVIDENCE_PODS = 40, 4096, 8
METRICS_PORT = "metrics"


class Watch:
    """What is known of the namespace's runs. `fetch` asks an address for its metrics."""

    def __init__(
        self,
        api: Api,
        config_map: str,
        table: Table,
        patience: Patience,
        fetch: Callable[[str], str | None] = pace.fetch,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.api, self.table, self.patience, self.fetch, self.clock = api, table, patience, fetch, clock
        self.path = f"/api/v1/namespaces/{api.namespace}/configmaps/{config_map}"
        self.pods: dict[str, dict[str, Any]] = {}
        self.incidents: dict[str, Incident] = {}
        self.paces: dict[str, Pace] = {}
        kept = api.ask("GET", self.path).get("data") or {}
        self.kept: dict[str, list[dict[str, Any]]] = {run: json.loads(text) for run, text in kept.items()}

    def begin(self) -> str:
        """Reads all pods; the version from which on they are followed."""
        found = self.api.ask("GET", self._pods())
        self.pods = {}
        for each in found["items"]:
            self.see("MODIFIED", each)
        return str(found["metadata"]["resourceVersion"])

    def follow(self, version: str) -> str:
        """What happens within the next seconds; the version that it has come to. Raises GoneError for too old a one."""
        for event in self.api.lines(
            f"{self._pods()}&watch=1&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds={LOOK_SECONDS}",
            seconds=LOOK_SECONDS + 30,
        ):
            if event["type"] == "ERROR":
                raise GoneError(str(event["object"].get("message")))
            version = event["object"]["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                self.see(event["type"], event["object"])
        return version

    def see(self, kind: str, pod: dict[str, Any]) -> None:
        """Takes what a pod is now, and tells of each end that is new."""
        uid = pod["metadata"]["uid"]
        self.pods[uid] = pod
        for end in ends(pod, self.table, time.time()):
            if self._is_new(end):
                self._add(end)
        if kind == "DELETED":
            del self.pods[uid]

    def _is_new(self, end: End) -> bool:
        """Whether it was never told. What an earlier process of this program told is known by its time."""
        now = self.incidents.get(end.run)
        if now is not None:
            return end.key not in now.ends and (now.takes(end) or end.at > now.until)
        before = self.kept.get(end.run)
        return not before or end.at > before[-1]["until"]

    def _add(self, end: End) -> None:
        incident, fresh = self.incidents.get(end.run), False
        if incident is None or not incident.takes(end):
            incident, fresh = Incident(end.run), True
            self.incidents[end.run] = incident
        incident.ends[end.key] = end
        self.tell(incident, fresh=fresh)

    def tell(self, incident: Incident, *, fresh: bool) -> None:
        """Writes an incident down, over what was known of it before, and says it."""
        kept, record = self.kept.setdefault(incident.run, []), incident.record()
        if not fresh:
            kept.pop()
        for each in kept:
            each.pop("evidence", None)
        kept.append(record)
        del kept[:-KEPT]
        self.api.patch(self.path, {"data": {incident.run: json.dumps(kept, indent=1)}})
        print(f"{record['at']} run {incident.run}: {record['sentence']}", flush=True)
        self._event(incident.cause, record, incident.since)

    def _event(self, cause: End, record: Mapping[str, Any], since: str) -> None:
        """An event of the job, which `kubectl describe` shows; one that is not taken is no reason to stop."""
        stamp = int(seconds(since))
        name = f"{cause.job['name']}.{stamp:x}"
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": self.api.namespace},
            "involvedObject": {**cause.job, "namespace": self.api.namespace},
            "type": "Warning",
            "reason": cause.row["alert"],
            "message": record["sentence"][:1024],
            "source": {"component": "run-watch"},
            "firstTimestamp": since,
            "lastTimestamp": record["until"],
            "count": record["pods"],
        }
        path = f"/api/v1/namespaces/{self.api.namespace}/events"
        try:
            try:
                self.api.patch(f"{path}/{name}", {key: body[key] for key in ("reason", "message", "lastTimestamp")})
            except FileNotFoundError:
                self.api.ask("POST", path, body)
        except OSError as error:
            print(f"could not write an event: {error}", flush=True)

    def look(self) -> None:
        """Asks the runs for their step, and ends what hangs."""
        for pod in list(self.pods.values()):
            address, uid = _metrics(pod), pod["metadata"]["uid"]
            page = self.fetch(address) if address else None
            if page is None or pace.STEP not in pace.numbers(page):
                self.paces.pop(uid, None)
                continue
            known = self.paces.setdefault(uid, Pace(pace.numbers(page)[pace.STEP], self.clock(), page))
            stood = known.stands(page, self.clock(), self.patience)
            if stood is not None:
                del self.paces[uid]
                self.end(pod, known, stood)

    def end(self, pod: dict[str, Any], known: Pace, stood: float) -> None:
        """Keeps what a run that hangs said last, then takes its first pod away."""
        meta, at = pod["metadata"], written(time.time())
        row = next(each for each in self.table.signs if each["failure"] == "run-hangs")
        words = f"step {known.step:g} has stood for {stood:.0f} s"
        order = self.table.signs.index(row)
        incident = Incident(meta["labels"][RUN], evidence=self._evidence(meta["labels"][RUN], known.page))
        end = End(
            key=f"{meta['uid']}/hang/{at}",
            run=incident.run,
            job=job_of(pod),
            pod=meta["name"],
            node=pod["spec"].get("nodeName", ""),
            rank="rank 0",
            at=at,
            exit=None,
            words=words,
            row=row,
            order=order,
        )
        self.incidents[incident.run] = incident
        incident.ends[end.key] = end
        self.tell(incident, fresh=True)
        self.api.ask("DELETE", f"/api/v1/namespaces/{self.api.namespace}/pods/{meta['name']}")

    def _evidence(self, run: str, page: str) -> str:
        """The run's metrics, and the last lines of some of its pods."""
        there = sorted(
            each["metadata"]["name"] for each in self.pods.values() if each["metadata"]["labels"].get(RUN) == run
        )
        parts = [page.strip()]
        for name in there[:EVIDENCE_PODS]:
            path = f"/api/v1/namespaces/{self.api.namespace}/pods/{name}/log"
            try:
                said = self.api.text(f"{path}?tailLines={EVIDENCE_LINES}&limitBytes={EVIDENCE_BYTES}")
            except OSError as error:
                said = f"no log: {error}"
            parts.append(f"--- {name}\n{said.strip()}")
        return "\n".join(parts)

    def _pods(self) -> str:
        return f"/api/v1/namespaces/{self.api.namespace}/pods?labelSelector={quote(RUN, safe='')}"


def _metrics(pod: Mapping[str, Any]) -> str | None:
    """Where a pod that runs tells of itself; None where it does not."""
    status = pod.get("status") or {}
    if status.get("phase") != "Running" or not status.get("podIP") or pod["metadata"].get("deletionTimestamp"):
        return None
    for container in pod["spec"]["containers"]:
        for port in container.get("ports") or ():
            if port.get("name") == METRICS_PORT:
                host = status["podIP"]
                return (
                    f"http://[{host}]:{port['containerPort']}/metrics"
                    if ":" in host
                    else (f"http://{host}:{port['containerPort']}/metrics")
                )
    return None


def main(words: Sequence[str]) -> NoReturn:
    """Follows the runs until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--identity", type=Path, required=True, help="directory of the service account's token and CA")
    parser.add_argument("--config-map", required=True)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument(
        "--steps", type=float, required=True, help="a run hangs if it makes no progress for the time of so many steps"
    )
    parser.add_argument("--least-seconds", type=float, required=True, help="and for at least so many seconds")
    asked = parser.parse_args(list(words))
    told: dict[str, list[Row]] = json.loads(asked.table.read_text(encoding="utf-8"))
    table, patience = Table(**told), Patience(asked.steps, asked.least_seconds)
    watch: Watch | None = None
    version: str | None = None
    while True:
        try:
            # A token in a file is replaced before it ends (Kubernetes: after 80 % of its time).
            api = Api.inside(asked.identity)
            watch = watch or Watch(api, asked.config_map, table, patience)
            watch.api = api
            version = watch.follow(version or watch.begin())
            watch.look()
        except GoneError:
            version = None
        except (OSError, HTTPException) as error:
            print(f"the API server did not answer: {error}; retrying in {LOOK_SECONDS} s", flush=True)
            version = None
            time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1:])
