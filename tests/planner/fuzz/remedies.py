"""Remedies that name a value, carried out as a person would."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from planner.findings import Finding

_NUMBER = r"(?P<number>\d[\d,]*(?:\.\d+)?)(?![\d%x/])"
_SET = re.compile(
    r"(?:^|, |or )(?:set|raise|lower) (?P<key>it|the budget|the target|[a-z]\w*(?:\.\w+)*) to (?:at (?:most|least) )?"
    + _NUMBER
)
_WHOSE = re.compile(rf"(?<!and )the (?P<whose>pool|queue)'s (?P<key>\w+) to {_NUMBER}")
_BOTH = re.compile(rf"set nodes and the pool's count to {_NUMBER}")
_MORE = re.compile(r"^raise the count of a system pool by (?P<number>\d+)")
_TAKE = re.compile(r"^take (?:at most |one of )?(?P<number>\d+(?:,\d+)*)(?![\w%/.+]|,\d)(?! servers| times)")
_RANGE = re.compile(r"(?:take a|give a private) /(?P<prefix>\d+)")
_NAME = re.compile(r"^(?:did you mean |take one of |remove it; did you mean )(?P<name>[a-z1-9][^?,( ]*)(?:\?| \()")
_WRITTEN = re.compile(r"^take (?P<text>\d+[+.]\d+)(?:,|$)")
_DATE = re.compile(r'(?P<key>set a later moment, such as|add \w+:|set [\w.]+ to) "(?P<date>[^"]+)"')
_RUN = re.compile(r"^(?:set |it fits from (?P<nodes>\d+) nodes on, with )(?P<words>[a-z]\w*(?:\.\w+)? [\w, .]+)$")
_WORD = re.compile(r"(?P<key>[a-zA-Z.]+) (?P<value>\w+)")


def followed(finding: Finding, data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The data with each value that the remedy names, at the finding's path or at the key beside it."""
    place = _steps(finding.path.partition(":")[2])
    if finding.rule in ("run-fits-gpus", "run-may-not-fit") and (found := _RUN.match(finding.remedy)):
        yield _changed_run(data, place[: place.index("runs") + 2], found)
    for each in _SET.finditer(finding.remedy):
        key = each["key"]
        steps = place if key.startswith(("it", "the ")) else _beside(place, _steps(key), data)
        yield _with(data, steps, _number(each["number"]))
    for each in _WHOSE.finditer(finding.remedy):
        yield _grown(data, _theirs(place, each["whose"], each["key"], data), _number(each["number"]))
    if found := _BOTH.search(finding.remedy):
        nodes = _number(found["number"])
        wider = _grown(data, _theirs(place, "pool", "count", data), nodes)
        yield _with(wider, [*place[: place.index("runs") + 2], "nodes"], nodes)
    if found := _MORE.match(finding.remedy):
        index, pool = next((at, each) for at, each in enumerate(data["pools"]) if each["role"] == "system")
        yield _grown(data, ["pools", index, "count"], pool["count"] + int(found["number"]))
    if found := _TAKE.match(finding.remedy):
        yield _with(data, place, _number(found["number"]))
    if found := _RANGE.match(finding.remedy):
        yield _with(data, place, _free_range(int(found["prefix"])))
    if found := _WRITTEN.match(finding.remedy):
        yield _with(data, place, found["text"])
    if finding.remedy.startswith("set it to shard"):
        yield _with(data, place, "shard")
    if found := _NAME.match(finding.remedy):
        yield _with(data, place, found["name"])
    for each in _DATE.finditer(finding.remedy):
        verb, key, *_ = each["key"].rstrip(":").split()
        beside = place if place[-1] == key else [*place, key]
        yield _with(data, beside if verb == "add" else place if key == "a" else _steps(key), each["date"])


def _changed_run(data: Mapping[str, Any], run: list[int | str], found: re.Match[str]) -> dict[str, Any]:
    """The run with all that memory's remedy names; without degrees of data, which follow from the GPUs."""
    changed = _with(data, [*run, "parallelism"], {**(_at(data, run).get("parallelism") or {}), "data": None})
    if found["nodes"]:
        changed = _with(changed, [*run, "nodes"], int(found["nodes"]))
    for each in _WORD.finditer(found["words"].replace(" with ", " ")):
        key = "parallelism.data" if each["key"] == "data" else each["key"]
        value = int(each["value"]) if each["value"].isdigit() else each["value"]
        changed = _with(changed, [*run, *_steps(key)], value)
    return changed


def _grown(data: Mapping[str, Any], steps: list[int | str], value: int | float) -> dict[str, Any]:
    """With a pool's maxCount raised along with its count, as its own sentence asks for."""
    changed = _with(data, steps, value)
    thing = _at(changed, steps[:-1])
    if steps[-1] == "count" and (thing.get("maxCount") or value) < value:
        thing["maxCount"] = value
    return changed


def _at(data: Mapping[str, Any], steps: list[int | str]) -> Any:
    here: Any = data
    for step in steps:
        here = here[step]
    return here


def _theirs(place: list[int | str], whose: str, key: str, data: Mapping[str, Any]) -> list[int | str]:
    """The key of the pool or queue that the thing at `place` names; an experiment names a run that does."""
    end = max(index for index, step in enumerate(place) if isinstance(step, int)) + 1
    thing = _at(data, place[:end])
    if "run" in thing:
        thing = {**next(each for each in data["training"]["runs"] if each["name"] == thing["run"]), **thing}
    names = {"pool": data["pools"], "queue": (data.get("scheduling") or {}).get("queues") or []}[whose]
    where: dict[str, list[int | str]] = {"pool": ["pools"], "queue": ["scheduling", "queues"]}
    index = next(at for at, each in enumerate(names) if each["name"] == thing.get(whose, "default"))
    return [*where[whose], index, key]


def _steps(path: str) -> list[int | str]:
    return [int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", path)]


def _beside(place: list[int | str], key: list[int | str], data: Mapping[str, Any]) -> list[int | str]:
    """Where a key stands that a remedy names: in what the finding is about, or in the nearest section around it."""
    above: list[Any] = [data]
    for step in place:
        here = above[-1]
        listed = isinstance(here, list) and isinstance(step, int)
        above.append(here.get(step) if isinstance(here, Mapping) else here[int(step)] if listed else None)
    for depth in range(len(place), -1, -1):
        if isinstance(above[depth], Mapping) and key[0] in above[depth]:
            return [*place[:depth], *key]
    return [*place[:-1], *key]


def _number(text: str) -> int | float:
    number = float(text.replace(",", ""))
    return round(number) if number == round(number) else number


def _with(data: Mapping[str, Any], steps: list[int | str], value: Any) -> dict[str, Any]:
    changed = deepcopy(dict(data))
    here: Any = changed
    for step in steps[:-1]:
        here = here[int(step)] if isinstance(here, list) else here.setdefault(step, {})
    here[steps[-1]] = value
    return changed


def _free_range(prefix: int) -> str:
    """A private range of that size that no stack here uses."""
    return f"10.128.0.0/{prefix}" if prefix > 8 else "10.0.0.0/8"
