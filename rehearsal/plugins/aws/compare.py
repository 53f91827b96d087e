"""What is the same, what has changed, and what has drifted."""

import json
from collections.abc import Collection, Mapping
from typing import Any, Literal

from rehearsal.plugins.aws.shapes import canonical_json
from rehearsal.plugins.wire import Path, has_unknown

Kind = Literal["add", "delete", "update"]


def blank(value: Any) -> bool:
    """Whether the value says no more than its absence: Terraform's SDK does not tell zero values from unset ones."""
    if isinstance(value, Mapping):
        return all(blank(item) for item in value.values())
    return value is None or value is False or value in ("", 0) or value == []


def same(want: Any, have: Any) -> bool:
    """Whether what the cloud has is what the program wants.

    The cloud may hold more members than were asked for; order in lists is not meaningful; a policy is the same in any
    formatting; an object's ARN is as good as its id (KMS answers with the id of a key given by ARN).
    """
    if isinstance(want, Mapping) and isinstance(have, Mapping):
        return all(same(item, have.get(key)) for key, item in want.items())
    if isinstance(want, list) and isinstance(have, list):
        return len(want) == len(have) and not _unmatched(want, have)
    if blank(want) and blank(have):
        return True
    if isinstance(want, str) and isinstance(have, str):
        return want == have or _same_document(want, have) or same_object(want, have)
    return bool(want == have)


def same_object(one: Any, other: Any) -> bool:
    """Whether one string is the ARN of the object that the other is the id of."""
    if not (isinstance(one, str) and isinstance(other, str)):
        return False
    return (one.startswith("arn:") and one.endswith(f"/{other}")) or (
        other.startswith("arn:") and other.endswith(f"/{one}")
    )


def document(text: str) -> Any:
    """The JSON object or list in a string, or None if it holds none."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def formatted(value: Any) -> Any:
    """A JSON document in the provider's own formatting, so that spaces and order make no change."""
    if isinstance(value, str):
        parsed = document(value)
        return value if parsed is None else canonical_json(parsed)
    return value if has_unknown(value) else canonical_json(value)


def differences(old: Any, new: Any, sets: Collection[str] = (), path: Path = ()) -> dict[Path, Kind]:
    """Every changed place between two property values; lists at a dotted path in ``sets`` have no order."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        found: dict[Path, Kind] = {}
        for key in sorted(old.keys() | new.keys()):
            found |= differences(old.get(key), new.get(key), sets, (*path, key))
        return found
    if isinstance(old, list) and isinstance(new, list):
        if dotted(path) in sets and sorted(map(canonical_json, old)) == sorted(map(canonical_json, new)):
            return {}
        found = {}
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else None
            after = new[index] if index < len(new) else None
            found |= differences(before, after, sets, (*path, index))
        return found
    if old == new:
        return {}
    return {path: "add" if old is None else "delete" if new is None else "update"}


def dotted(path: Path) -> str:
    """A path without list indices, as rows name properties: ``networkInterfaces.securityGroups``."""
    return ".".join(part for part in path if isinstance(part, str))


def under(name: str, roots: Collection[str]) -> bool:
    """Whether a dotted path is one of these properties or lies inside one."""
    return any(name == root or name.startswith(f"{root}.") for root in roots)


def settled(old: Any, live: Any) -> Any:
    """The old input where the cloud agrees with it, the cloud's value where it has drifted; None if it is gone."""
    if same(old, live):
        return old
    if isinstance(old, Mapping) and isinstance(live, Mapping):
        kept = {key: settled(item, live.get(key)) for key, item in old.items()}
        return {key: item for key, item in kept.items() if item is not None}
    if isinstance(old, list) and isinstance(live, list):
        if len(old) == len(live) and not all(isinstance(item, str) for item in old):
            return [settled(before, now) for before, now in zip(old, live, strict=True)]
        return [next((before for before in old if same(before, now)), pruned(now)) for now in live]
    return pruned(live)


def pruned(value: Any) -> Any:
    """The value without blank members: the inputs that would make it."""
    if isinstance(value, Mapping):
        return {key: pruned(item) for key, item in value.items() if not blank(item)}
    if isinstance(value, list):
        return [pruned(item) for item in value]
    return value


def _unmatched(want: list[Any], have: list[Any]) -> bool:
    left = list(have)
    for item in want:
        match = next((index for index, other in enumerate(left) if same(item, other)), None)
        if match is None:
            return True
        left.pop(match)
    return False


def _same_document(want: str, have: str) -> bool:
    one, other = document(want), document(have)
    return one is not None and one == other
