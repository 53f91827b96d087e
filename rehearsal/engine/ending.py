"""What a previewed change ends: jobs that are deleted or replaced, with what the program says is lost by it."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rehearsal.engine.events import Urn

JOBS = frozenset({"PyTorchJob", "MPIJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "TrainJob"})
"""Kinds whose pods compute something until it is done: Kubeflow's. A batch Job of a program sets something up."""

Loses = Callable[[Mapping[str, Any]], str | None]
"""From a job's object to what ends with it; None where the program does not know."""

_ENDS = {"replace": "is deleted and created again", "delete": "is deleted"}


def endings(events: Path, loses: Loses) -> list[str]:
    """One sentence for each job that a preview's event log deletes or replaces."""
    if not events.exists():
        return []
    return list(dict.fromkeys(_sentences(events, loses)))


def _sentences(events: Path, loses: Loses) -> Iterator[str]:
    for line in events.read_text().splitlines():
        metadata = json.loads(line).get("resourcePreEvent", {}).get("metadata", {})
        if metadata.get("op") not in _ENDS:
            continue
        old = metadata.get("old") or {}
        kind, job = str(old.get("type", "")).rpartition(":")[2], old.get("inputs") or {}
        if kind not in JOBS:
            continue
        named = job.get("metadata") or {}
        keys = ", ".join((metadata.get("keys") or ())[:3])
        why = f" ({keys} changes)" if keys and metadata["op"] == "replace" else ""
        lost = loses(job)
        where = f"{named['namespace']}/" if "namespace" in named else ""
        yield (
            f"{kind} {where}{named.get('name', Urn(metadata['urn']).name)} {_ENDS[metadata['op']]}{why}, "
            "so its pods stop" + (f": {lost}" if lost else "")
        )
