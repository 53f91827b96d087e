"""A rehearsal's private copy of a stack file: other secrets, everything else byte for byte.

The real file's secrets are sealed by the user's secrets provider, which a rehearsal must not need. The copy is made by
editing text at the places where YAML says a value stands, and only our own scratch file is ever written by the CLI:
`pulumi config set` reformats what it writes (an unquoted date, for one, becomes a timestamp).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rehearsal.places import bare

MOST_VALUES = 100_000
"""Values of a stack file with each alias written out: nine lines of ten aliases each have a thousand million."""
PROVIDER_KEYS = ("secretsprovider", "encryptedkey", "encryptionsalt")


class StackFileError(Exception):
    """The stack file or Pulumi.yaml cannot be read as such; the text says where and what to do."""


@dataclass(frozen=True)
class Secret:
    """One secret of a stack file: where it stands, and its characters there (None if declared but absent)."""

    key: str
    span: tuple[int, int] | None


def program_root(start: Path) -> Path:
    """The directory of the program that `start` lies in: the nearest one upward with a Pulumi.yaml, as the CLI looks.

    Raises StackFileError if there is none.
    """
    here = start.resolve()
    for directory in (here, *here.parents):
        if (directory / "Pulumi.yaml").is_file():
            return directory
    raise StackFileError(
        f"no Pulumi.yaml in {here} or above it: run this in the directory of a Pulumi program, or name it with --root."
    )


def stack_file(root: Path, stack: str) -> Path:
    """The committed file of a stack. Raises StackFileError naming the stacks that exist, or the line that is broken."""
    path = root / f"Pulumi.{stack}.yaml"
    if path.is_file():
        try:
            yaml.compose(path.read_bytes(), Loader=yaml.CSafeLoader)
        except yaml.YAMLError as error:
            raise StackFileError(f"{path.name} is not valid YAML: {error}") from error
        return path
    known = sorted(
        each.name.removeprefix("Pulumi.").removesuffix(".yaml")
        for each in root.glob("Pulumi.*.yaml")
        if each.name.count(".") == 2
    )
    there = f"stacks here: {', '.join(known)}" if known else "there is no stack file here at all"
    raise StackFileError(f"{root / bare(path.name)} does not exist; {there}. Choose one of them.")


def project_name(root: Path) -> str:
    """The `name` of Pulumi.yaml."""
    name = _project(root).get("name")
    if not isinstance(name, str):
        raise StackFileError(f"{root / 'Pulumi.yaml'} has no `name`: name the project, as in `name: my-cluster`.")
    return name


def runtime_options(root: Path) -> dict[str, Any]:
    """The `options` of the runtime in Pulumi.yaml. Raises StackFileError if the program is not in Python."""
    runtime = _project(root).get("runtime")
    name = runtime.get("name") if isinstance(runtime, dict) else runtime
    if name != "python":
        raise StackFileError(f"{root / 'Pulumi.yaml'} has `runtime: {name}`; a rehearsal runs programs in Python only.")
    options = runtime.get("options") if isinstance(runtime, dict) else None
    return options if isinstance(options, dict) else {}


def declared_secrets(root: Path) -> list[str]:
    """Full keys (`project:key`) that the `config:` block of Pulumi.yaml declares with `secret: true`."""
    declared = _project(root).get("config") or {}
    project = project_name(root)
    return [
        key if ":" in key else f"{project}:{key}"
        for key, schema in declared.items()
        if isinstance(schema, dict) and schema.get("secret") is True
    ]


def find_secrets(text: str, declared: list[str]) -> list[Secret]:
    """Every secret the copy needs a value for: each `secure:` in the text and each declared key it lacks."""
    root = _mapping(text)
    found = [Secret(".".join(path), _trimmed(text, span)) for path, span in _secure(_value(root, "config"), ())]
    config = _value(root, "config")
    present = {key.value for key, _ in config.value} if isinstance(config, yaml.MappingNode) else set()
    return found + [Secret(key, None) for key in declared if key not in present]


def aws_profile(text: str) -> str | None:
    """The profile that the stack file gives the default AWS provider (`aws:profile`)."""
    profile = _value(_value(_mapping(text), "config"), "aws:profile")
    return str(profile.value) if isinstance(profile, yaml.ScalarNode) else None


def private_copy(text: str, sealed: Mapping[str, str], declared: list[str], salt: str) -> str:
    """The stack file's text with `sealed[key]` (ciphertext) for every secret, under our passphrase's salt."""
    found = find_secrets(text, declared)
    edits = [(*each.span, sealed[each.key]) for each in found if each.span is not None]
    root = _mapping(text)
    edits += [(*span, "") for span in _provider_lines(text, root)]
    missing = [each.key for each in found if each.span is None]
    if missing:
        edits.append(_insertion(text, root, {key: sealed[key] for key in missing}))
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    newline = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{newline}encryptionsalt: {salt}\n"


def _project(root: Path) -> dict[str, Any]:
    path = root / "Pulumi.yaml"
    try:
        content = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        raise StackFileError(f"{path} does not exist; run this from the program's directory.") from None
    except yaml.YAMLError as error:
        raise StackFileError(f"{path} is not valid YAML: {error}") from error
    if not isinstance(content, dict):
        raise StackFileError(f"{path} holds no mapping; it must name the project and its runtime.")
    return content


def _mapping(text: str) -> yaml.MappingNode | None:
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise StackFileError(f"the stack file is not valid YAML: {error}") from error
    if node is None:
        return None
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        raise StackFileError("the stack file must be a block of `key: value` lines, beginning with `config:`.")
    if _values(node, {}) > MOST_VALUES:
        raise StackFileError(
            f"the stack file holds more than {MOST_VALUES} values with its aliases (*) written out: write out what is "
            "meant, without aliases of aliases."
        )
    return node


def _values(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values a node holds, itself among them; one that holds itself holds more than any file may."""
    if not isinstance(node, yaml.MappingNode | yaml.SequenceNode):
        return 1
    if id(node) not in known:
        known[id(node)] = MOST_VALUES + 1
        below = [each for pair in node.value for each in pair] if isinstance(node, yaml.MappingNode) else node.value
        known[id(node)] = 1 + sum(_values(each, known) for each in below)
    return known[id(node)]


def _value(node: yaml.Node | None, name: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for key, value in pairs if key.value == name), None)


def _secure(node: yaml.Node | None, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[int, int]]]:
    """Paths and character spans of the ciphertexts below a node: `{secure: <scalar>}` at any depth."""
    if isinstance(node, yaml.MappingNode):
        if len(node.value) == 1 and node.value[0][0].value == "secure":
            secret = node.value[0][1]
            yield path, (secret.start_mark.index, secret.end_mark.index)
            return
        for key, value in node.value:
            yield from _secure(value, (*path, str(key.value)))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _secure(value, (*path, str(index)))


def _trimmed(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """A span without the white space at its end: YAML counts the lines after a folded value as part of it."""
    start, end = span
    return start, start + len(text[start:end].rstrip())


def _provider_lines(text: str, root: yaml.MappingNode | None) -> Iterator[tuple[int, int]]:
    for key, value in root.value if root else ():
        if key.value in PROVIDER_KEYS:
            end = text.find("\n", value.end_mark.index)
            yield key.start_mark.index, len(text) if end < 0 else end + 1


def _insertion(text: str, root: yaml.MappingNode | None, sealed: Mapping[str, str]) -> tuple[int, int, str]:
    """Where and how the declared secrets come in: before the first key under `config:`."""
    config = _value(root, "config")
    if config is None:
        newline = "" if not text or text.endswith("\n") else "\n"
        return len(text), len(text), newline + "config:\n" + _lines(sealed, "  ")
    if isinstance(config, yaml.MappingNode) and config.flow_style:
        start = config.start_mark.index + 1
        separator = ", " if config.value else ""
        pairs = ", ".join(f'"{key}": {{secure: "{value}"}}' for key, value in sealed.items())
        return start, start, pairs + separator
    if isinstance(config, yaml.MappingNode):
        first = config.value[0][0].start_mark
        start = first.index - first.column
        return start, start, _lines(sealed, " " * first.column)
    if isinstance(config, yaml.ScalarNode) and config.value == "":
        return config.start_mark.index, config.end_mark.index, "\n" + _lines(sealed, "  ").rstrip("\n")
    raise StackFileError("`config:` of the stack file must hold `key: value` lines.")


def _lines(sealed: Mapping[str, str], indent: str) -> str:
    return "".join(f"{indent}{key}:\n{indent}  secure: {value}\n" for key, value in sealed.items())
