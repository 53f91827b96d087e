"""A site's own rows: added to the shipped ones, or put in their place."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from catalogue.echo import echo
from catalogue.image_types import ContainerImage
from catalogue.metal_types import Server, StorageServer
from catalogue.model_types import Model
from catalogue.network_types import Nic, Switch
from catalogue.types import Gpu, Instance, Price, PurchasePrice, Rate
from catalogue.whole import Catalogue

Path = tuple[str | int, ...]
Problem = tuple[Path, str]

KINDS: dict[str, type] = {
    "gpus": Gpu,
    "nics": Nic,
    "instances": Instance,
    "servers": Server,
    "switches": Switch,
    "storage_servers": StorageServer,
    "models": Model,
    "services": Price,
    "rates": Rate,
    "parts": PurchasePrice,
    "images": ContainerImage,
}
"""The catalogue's tables and the types of their rows, those first that others name."""

NAMED: dict[Any, str] = {Gpu: "gpus", Nic: "nics"}
"""Rows that stand inside other rows, where a site writes their name, and their tables."""

KEYS: dict[Any, str] = {Instance: "type"}
"""The field that holds a row's name, where it is not `name`."""

_WRITTEN = {"services": "prices"}
"""Tables whose rows a stack file has under another name."""


@dataclass(frozen=True, kw_only=True)
class Sited:
    """A catalogue with a site's rows in it, and what is wrong with the rows that could not be taken."""

    catalogue: Catalogue
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class _Part:
    """A row of the site's that stands in a shipped one's place inside other rows, and its path."""

    path: Path
    row: Any


class _Wrong(Exception):  # noqa: N818 - never leaves this module
    """A row that cannot be taken: where in it, and why."""

    def __init__(self, path: Path, sentence: str) -> None:
        self.path, self.sentence = path, sentence


def with_site_rows(shipped: Catalogue, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> Sited:
    """Add rows, given as plain data with the row types' field names, by what a stack file calls their table.

    A row starts from the shipped row that `like` names, or must be complete. A row with a shipped one's name takes its
    place. A row that cannot be taken is left out and named in `problems`, with its path in the stack file's spelling.
    """
    catalogue = shipped
    problems: dict[Problem, None] = {}
    parts: dict[int, _Part] = {}
    for table, kind in KINDS.items():
        written = _WRITTEN.get(table, table)
        where, known = camel(written), _with_parts(getattr(shipped, table), parts, problems)
        given = dict(known)
        seen: set[str] = set()
        for index, row in enumerate(rows.get(written, ())):
            name = str(row["name"])
            if name in seen:
                problems[((where, index, "name"), f"{echo(name)} stands here twice; keep one of the rows")] = None
                continue
            seen.add(name)
            try:
                known[name] = _row(kind, row, given, catalogue)
            except _Wrong as wrong:
                problems[((where, index, *wrong.path), wrong.sentence)] = None
                continue
            if kind in NAMED and name in given:
                parts[id(given[name])] = _Part((where, index), known[name])
        catalogue = replace(catalogue, **{table: known})
    return Sited(catalogue=catalogue, problems=tuple(problems))


def _with_parts(rows: Mapping[str, Any], parts: Mapping[int, _Part], problems: dict[Problem, None]) -> dict[str, Any]:
    """The shipped rows of a table with the site's GPUs and cards inside them, in place of those of the same names."""
    found = dict(rows)
    for name, row in rows.items() if parts else ():
        used: list[Path] = []
        try:
            found[name] = _replaced(row, parts, used)
        except ValueError as error:
            sentence = f"does not go into {name}, which is shipped with that part: {error}; give the row another name"
            problems[(used[-1], sentence)] = None
    return found


def _replaced(value: Any, parts: Mapping[int, _Part], used: list[Path]) -> Any:
    """A value in which parts gave way to others, by the identity of the part; `used` gets the paths of the others."""
    if id(value) in parts:
        used.append(parts[id(value)].path)
        return parts[id(value)].row
    if isinstance(value, tuple):
        inside = tuple(_replaced(each, parts, used) for each in value)
        return inside if any(one is not other for one, other in zip(inside, value, strict=True)) else value
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {each.name: _replaced(getattr(value, each.name), parts, used) for each in fields(value) if each.init}
    changed = {name: part for name, part in changed.items() if part is not getattr(value, name)}
    return replace(value, **changed) if changed else value


def _row(kind: type, row: Mapping[str, Any], shipped: Mapping[str, Any], catalogue: Catalogue) -> Any:
    given = {name: value for name, value in row.items() if name not in ("name", "like") and value is not None}
    key = KEYS.get(kind, "name")
    if any(field.name == key for field in fields(kind)):
        given[key] = row["name"]
    like = row.get("like")
    if like is None:
        return _built(kind, given, (), catalogue)
    if like not in shipped:
        raise _Wrong(("like",), f"no shipped row is called {echo(like)}; {meant(like, shipped)}")
    hints = get_type_hints(kind)
    changed = {name: _value(hints[name], value, (camel(name),), catalogue) for name, value in given.items()}
    if kind is Gpu and "memory_gb" in changed:
        # What the driver reports was measured of the memory of the other.
        changed.setdefault("driver_mib", None)
    return _made(lambda: replace(shipped[like], **changed), ())


def _built(kind: type, given: Mapping[str, Any], path: Path, catalogue: Catalogue) -> Any:
    hints = get_type_hints(kind)
    needed = [each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]
    missing = [camel(name) for name in needed if name not in given and NoneType not in get_args(hints[name])]
    if missing:
        like = "" if path else ", or name a shipped row with like"
        raise _Wrong(path, f"lacks {', '.join(missing)}; add {'it' if len(missing) == 1 else 'them'}{like}")
    values: dict[str, Any] = {name: None for name in needed if name not in given}
    for name, value in given.items():
        values[name] = _value(hints[name], value, (*path, camel(name)), catalogue)
    return _made(lambda: kind(**values), path)


def _value(hint: Any, value: Any, path: Path, catalogue: Catalogue) -> Any:
    """A plain value as the row type holds it."""
    if hint in NAMED:
        table: Mapping[str, Any] = getattr(catalogue, NAMED[hint])
        if value not in table:
            raise _Wrong(path, f"the catalogue has no {hint.__name__} {echo(value)}; {meant(value, table)}")
        return table[value]
    if isinstance(hint, type) and is_dataclass(hint):
        return _built(hint, {name: each for name, each in value.items() if each is not None}, path, catalogue)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (tuple, frozenset):
        return origin(_value(inner[0], each, (*path, index), catalogue) for index, each in enumerate(value))
    if origin in (Union, UnionType) and value is not None:
        (one, *more) = (part for part in inner if part is not NoneType)
        return value if more else _value(one, value, path, catalogue)
    return value


def _made(make: Any, path: Path) -> Any:
    """What `make` returns. A row type refuses values that contradict each other with a ValueError."""
    try:
        return make()
    except ValueError as error:
        raise _Wrong(path, f"{error}; correct the row") from None


def meant(word: str, known: Iterable[str]) -> str:
    """What to say after a name that no row has: the near one, whatever its case, or all of them."""
    names = {name.casefold(): name for name in known}
    near = get_close_matches(word.casefold(), names, n=1)
    return f"did you mean {names[near[0]]}?" if near else f"known: {', '.join(names.values()) or 'none'}"


def camel(name: str) -> str:
    """A field's name as it stands in a stack file: usd_per_hour -> usdPerHour."""
    first, *more = name.split("_")
    return first + "".join(word.capitalize() for word in more)
