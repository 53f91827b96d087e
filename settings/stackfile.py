"""Parsing a stack file as the Pulumi CLI does: YAML 1.2 booleans, and no key twice."""

import re
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from settings.errors import SettingsError


class _Loader(yaml.SafeLoader):
    """SafeLoader in which only true and false are booleans (`yes` and `on` are words)."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                problem = f"{key.value} stands here a second time"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_BOOLEANS = re.compile("^(?:true|True|TRUE|false|False|FALSE)$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", _BOOLEANS, list("tTfF"))


def parse(path: Path) -> dict[str, Any]:
    """The content of a stack file. Raises SettingsError if it is not YAML, OSError if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SettingsError([f"{path.name}: is not UTF-8 text; write it as such"]) from None
    content = read(text, path.name)
    if not isinstance(content, dict):
        raise SettingsError([f"{path.name}: is empty; begin it with config:"])
    return content


def read(text: str, name: str) -> Any:
    """What a YAML text says; errors call it `name`. Raises SettingsError if it is not YAML."""
    return deepcopy(_read(text, name))


@lru_cache(maxsize=256)
def _read(text: str, name: str) -> Any:
    try:
        content = yaml.load(text, _Loader)  # noqa: S506
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        problem = getattr(error, "problem", None) or "cannot be parsed"
        raise SettingsError([f"{name}{line}: {problem}; correct the YAML there"]) from None
    except RecursionError:
        raise SettingsError([f"{name}: is nested too deeply to be read; flatten it"]) from None
    if _holds_itself(content, ()):
        raise SettingsError([f"{name}: something in it holds itself, through an alias (*); write it out"])
    return content


def _holds_itself(value: Any, above: tuple[int, ...]) -> bool:
    """Whether a value is found again inside of itself, as YAML's aliases allow."""
    if not isinstance(value, dict | list):
        return False
    below = value.values() if isinstance(value, dict) else value
    return id(value) in above or any(_holds_itself(each, (*above, id(value))) for each in below)
