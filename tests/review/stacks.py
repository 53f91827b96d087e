"""Stacks before and after a change, and what an engine would log of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from planner.faces.revision import Told, told_here
from review.compared import Compared
from review.preview import Preview, read
from tests.planner.stacks import ROOT, TODAY

Change = Mapping[str, Any]


def stack_text(stack: str, changes: Change | None = None) -> str:
    """A committed stack file with values replaced: {"pools.1.count": 4}; None takes a key away."""
    content = yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))
    for path, value in (changes or {}).items():
        section, *steps = path.split(".")
        here: Any = content["config"]
        for step, following in zip([f"gpucluster:{section}", *steps], [*steps, None], strict=True):
            key: Any = int(step) if isinstance(here, list) else step
            if following is None:
                here[key] = value
            else:
                here = here[key]
    return yaml.safe_dump(content, sort_keys=False)


def told(folder: Path, stack: str, changes: Change | None = None) -> Told:
    """The plan of a committed stack with values replaced."""
    file = folder / f"Pulumi.{stack}.yaml"
    file.write_text(stack_text(stack, changes), encoding="utf-8")
    return told_here(file, TODAY)


def compared(folder: Path, stack: str, changes: Change | None = None, preview: Preview | None = None) -> Compared:
    """A committed stack, and what the changes make of it."""
    unseen = "" if preview else "No preview."
    before, after = told(folder, stack), told(folder, stack, changes)
    return Compared(stack=stack, before=before, after=after, preview=preview, unseen=unseen)


def urn(kind: str, name: str, stack: str = "prod") -> str:
    return f"urn:pulumi:{stack}::gpucluster::gpucluster:index:Above${kind}::{name}"


def stepped(op: str, kind: str, name: str, old: Any = None, new: Any = None, **further: Any) -> dict[str, Any]:
    """The event of one step of a preview, as apitype.StepEventMetadata has it."""
    state = {"type": kind, "custom": not kind.startswith("gpucluster:")}
    metadata = {
        "op": op,
        "urn": urn(kind, name),
        "type": kind,
        "old": {**state, "inputs": old, "protect": further.pop("protect", False)} if old is not None else None,
        "new": {**state, "inputs": new} if new is not None else None,
        **further,
    }
    return {"resourcePreEvent": {"metadata": metadata, "planning": True}, "sequence": 1, "timestamp": 1}


SUMMARY = {"summaryEvent": {"resourceChanges": {}, "isPreview": True}}


def preview(*events: Mapping[str, Any], ended: bool = True) -> Preview:
    """What is read of a log of these events."""
    return read(json.dumps(event) for event in (*events, *([SUMMARY] if ended else [])))
