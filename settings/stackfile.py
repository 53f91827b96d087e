"""Parsing a stack file as the Pulumi CLI does: YAML 1.2 booleans, and no key twice."""

import re
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

import yaml

from catalogue.echo import bare, echo
from settings.errors import SettingsError

MOST_BYTES, MOST_VALUES, MOST_ALIASES, MOST_MERGED = 1_000_000, 100_000, 200, 1_000
"""The largest stack file: its text, the values in it with each alias written out, its aliases, a mapping's merges.

A stack of 2,048 nodes has some hundred values. Nine lines of ten aliases each have a thousand million.
"""


class _Loader(yaml.SafeLoader):
    """SafeLoader in which only true and false are booleans (`yes` and `on` are words)."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._aliases = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            self._aliases += 1
            if self._aliases > MOST_ALIASES:
                problem = f"there are more than {MOST_ALIASES} aliases (*)"
                raise yaml.constructor.ConstructorError(None, None, problem, self.peek_event().start_mark)  # type: ignore[no-untyped-call]
        return super().compose_node(parent, index)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merges (<<) of merges double what they merge."""
        super().flatten_mapping(node)
        if len(node.value) > MOST_MERGED:
            problem = f"merges (<<) more than {MOST_MERGED} keys"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                problem = "a list or a section stands where a key is expected"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            if key.value in seen:
                problem = f"{key.value} is here twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_undefined(self, node: yaml.Node) -> NoReturn:
        problem = f"has the tag {bare(node.tag)}, and tags (!) are not read"
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


_Loader.add_constructor(None, _Loader.construct_undefined)
_BOOLEANS = re.compile("^(?:true|True|TRUE|false|False|FALSE)$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", _BOOLEANS, list("tTfF"))


def parse(path: Path) -> dict[str, Any]:
    """The content of a stack file. Raises SettingsError if it is not YAML, OSError if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SettingsError([f"{path.name}: is not UTF-8 text; save it as UTF-8"]) from None
    content = read(text, path.name)
    if not isinstance(content, dict):
        what = "is empty" if content is None else "has no sections"
        raise SettingsError([f"{path.name}: {what}; start it with config:"])
    return content


def read(text: str, name: str) -> Any:
    """What a YAML text says; errors call it `name`. Raises SettingsError if it is not YAML."""
    return deepcopy(_read(text, name))


@lru_cache(maxsize=256)
def _read(text: str, name: str) -> Any:
    if len(text) > MOST_BYTES:
        raise SettingsError([f"{name}: has {len(text)} characters; a stack file may have {MOST_BYTES}; split it"])
    try:
        content = yaml.load(text, _Loader)  # noqa: S506
        values = _values(content, {})
    except yaml.reader.ReaderError as error:
        place = f"{name}, line {text.count(chr(10), 0, error.position) + 1}"
        unseen = echo(chr(error.character))
        raise SettingsError([f"{place}: has the character {unseen}, which YAML does not allow; remove it"]) from None
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        problem = getattr(error, "problem", None) or "cannot be parsed"
        raise SettingsError([f"{name}{line}: {problem}; correct the YAML"]) from None
    except RecursionError:
        raise SettingsError([f"{name}: is nested too deeply to be read; flatten it"]) from None
    if values is None:
        raise SettingsError([f"{name}: a value contains itself through an alias (*); write it out"])
    if values > MOST_VALUES:
        said = f"holds more than {MOST_VALUES} values, its aliases (*) written out"
        raise SettingsError([f"{name}: {said}; write out what is meant, without aliases of aliases"])
    return content


def _values(value: Any, known: dict[int, int | None]) -> int | None:
    """How many values a value holds, itself among them, as if each alias were written out; None if it holds itself.

    `known` is what is known by the identity of containers: each is looked at once, however often it is named.
    """
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        known[id(value)] = None
        below = [_values(each, known) for each in (value.values() if isinstance(value, dict) else value)]
        known[id(value)] = None if None in below else 1 + sum(each for each in below if each)
    return known[id(value)]
