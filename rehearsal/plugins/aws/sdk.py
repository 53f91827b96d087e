"""What the pulumi-aws SDK says about a type: its inputs and outputs, with their shapes.

The generated source is read, not imported: importing the services of one stack takes more than a second of CPU in each
of the provider's processes, reading the few classes concerned takes milliseconds. A test compares the two.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

VERSION = importlib.metadata.version("pulumi-aws")

SCALARS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


@dataclass(frozen=True)
class Type:
    """The shape of a property: a scalar, ``list`` or ``map`` of ``element``, or ``object`` with ``fields``."""

    kind: str
    element: Type | None = None
    fields: Mapping[str, Type] = field(default_factory=dict)


@dataclass(frozen=True)
class Schema:
    """A resource type's properties by their camelCase names."""

    inputs: Mapping[str, Type]
    outputs: Mapping[str, Type]


@functools.cache
def schema(token: str) -> Schema | None:
    """The schema of a resource type such as ``aws:ec2/vpc:Vpc``, or None if the SDK does not have it."""
    place = _places().get(token)
    if place is None:
        return None
    module, name = place
    service, _, file = token.split(":")[1].partition("/")
    folder = _root() / module.removeprefix("pulumi_aws.").replace(".", "/")
    text = (folder / f"{_snake(file or service)}.py").read_text()
    # the longer name stands where a nested type already has the shorter one
    inputs = _getters(_block(text, f"{name}InitArgs") or _block(text, f"{name}Args"), folder)
    outputs = _getters(_block(text, name), folder)
    return Schema(inputs, {key: value for key, value in outputs.items() if key not in ("id", "urn")})


@functools.cache
def _root() -> Path:
    spec = importlib.util.find_spec("pulumi_aws")
    if spec is None or spec.origin is None:
        raise RuntimeError("pulumi-aws is not installed beside the aws plugin; run `make up` again")
    return Path(spec.origin).parent


@functools.cache
def _places() -> dict[str, tuple[str, str]]:
    """Resource type -> (Python module, class), from the registration at the end of the package's ``__init__``."""
    text = (_root() / "__init__.py").read_text()
    start = text.index('resource_modules="""') + len('resource_modules="""')
    modules = json.loads(text[start : text.index('"""', start)])
    return {token: (module["fqn"], name) for module in modules for token, name in module["classes"].items()}


def _block(text: str, name: str) -> str:
    """The source of one class, up to the next statement at the left margin; empty if there is none of this name."""
    start = max(text.find(f"\nclass {name}{opening}") for opening in ":(")
    if start < 0:
        return ""
    end = _MARGIN.search(text, start + 1 + len("class"))
    return text[start : end.start()] if end else text[start:]


_MARGIN = re.compile(r"^\S", re.MULTILINE)
_GETTER = re.compile(
    r'@pulumi\.getter(?:\(name="(\w+)"\))?\n'
    r'(?:    @_utilities\.deprecated\("""(?:.|\n)*?"""\)\n)?'
    r"    def (\w+)\(self\) -> (.+):\n"
)


def _getters(block: str, folder: Path) -> dict[str, Type]:
    return {name or python: _type(annotation, folder) for name, python, annotation in _GETTER.findall(block)}


def _type(annotation: str, folder: Path) -> Type:
    text = annotation.replace("_builtins.", "").replace("'", "")
    text = re.sub(r"pulumi\.(?:Input|Output)\[", "Optional[", text)
    return _parse(text, folder)


def _parse(text: str, folder: Path) -> Type:
    head, _, inner = text.partition("[")
    inner = inner.removesuffix("]")
    if head == "Optional":
        return _parse(inner, folder)
    if head == "Sequence":
        return Type("list", element=_parse(inner, folder))
    if head == "Mapping":
        return Type("map", element=_parse(inner.split(",", 1)[1].strip(), folder))
    if head == "Union":  # an enum or the plain value: Union[str, Tenancy]
        return _parse(inner.split(",", 1)[0].strip(), folder)
    if head in SCALARS:
        return Type(SCALARS[head])
    if head in ("Any", "pulumi.Archive"):
        return Type("any")
    return _object(head.removeprefix("outputs."), folder)


@functools.cache
def _object(name: str, folder: Path) -> Type:
    """A nested type, from ``_inputs.py`` (its name ends in Args) or ``outputs.py`` beside the resource."""
    file = "_inputs.py" if name.endswith("Args") else "outputs.py"
    block = _block(_source(folder / file), name)
    return Type("object", fields=_getters(block, folder)) if block else Type("string")


@functools.cache
def _source(path: Path) -> str:
    return path.read_text()


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
