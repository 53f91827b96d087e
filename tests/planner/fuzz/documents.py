"""Random stack files, made from the schema of stack files: a stack that plans, and changes of it."""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from catalogue.tables import SHIPPED
from settings.presets import preset, preset_names
from settings.schema import stack_file_schema
from tests.planner.site import SITE
from tests.planner.stacks import sections

Path = tuple[str | int, ...]
Schema = Mapping[str, Any]

_OWNER = {"owner": "ml-platform", "costCentre": "research"}
_DEEPEST = 6

HOSTILE: tuple[Any, ...] = (
    *(None, True, False, "", " ", "\x00", "a\x00b", "\x1b[31mred", "two\nlines", "é" * 300, "x" * 5000, "1e400"),
    *(0, -1, 1, 2**31, 2**63, 10**30, 0.0, -0.5, 1e-300, 1e300, float("nan"), float("inf"), float("-inf")),
    *([], {}, [[]], [None], {"": 1}, "no", "null", "~", "0x10", "default", "kube-system"),
)
"""What no key expects, or hardly any: other types, ends of ranges, text that is no word."""

_NETWORKS = (
    "10.0.0.0/8",
    "10.30.0.0/16",
    "10.40.0.0/22",
    "10.50.0.0/24",
    "10.60.0.0/30",
    "192.168.7.0/24",
    "10.1.1.1/32",
)
_DAYS = ("2026-11-20", "2026-11-21", "2027-01-01", "2031-12-31")
_TABLES = {"prices": "services", "storageServers": "storage_servers"}
"""Tables that a stack file has under another name."""


@dataclass(frozen=True)
class Change:
    """A value that takes another's place, or is added."""

    path: Path
    value: Any


@cache
def definitions() -> Mapping[str, Schema]:
    """The parts of the schema by name."""
    parts: Mapping[str, Schema] = stack_file_schema()["$defs"]
    return parts


@cache
def bases() -> tuple[dict[str, Any], ...]:
    """Stacks that plan: every preset, every committed stack file, a site."""
    presets = [{**preset(name), "lifecycle": _OWNER, "example": True} for name in preset_names()]
    for each in presets:
        if each["platform"]["kind"] == "aws":
            each["platform"] |= {"access": {"via": "inside"}}
    return (*presets, *(sections(name) for name in ("dev", "prod", "lab", "metal")), SITE)


def document(random: Random) -> tuple[dict[str, Any], list[Change]]:
    """A base, and one to six changes of it."""
    base = random.choice(bases())
    with_rows = random.random() < 0.4
    changes = [Change(("catalogue",), {})] if with_rows and "catalogue" not in base else []
    data = changed(base, changes)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        change = _row(random, data) if with_rows and random.random() < 0.7 else _setting(random, data)
        changes.append(change)
        data = changed(base, changes)
    return base, changes


def changed(base: Mapping[str, Any], changes: Iterable[Change]) -> dict[str, Any]:
    """The base with the changes made. A change below something that is no section any more is left out."""
    data = deepcopy(dict(base))
    for change in changes:
        *above, last = change.path
        here: Any = data
        try:
            for step in above:
                here = here[step]
            if isinstance(last, int) and last == len(here):
                here.append(deepcopy(change.value))
            else:
                here[last] = deepcopy(change.value)
        except (KeyError, IndexError, TypeError, AttributeError):
            continue
    return data


def _setting(random: Random, data: Mapping[str, Any]) -> Change:
    """Another value for a random place of the data, or a key that is not there yet."""
    slots = list(_slots(data, whole(data), ()))
    path, schema = random.choice(slots)
    if random.random() < 0.15:
        return Change(path, random.choice(HOSTILE))
    return Change(path, made(random, schema, str(path[-1]), data))


def whole(data: Mapping[str, Any]) -> Schema:
    """The schema of the sections of a stack on the platform that the data names."""
    platform = data.get("platform")
    kind = platform.get("kind") if isinstance(platform, Mapping) else None
    properties = definitions()["metal" if kind == "metal" else "aws"]["properties"]
    own = {key.partition(":")[2]: schema for key, schema in properties.items() if key.startswith("gpucluster:")}
    return {"type": "object", "properties": {key: schema for key, schema in own.items() if not key.endswith("Token")}}


def _slots(value: Any, schema: Schema, path: Path) -> Iterator[tuple[Path, Schema]]:
    """Every key of a section that could be there, and every entry of its lists and one more."""
    for option in options(schema):
        if isinstance(value, Mapping) and "properties" in option:
            for key, below in option["properties"].items():
                yield (*path, key), below
                yield from _slots(value.get(key), below, (*path, key))
            return
        if isinstance(value, list) and "items" in option:
            for index, each in enumerate(value):
                yield (*path, index), option["items"]
                yield from _slots(each, option["items"], (*path, index))
            yield (*path, len(value)), option["items"]
            return


def options(schema: Schema) -> list[Schema]:
    """The alternatives of a schema, with references resolved."""
    if "$ref" in schema:
        return options(definitions()[schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema or "oneOf" in schema:
        return [found for each in schema.get("anyOf", schema.get("oneOf", ())) for found in options(each)]
    return [schema]


def made(random: Random, schema: Schema, key: str, data: Mapping[str, Any], depth: int = 0) -> Any:
    """A value that the schema allows; text that it says nothing of is a name of the data or the catalogue."""
    option = random.choice(options(schema))
    if "const" in option:
        return option["const"]
    if "enum" in option:
        return random.choice(option["enum"])
    match option.get("type"):
        case "null":
            return None
        case "boolean":
            return random.random() < 0.5
        case "integer" | "number":
            return _number(random, option)
        case "string":
            return _text(random, option, key, data)
        case "array":
            fewest = option.get("minItems", 0)
            count = random.randint(fewest, min(option.get("maxItems", 4), fewest + 3))
            return [made(random, option["items"], key, data, depth + 1) for _ in range(count)]
        case "object":
            return _object(random, option, data, depth)
    return random.choice(HOSTILE)


def _object(random: Random, schema: Schema, data: Mapping[str, Any], depth: int) -> dict[str, Any]:
    required = schema.get("required", ())
    chance = 0.4 if depth < _DEEPEST else 0
    properties = schema.get("properties", {})
    keys = [key for key in properties if key in required or random.random() < chance]
    made_ = {key: made(random, properties[key], key, data, depth + 1) for key in keys}
    if isinstance(more := schema.get("additionalProperties"), Mapping):
        made_ |= {word: made(random, more, word, data, depth + 1) for word in ("one", "two")}
    return made_


def _number(random: Random, schema: Schema) -> float:
    low: float = schema.get("minimum", schema.get("exclusiveMinimum", -10))
    high: float = schema.get("maximum", schema.get("exclusiveMaximum", 10**12))
    edges = (low, high, 0, 1, 2, 3, 8, 17, 100, 4096)
    within = (*(edge for edge in edges if low <= edge <= high), low + (high - low) * random.random() ** 8)
    found = random.choice(within)
    return round(found) if schema.get("type") == "integer" else found


def _text(random: Random, schema: Schema, key: str, data: Mapping[str, Any]) -> str:
    if schema.get("format") == "date":
        return random.choice(_DAYS)
    if "cidr" in key.lower():
        return random.choice(_NETWORKS)
    words = sorted(set(_words(data)))
    return random.choice((random.choice(words), random.choice(words), f"w{random.randint(0, 99)}"))


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for below in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _words(below)


def _row(random: Random, data: Mapping[str, Any]) -> Change:
    """A row of the site's own, like a shipped one: in its place, or under a name that the stack then uses or not."""
    tables = definitions()["SiteRows"]["properties"]
    table = random.choice([*tables, *("servers", "instances", "gpus", "nics", "switches", "storageServers") * 2])
    shipped = getattr(SHIPPED, _TABLES.get(table, table))
    used = [name for name in shipped if name in set(_words(data))]
    like = random.choice(used or list(shipped))
    row = _object(random, options(tables[table]["items"])[0], data, 1)
    fewer = random.choice((1, 1, 2, 3))
    kept = random.sample(sorted(set(row) - {"name", "like"}), k=min(fewer, len(set(row) - {"name", "like"})))
    row = {each: row[each] for each in kept}
    if row and random.random() < 0.2:
        row[random.choice(sorted(row))] = random.choice(HOSTILE)
    name = random.choice((like, like, like, "w1", f" {like}"))
    rows = data["catalogue"].get(table, []) if isinstance(data.get("catalogue"), Mapping) else []
    rows = rows if isinstance(rows, list) else []
    return Change(("catalogue", table), [*rows, {"name": name, "like": like, **row}])


def ends() -> Iterator[tuple[str, dict[str, Any]]]:
    """Stacks that plan, with a row of each table in place of one that they use and each of its numbers at its ends."""
    for base in bases():
        used = set(_words(base))
        for table, schema in definitions()["SiteRows"]["properties"].items():
            for like in (name for name in getattr(SHIPPED, _TABLES.get(table, table)) if name in used):
                for key, value in _ends(options(schema["items"])[0]):
                    row = {"name": like, "like": like, key: value}
                    yield f"{table} {like} {key} {value}", {**base, "catalogue": {table: [row]}}


def _ends(row: Schema) -> Iterator[tuple[str, Any]]:
    for key, below in row["properties"].items():
        for option in options(below):
            if option.get("type") in ("integer", "number"):
                for end in ("minimum", "maximum"):
                    yield key, option.get(end, 1e-9)
            elif option.get("type") == "array":
                yield key, []
