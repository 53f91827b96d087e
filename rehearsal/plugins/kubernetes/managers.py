"""Who owns which fields of an object: what pulumi-kubernetes hands over to itself before it applies.

It creates by a plain POST, as an updating manager `pulumi-kubernetes` that owns every field, defaults too. The first
update makes an applying manager of it (provider/pkg/await/await.go, fixCSAFieldManagers, by fluxcd/pkg's
ssa/patch.go, PatchReplaceFieldsManagers).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from rehearsal.plugins.kubernetes.objects import Object, dig

CREATOR = "pulumi-kubernetes"
TAKEN_OVER = (
    ("kubectl", "Apply"),
    ("kubectl", "Update"),
    ("before-first-apply", "Update"),
    ("pulumi-kubernetes", "Update"),
    ("pulumi-resource-kubernetes", "Update"),
)
"""Beginnings of managers, with their operation, whose fields are taken without a word: `kubectl-set`, `kubectl-patch`
and `kubectl-edit` among them."""
FORCED = frozenset({"pulumi-kubernetes", "pulumi-kubernetes.exe", "pulumi-resource-kubernetes"})
"""Updating managers beside which a *preview* forces its dry run (await.go, patchForce)."""


def handed_over(entries: Iterable[Mapping[str, Any]], manager: str) -> list[Object] | None:
    """The managed fields after the hand-over, None if nothing is to be handed over."""
    ours: Object | None = None
    others: list[Object] = []
    taken: list[Object] = []
    for entry in map(dict, entries):
        if entry.get("manager") == manager and entry.get("operation") == "Apply" and not entry.get("subresource"):
            ours = entry
        elif _is_taken_over(entry):
            taken.append(entry)
        else:
            others.append(entry)
    if not taken:
        return None
    if ours is None:
        ours = {**taken.pop(0), "manager": manager, "operation": "Apply"}
    for entry in taken:
        ours["fieldsV1"] = _union(ours.get("fieldsV1") or {}, entry.get("fieldsV1") or {})
    return [*others, ours]


def preview_forces(entries: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a dry run overrides conflicts: the creator's entry is still there, which a real update hands over."""
    found = list(entries)
    return not found or any(each.get("operation") == "Update" and each.get("manager") in FORCED for each in found)


def without_ignored(inputs: Object, ignored: Iterable[str], live: Mapping[str, Any], manager: str) -> Object:
    """The inputs with the paths that the program ignores made harmless (await.go, handleSSAIgnoreFields).

    A field that others manage and we do not is left out; any other keeps the cluster's value.
    """
    entries = dig(live, "metadata", "managedFields", default=[])
    result = dict(inputs)
    for path in (text.split(".") for text in ignored if "[" not in text):
        ours = any(_manages(each, path) for each in entries if each.get("manager") == manager)
        theirs = any(_manages(each, path) for each in entries if each.get("manager") != manager)
        found = dig(live, *path)
        if theirs and not ours:
            result = _replaced(result, path, None)
        elif found is not None:
            result = _replaced(result, path, found)
    return result


def _is_taken_over(entry: Mapping[str, Any]) -> bool:
    manager, operation = str(entry.get("manager", "")), entry.get("operation")
    return not entry.get("subresource") and any(
        manager.startswith(name) and operation == verb for name, verb in TAKEN_OVER
    )


def _union(one: Mapping[str, Any], other: Mapping[str, Any]) -> Object:
    keys = [*one, *(key for key in other if key not in one)]
    return {key: _union(one.get(key) or {}, other.get(key) or {}) for key in keys}


def _manages(entry: Mapping[str, Any], path: Iterable[str]) -> bool:
    """Whether the entry names the field or anything below it."""
    fields: Any = entry.get("fieldsV1") or {}
    for name in path:
        if f"f:{name}" not in fields:
            return False
        fields = fields[f"f:{name}"]
    return True


def _replaced(value: Any, path: list[str], new: Any) -> Any:
    """A copy with another value at the path; None takes the field out."""
    here = dict(value) if isinstance(value, Mapping) else {}
    if len(path) > 1:
        if path[0] in here or new is not None:
            here[path[0]] = _replaced(here.get(path[0]), path[1:], new)
    elif new is None:
        here.pop(path[0], None)
    else:
        here[path[0]] = new
    return here
