"""The floor: a flat program that registers what a recorded run registered, with the same SDK classes and no components.

Inputs are the recorded values as literals, so the flat program also saves every wait for another resource's output;
recorded dependencies become `depends_on`. What is left is what the SDKs and the language cost anybody.
"""

import importlib
import inspect
import pprint
from pathlib import Path
from typing import Any

from pulumi.runtime import rpc

from policy.graph import Graph, Resource

CONSTANTS = frozenset({"apiVersion", "kind"})
"""Inputs that a typed Kubernetes class sets by itself."""


COLLECTOR = ("import atexit", "import gc", "", "gc.set_threshold(100_000, 50, 50)", "atexit.register(gc.freeze)", "")
"""The program's own setting: what it saves is not to be taken for less work than the floor does."""


def write(graph: Graph, directory: Path) -> Path:
    """Write the flat program's `__main__.py` below `directory` and return its path."""
    lines = [
        *COLLECTOR,
        "import pulumi",
        "import pulumi_aws",
        "import pulumi_kubernetes",
        "",
        "",
        "def main() -> None:",
    ]
    variables: dict[str, str] = {}
    for urn, resource in graph.resources.items():
        if resource.custom:
            variables[urn] = f"r{len(variables)}"
            lines.append(f"    {variables[urn]} = {_call(resource, variables)}")
    path = directory / "__main__.py"
    path.write_text("\n".join([*lines, "", "", 'if __name__ == "__main__":', "    main()", ""]))
    return path


def _call(resource: Resource, variables: dict[str, str]) -> str:
    options = []
    provider = variables.get(resource.provider.rpartition("::")[0])
    if provider:
        options.append(f"provider={provider}")
    above = [variables[urn] for urn in resource.depends_on if urn in variables]
    if above:
        options.append(f"depends_on=[{', '.join(above)}]")
    place, names = _sdk(resource)
    words = [repr(resource.name)]
    for key, value in resource.inputs.items():
        if key in names:
            words.append(f"{names[key]}={pprint.pformat(value, width=10_000, sort_dicts=False)}")
    words.append(f"opts=pulumi.ResourceOptions({', '.join(options)})")
    return f"{place}({', '.join(words)})"


def _sdk(resource: Resource) -> tuple[str, dict[str, str]]:
    """Where the class of a resource is reached from, and the Python name of each input."""
    package, module, kind = resource.token.split(":")
    if resource.is_provider:
        place = f"pulumi_{kind}.Provider"
        return place, _parameters(importlib.import_module(f"pulumi_{kind}").Provider)
    loaded = rpc.get_resource_module(package, module, "")
    if loaded is None:
        names = {"apiVersion": "api_version", "kind": "kind", "metadata": "metadata", "spec": "spec"}
        return "pulumi_kubernetes.apiextensions.CustomResource", names
    info: Any = loaded
    place, kind = info.mod_info["fqn"], info.mod_info["classes"][resource.token]
    names = _parameters(getattr(importlib.import_module(place), kind))
    if package == "kubernetes":
        names = {key: name for key, name in names.items() if key not in CONSTANTS}
    return f"{place}.{kind}", names


def _parameters(cls: Any) -> dict[str, str]:
    """camelCase input to the parameter's name."""
    signature = inspect.signature(cls._internal_init)
    return {_wire_name(name): name for name in signature.parameters if name not in {"self", "resource_name", "opts"}}


def _wire_name(name: str) -> str:
    """`cidr_block` as it travels: `cidrBlock`; a trailing underscore only dodges a Python keyword."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)
