"""What changed between two property maps, as the engine wants to be told."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from rehearsal.plugins.protocol import provider_pb2
from rehearsal.plugins.wire import Path, path_text

Kind = Any
ADD, DELETE, UPDATE = provider_pb2.PropertyDiff.ADD, provider_pb2.PropertyDiff.DELETE, provider_pb2.PropertyDiff.UPDATE
_REPLACING = {
    ADD: provider_pb2.PropertyDiff.ADD_REPLACE,
    DELETE: provider_pb2.PropertyDiff.DELETE_REPLACE,
    UPDATE: provider_pb2.PropertyDiff.UPDATE_REPLACE,
}


def differences(old: Any, new: Any, path: Path = ()) -> dict[Path, Kind]:
    """The paths at which the two differ, each with ADD, DELETE or UPDATE; an empty map if they are equal."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        found: dict[Path, Kind] = {}
        for key in sorted(old.keys() | new.keys()):
            found |= _member(old, new, key, (*path, key))
        return found
    if isinstance(old, list) and isinstance(new, list):
        found = {}
        for index in range(max(len(old), len(new))):
            found |= _member(dict(enumerate(old)), dict(enumerate(new)), index, (*path, index))
        return found
    return {} if old == new and isinstance(old, bool) == isinstance(new, bool) else {path: UPDATE}


def _member(old: Mapping[Any, Any], new: Mapping[Any, Any], key: Any, path: Path) -> dict[Path, Kind]:
    if key not in old:
        return {path: ADD}
    if key not in new:
        return {path: DELETE}
    return differences(old[key], new[key], path)


def unignored(changes: Mapping[Path, Kind], ignored: Iterable[str]) -> dict[Path, Kind]:
    """The changes without those at or below a path that the program ignores."""
    texts = list(ignored)
    return {path: kind for path, kind in changes.items() if not any(_covers(text, path_text(path)) for text in texts)}


def _covers(ignored: str, path: str) -> bool:
    return path == ignored or path.startswith((f"{ignored}.", f"{ignored}["))


def response(
    changes: Mapping[Path, Kind], replaces: Collection[Path], delete_before_replace: bool, extra: Collection[str] = ()
) -> Any:
    """The answer to Diff. `extra` are reasons to replace that are no changed input."""
    detailed = {
        path_text(path): provider_pb2.PropertyDiff(kind=_REPLACING[kind] if path in replaces else kind, inputDiff=True)
        for path, kind in changes.items()
    }
    some = bool(detailed or extra)
    return provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME if some else provider_pb2.DiffResponse.DIFF_NONE,
        replaces=[path_text(path) for path in changes if path in replaces] + list(extra),
        deleteBeforeReplace=delete_before_replace,
        diffs=sorted({str(path[0]) for path in changes}),
        detailedDiff=detailed,
        hasDetailedDiff=True,
    )
