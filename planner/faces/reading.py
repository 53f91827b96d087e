"""What a rule looks at: a draft that remembers which of its plain values were read."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from datetime import date
from enum import Enum
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

_OF_THE_FILE = "settings."
_LEFT_OUT = ("catalogue", "today", "siteProblems")


def read_by(look: Callable[[Any], Iterable[Any]], draft: Any) -> dict[str, str]:
    """The plain values that a rule's function reads of a draft, by path in the order of the first reading.

    Names and rows of the catalogue are left out. Paths of the settings are those of the stack file. Nothing is told of
    a function that does with its draft what only a draft can have done to it, such as copying it.
    """
    seen: dict[str, str] = {}
    try:
        for _ in look(_watched(draft, "", seen)):
            pass
    except Exception:  # the verdict comes from the real draft; this is only what can be told about the way to it
        return {}
    return {
        path.removeprefix(_OF_THE_FILE): value
        for path, value in seen.items()
        if not path.startswith(_LEFT_OUT) and not path.endswith(".name")
    }


def _watched(value: Any, path: str, seen: dict[str, str]) -> Any:
    if value is None or isinstance(value, str | int | float | date | Enum | frozenset):
        seen.setdefault(path, _shown(value))
        return value
    if isinstance(value, Mapping):
        return _Entries(value, path, seen)
    if isinstance(value, tuple | list):
        return _Items(value, path, seen)
    if is_dataclass(value) or isinstance(value, BaseModel):
        return _Part(value, path, seen)
    return value


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(str, value)))
    return str(value).lower() if isinstance(value, bool) else f"{value:.6g}" if isinstance(value, float) else str(value)


class _Part:
    """Stands for a dataclass or a section of the settings."""

    __slots__ = ("_path", "_raw", "_seen")

    def __init__(self, raw: Any, path: str, seen: dict[str, str]) -> None:
        self._raw, self._path, self._seen = raw, path, seen

    @property
    def __class__(self) -> Any:
        return type(self._raw)

    @__class__.setter
    def __class__(self, _: Any) -> None:
        raise TypeError("a part of a draft keeps its type")

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._raw, name)
        if callable(value) or name.startswith("__"):
            return value
        step = to_camel(name)
        return _watched(value, f"{self._path}.{step}" if self._path else step, self._seen)

    def __eq__(self, other: object) -> bool:
        return bool(self._raw == getattr(other, "_raw", other))

    def __hash__(self) -> int:
        return hash(self._raw)

    def __bool__(self) -> bool:
        return bool(self._raw)

    def __str__(self) -> str:
        return str(self._raw)

    def __format__(self, spec: str) -> str:
        return format(self._raw, spec)


class _Items(_Part):
    """Stands for a list."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self._raw)))

    def __len__(self) -> int:
        return len(self._raw)

    def __contains__(self, item: object) -> bool:
        return getattr(item, "_raw", item) in self._raw

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[each] for each in range(*index.indices(len(self._raw))))
        return _watched(self._raw[index], f"{self._path}[{index % len(self._raw)}]", self._seen)


class _Entries(_Part):
    """Stands for a mapping."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __contains__(self, key: object) -> bool:
        return key in self._raw

    def __getitem__(self, key: Any) -> Any:
        return _watched(self._raw[key], f"{self._path}[{key}]", self._seen)

    def get(self, key: Any, default: Any = None) -> Any:
        """As of a mapping."""
        return self[key] if key in self._raw else default

    def keys(self) -> Any:
        """As of a mapping."""
        return self._raw.keys()

    def values(self) -> Iterator[Any]:
        """As of a mapping, one by one."""
        return (self[key] for key in self._raw)

    def items(self) -> Iterator[tuple[Any, Any]]:
        """As of a mapping, one by one."""
        return ((key, self[key]) for key in self._raw)
