"""A stack's deployment, as `pulumi stack export` gives it: what was interrupted in it, and how to put that right.

The engine's own `refresh --import-pending-creates` is not used: the engine (read and run at v3.259.0) marks such an
operation as importing, answers success, and drops it together with the object. Here the half-created object becomes an
entry of the state, as if the create had ended, and `refresh` then reads the rest from the cloud.
"""

import copy
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.engine.events import Urn

SIGNATURE = "4dabf18193072939515e22adb298388d"
INTERRUPTED = "interrupted while it was being created; the next update completes it"

Document = dict[str, Any]
"""`{"version": 3, "deployment": {"resources": [...], "pending_operations": [...]}}`."""


@dataclass(frozen=True)
class Pending:
    """An operation under way when the engine died; `kind` is creating, updating, deleting, reading or importing."""

    urn: Urn
    kind: str
    inputs: Mapping[str, Any]
    provider: str
    """Reference to the provider resource: `<urn>::<id>`; empty for components and providers."""


def pending(document: Document) -> list[Pending]:
    """Every interrupted operation; secrets in the inputs are plain only in a document exported with them."""
    operations = document.get("deployment", {}).get("pending_operations") or []
    return [
        Pending(
            Urn(each["resource"]["urn"]),
            each["type"],
            plain(each["resource"].get("inputs") or {}),
            each["resource"].get("provider", ""),
        )
        for each in operations
    ]


def resources(document: Document) -> list[dict[str, Any]]:
    entries = document.get("deployment", {}).get("resources") or []
    return list(entries)


def provider_inputs(document: Document, reference: str) -> dict[str, Any]:
    """What the provider of a resource was configured with; JSON strings among the values are decoded."""
    urn = reference.rpartition("::")[0]
    entry = next((each for each in resources(document) if each["urn"] == urn), {})
    return {key: _decoded(value) for key, value in plain(entry.get("inputs") or {}).items()}


def ids(document: Document, token: str) -> set[str]:
    """The ids of all resources of one type that the state has."""
    return {each["id"] for each in resources(document) if each["type"] == token and each.get("id")}


def settle(
    document: Document, found: Mapping[str, tuple[str, Mapping[str, Any]]], cleared: Collection[str]
) -> Document:
    """A copy in which the pending creates of `found` are resources and those of `cleared` are gone.

    `found` gives the id by URN, and outputs that a refresh would not bring; it brings all others.

    Where a resource of the same URN was about to be replaced, the older one becomes what the engine deletes next.
    """
    settled = copy.deepcopy(document)
    deployment = settled["deployment"]
    kept = []
    for operation in deployment.get("pending_operations") or []:
        entry = operation["resource"]
        urn = entry["urn"]
        creating = operation["type"] == "creating"
        if creating and urn in found:
            _step_aside(deployment, urn)
            id, outputs = found[urn]
            whole = copy.deepcopy(entry.get("inputs") or {}) | dict(outputs)
            deployment["resources"].append(entry | {"id": id, "outputs": whole})
        elif not (creating and urn in cleared):
            kept.append(operation)
    deployment["pending_operations"] = kept
    return settled


def mark_interrupted(document: Document, urns: Collection[str]) -> Document:
    """A copy in which the named resources count as incompletely created, so that the next `up` updates them."""
    marked = copy.deepcopy(document)
    for entry in resources(marked):
        if entry["urn"] in urns and not entry.get("delete"):
            entry["initErrors"] = [*entry.get("initErrors", ()), INTERRUPTED]
    return marked


def plain(value: Any) -> Any:
    """The value with revealed secrets unwrapped; a sealed one becomes None."""
    if isinstance(value, Mapping):
        if SIGNATURE in value:
            return json.loads(value["plaintext"]) if "plaintext" in value else None
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def _step_aside(deployment: dict[str, Any], urn: str) -> None:
    """Make way for the replacement of a resource: a deleted one goes, a living one is marked for deletion."""
    entries = deployment["resources"]
    deployment["resources"] = [each for each in entries if not (each["urn"] == urn and each.get("pendingReplacement"))]
    for entry in deployment["resources"]:
        if entry["urn"] == urn:
            entry["delete"] = True


def _decoded(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in {"{", "[", '"'}:
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            return value
    return value
