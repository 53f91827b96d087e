"""Why pods of runs ended: class, node, rank and next step, from what Kubernetes and the process itself say.

Ranks of a gang end together. What ended within a minute and a half of the first is one failure; so is a rank that ended
later because it had waited for the first, until PyTorch's watchdog gave up. Of all that were said, the words that stand
first in the table of signs are its cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

RUN, INDEX, ROLE = "gpucluster/run", "training.kubeflow.org/replica-index", "training.kubeflow.org/replica-type"
TOGETHER_SECONDS = 90.0
WATCHDOG_SECONDS = 600.0
"""Of a collective, as PyTorch has it by itself (ProcessGroupNCCL.hpp, kProcessGroupNCCLDefaultTimeout)."""
GAVE_UP = "Watchdog caught collective operation timeout"
"""The sign by which the table knows it."""
LONGEST_WORDS = 300
STOPPED = 143
"""Status of a process that ended on SIGTERM, as it was asked to: no failure of its own."""

_RANK = re.compile(r"\[?\b[Rr]ank[ :]{1,2}(\d+)\b")
Row = Mapping[str, str]


@dataclass(frozen=True)
class End:
    """A container that ended with an error, or a pod that was taken away. `rank` is the one
    that its words name, else what the operator calls the pod."""

    key: str
    run: str
    job: Mapping[str, Any]
    pod: str
    node: str
    rank: str
    at: str
    exit: int | None
    words: str
    row: Row
    order: int


@dataclass(frozen=True)
class Table:
    """Signs in the order in which they explain each other; what Kubernetes says stands before what a process says."""

    reasons: Sequence[Row]
    signs: Sequence[Row]

    def of_words(self, words: str) -> tuple[int, Row]:
        """The first sign in a process' words. Raises LookupError for a table whose last row is not for all words."""
        for order, row in enumerate(self.signs):
            if re.search(row["pattern"], words):
                return order, row
        raise LookupError("no row of the table is for all other words")

    def of_reason(self, reason: str, message: str) -> tuple[int, Row] | None:
        """What a reason of Kubernetes stands for; None for one that is no failure, or says no more than the words."""
        for order, row in enumerate(self.reasons):
            if re.match(row["pattern"], f"{reason}: {message}", re.DOTALL):
                return order - len(self.reasons), row
        return None


@dataclass
class Incident:
    """Ends of one run that belong together."""

    run: str
    ends: dict[str, End] = field(default_factory=dict)
    evidence: str = ""

    @property
    def cause(self) -> End:
        return min(self.ends.values(), key=lambda each: (each.order, each.at, each.pod))

    @property
    def since(self) -> str:
        return min(each.at for each in self.ends.values())

    @property
    def until(self) -> str:
        return max(each.at for each in self.ends.values())

    def takes(self, end: End) -> bool:
        """Whether an end belongs to it. What waited for a rank that is gone ends late, once in each pod."""
        first = min(self.ends.values(), key=lambda each: each.at)
        waited = end.row["pattern"] == GAVE_UP != first.row["pattern"]
        late = waited and end.pod not in {each.pod for each in self.ends.values()}
        passed = seconds(end.at) - seconds(first.at)
        return -TOGETHER_SECONDS <= passed <= TOGETHER_SECONDS + (WATCHDOG_SECONDS if late else 0.0)

    def record(self) -> dict[str, Any]:
        """What is kept of it."""
        cause = self.cause
        told = {key: cause.row[key] for key in ("failure", "title", "next", "page")}
        kept = {
            "at": self.since,
            "until": self.until,
            **told,
            "run": self.run,
            "node": cause.node,
            "rank": cause.rank,
            "pod": cause.pod,
            "exit": cause.exit,
            "said": cause.words,
            "pods": len({each.pod for each in self.ends.values()}),
        }
        return {**kept, "sentence": sentence(kept), **({"evidence": self.evidence} if self.evidence else {})}


def sentence(kept: Mapping[str, Any]) -> str:
    """A record as a person reads it."""
    where = f"node {kept['node'] or 'unknown'}, {kept['rank']} (pod {kept['pod']}, one of {kept['pods']} that ended)"
    said = f", which said: {kept['said']}" if kept["said"] else ""
    return f"{kept['failure']} ({kept['title']}) on {where}{said}. Next: {kept['next']}, see {kept['page']}"


def seconds(at: str) -> float:
    """Unix time of a time as Kubernetes writes it."""
    return datetime.strptime(at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()


def written(now: float) -> str:
    """A Unix time as Kubernetes writes it."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ends(pod: Mapping[str, Any], table: Table, now: float) -> Iterator[End]:
    """All that a pod's status tells of failures: of this start and the one before, and of the pod itself."""
    meta, status = pod["metadata"], pod.get("status") or {}
    labels = meta.get("labels") or {}
    if RUN not in labels:
        return

    def end(key: str, at: str, code: int | None, words: str, found: tuple[int, Row]) -> End:
        return End(
            key=f"{meta['uid']}/{key}",
            run=labels[RUN],
            job=job_of(pod),
            pod=meta["name"],
            node=(pod.get("spec") or {}).get("nodeName", ""),
            rank=_rank(words, labels),
            at=at,
            exit=code,
            words=words[-LONGEST_WORDS:],
            row=found[1],
            order=found[0],
        )

    for container in status.get("containerStatuses") or ():
        for where in ("lastState", "state"):
            over = (container.get(where) or {}).get("terminated")
            if not over or over.get("exitCode") in (0, STOPPED) or not over.get("finishedAt"):
                continue
            message, reason = over.get("message") or "", over.get("reason", "")
            found = table.of_reason(reason, message) or table.of_words(message)
            key = f"{container['name']}/{over['finishedAt']}"
            yield end(key, over["finishedAt"], over["exitCode"], last_line(message) or reason, found)
    told = [(status.get("reason", ""), status.get("message", ""), meta.get("deletionTimestamp"))]
    told += [
        (each.get("reason", ""), each.get("message", ""), each.get("lastTransitionTime"))
        for each in status.get("conditions") or ()
        if each["type"] == "DisruptionTarget" and each["status"] == "True"
    ]
    for reason, message, at in told:
        if known := table.of_reason(reason, message):
            yield end("pod", at or written(now), None, message, known)


def job_of(pod: Mapping[str, Any]) -> dict[str, Any]:
    """The object that made a pod, as an event names what it is about."""
    owner = next(iter(pod["metadata"].get("ownerReferences") or ()), None)
    if owner is None:
        return {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    return {key: owner[key] for key in ("apiVersion", "kind", "name", "uid")}


def last_line(message: str) -> str:
    """The line that says it: the last one that is not blank, without a traceback's frames."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[-1][-LONGEST_WORDS:] if lines else ""


def _rank(words: str, labels: Mapping[str, str]) -> str:
    """Which one of the gang it was: by its own words, else as the operator calls the pod."""
    if said := _RANK.search(words):
        return f"rank {said[1]}"
    return f"{labels.get(ROLE, 'pod').lower()} {labels.get(INDEX, '?')}"
