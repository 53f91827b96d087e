"""The page that lists every key of a stack file, from the schema that editors read."""

from collections.abc import Iterator, Mapping
from typing import Any

from settings.errors import NAMESPACE
from settings.schema import stack_file_schema

_HEAD = """# The stack file

Written by `make reference` from the settings themselves. A stack is one file, `Pulumi.STACK.yaml`; what it says stands
below `config:`, each section under `gpucluster:SECTION`. `make new STACK=mine` writes one to begin with, `make plan
STACK=mine` says what it comes to, and an editor that knows JSON Schema completes it (`settings/schema.json`). Units
stand in names: `Gib` is 2^30 bytes, `Gb` 10^9 bytes, `Usd` US dollars. A key without a default and not required may be
left out. Secrets are keys of their own: `pulumi config set --secret gpucluster:apiToken`.

A name of the catalogue ([instances](instances.md), [models](models.md)) may also be one that the file itself adds below
`gpucluster:catalogue`, with the fields of a shipped row, or `like: ROW` and what differs:

```yaml
  gpucluster:catalogue:
    models: [{name: our-13b, like: llama-3-8b, parameters: 13000000000}]
    images: [{name: ghcr.io/team/trainer, source: built by the team}]
```

"""
_KINDS = {"aws": "On AWS", "metal": "On premises"}
_LONGEST = 60


def page() -> str:
    """The page: the sections of each platform first, then what stands in them, in the order in which it is met."""
    definitions = stack_file_schema()["$defs"]
    parts = [_HEAD]
    met: list[str] = []
    for kind, title in _KINDS.items():
        parts.append(f"## {title}\n\n" + _table(definitions[kind], met))
    for name in met:  # grows while it is read
        parts.append(f"### {name}\n\n{_about(definitions[name])}" + _table(definitions[name], met))
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _about(definition: Mapping[str, Any]) -> str:
    text = " ".join(str(definition.get("description", "")).split())
    return f"{text}\n\n" if text else ""


def _table(definition: Mapping[str, Any], met: list[str]) -> str:
    rows = ["| key | value | default | what it is |", "|---|---|---|---|"]
    required = definition.get("required", ())
    for key, described in definition.get("properties", {}).items():
        if described.get("description", "").startswith("set it with:"):
            continue
        below = list(dict.fromkeys(_sections(described)))
        below = [each for each in below if not each.endswith("Row")]
        met.extend(each for each in below if each not in met)
        default = "required" if key in required else _default(described)
        told = described.get("description", "")
        example = f". Example: `{_plain(described['examples'][0])}`" if "examples" in described else ""
        name = key.removeprefix(f"{NAMESPACE}:")
        rows.append(f"| `{name}` | {_escaped(_value(described))} | {default} | {_escaped(told)}{example} |")
    return "\n".join(rows) + "\n"


def _sections(described: Any) -> Iterator[str]:
    """The definitions that a property leads to."""
    if isinstance(described, Mapping):
        if "$ref" in described:
            yield str(described["$ref"]).rpartition("/")[2]
        for value in described.values():
            yield from _sections(value)
    elif isinstance(described, list):
        for each in described:
            yield from _sections(each)


def _value(described: Mapping[str, Any]) -> str:
    """What may be typed, in words."""
    if "$ref" in described:
        name = str(described["$ref"]).rpartition("/")[2]
        return "row, its fields those of a shipped one" if name.endswith("Row") else f"[{name}](#{name.lower()})"
    if "const" in described:
        return f"`{_plain(described['const'])}`"
    if "enum" in described:
        words = ", ".join(f"`{_plain(each)}`" for each in described["enum"])
        return words if len(described["enum"]) <= 12 else f"one of {len(described['enum'])} names"
    if "anyOf" in described:
        ways = [_value(each) for each in described["anyOf"] if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(ways))
    if described.get("type") == "array":
        items = described.get("items", {})
        return f"list of {_value(items)}" if items else "list"
    kind = {"integer": "whole number", "number": "number", "boolean": "true or false", "object": "section"}
    return kind.get(described.get("type", ""), "text") + _limits(described)


def _limits(described: Mapping[str, Any]) -> str:
    low, above = described.get("minimum"), described.get("exclusiveMinimum")
    high = described.get("maximum")
    parts = [f"from {low:,}"] if low is not None else [f"above {above:,}"] if above is not None else []
    return ", " + " ".join([*parts, *([f"to {high:,}"] if high is not None else [])]) if parts or high else ""


def _default(described: Mapping[str, Any]) -> str:
    value = described.get("default")
    if value is None or value in ([], {}):
        return ""
    return f"`{_plain(value)}`"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return str(value)[:_LONGEST]


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
