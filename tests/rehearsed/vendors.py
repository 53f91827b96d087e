"""What vendors install, by the inventories of their sets, and what the program registers in its place."""

import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.graph.harness import Recorded

UPSTREAM = Path(os.environ.get("GPUCLUSTER_UPSTREAM", Path(__file__).parents[3] / "shared" / "upstream"))
Objects = dict[tuple[str, str], dict[str, Any]]
Right = tuple[str, str, str]
"""Group, resource and verb."""


@cache
def inventory(name: str) -> Objects:
    """The objects of a vendor's set by kind and name; the test is skipped where there is no inventory."""
    file = UPSTREAM / "rendered" / f"{name}.json"
    if not file.exists():
        pytest.skip(f"{file} is not there: GPUCLUSTER_UPSTREAM names a directory of vendors' files")
    return {(each["kind"], each["name"]): each for each in json.loads(file.read_text(encoding="utf-8"))["objects"]}


def registered(ours: Recorded) -> Objects:
    """What the component of a sample registers, by kind and name."""
    found = [each for each in ours.resources.values() if each.custom and each.name.startswith("sample-")]
    return {(each.token.rpartition(":")[2], each.inputs["metadata"]["name"]): dict(each.inputs) for each in found}


def rights(rules: Iterable[Mapping[str, Any]]) -> set[Right]:
    """The rights of a role's rules."""
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule.get("apiGroups", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
