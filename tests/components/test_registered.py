"""What each component registers for its arguments, whole: the manifest or request that a user would read.

registered/NAME.yaml has all resources of a sample; registered/variants.yaml what is different when an argument of it
is. There is no command that rewrites them: whoever changes a value says in both places that it is meant.
Texts that are JSON, or user data, are written as what they hold; what is empty or off is left out.
"""

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from policy.graph import Resource
from tests.components.samples import SAMPLES, Make, built
from tests.components.variants import VARIANTS
from tests.graph.harness import Recorded

WRITTEN = Path(__file__).with_name("registered")
SECRET_ANYWAY = {"data", "stringData", "value", "valueWo"}
"""Outputs of Secrets and parameters of which the SDK says so by itself."""
MAKERS = [name for name in SAMPLES if name[0].islower()]
"""All but the layers, which hold nothing of their own."""


def shown(resource: Resource, graph: Recorded) -> dict[str, Any]:
    """A registered resource as the files have it, with its options beside its inputs."""
    parent = graph.resources.get(resource.parent)
    options: dict[str, Any] = {
        "inside": parent.name.removeprefix("sample") if parent else "",
        "after": sorted(graph.resources[urn].name for urn in resource.depends_on),
        "timeouts": dict(resource.timeouts),
        "hooks": graph.hooks.get(resource.urn, {}),
        "protect": resource.protect,
        "ignoreChanges": list(resource.ignore_changes),
        "replaceOnChanges": list(resource.replace_on_changes),
        "deleteBeforeReplace": resource.delete_before_replace,
        "secret": sorted(resource.secret),
        "secretOutputs": sorted({*resource.secret_outputs} - resource.secret - SECRET_ANYWAY),
    }
    inputs = {key: value for key, value in resource.inputs.items() if key not in ("apiVersion", "kind")}
    return {
        "type": resource.token,
        **{name: value for name, value in options.items() if value},
        "inputs": opened(inputs),
    }


def opened(value: Any, key: str = "") -> Any:
    """A value with its texts as what they hold."""
    if isinstance(value, dict):
        return {name: opened(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [opened(each) for each in value]
    if key == "userData":
        return base64.b64decode(value).decode().split("\r\n")
    return _parsed(value) if isinstance(value, str) and value[:1] in ("{", "[") else value


def _parsed(text: str) -> Any:
    """What a JSON text holds. One whose keys are not in order stays a text: it would change from run to run."""
    try:
        value = json.loads(text)
    except ValueError:
        return text  # another language begins with a bracket, too
    return value if json.dumps(value, sort_keys=True) == text else text


def registered(make: Make) -> dict[str, Any]:
    """The component's own resources by name: neither what it comes after, nor components inside it."""
    graph = built(make)
    return {
        each.name: shown(each, graph)
        for each in graph.resources.values()
        if each.custom and each.name.startswith("sample-")
    }


def difference(old: Any, new: Any) -> Any:
    """What of `new` is not as in `old`, in its place; None for what is gone, elements of a list by their index."""
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and isinstance(old[0], dict):
        old, new = dict(enumerate(old)), dict(enumerate(new))
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    return {key: difference(old.get(key), new.get(key)) for key in {**old, **new} if old.get(key) != new.get(key)}


def sample_of(variant: str) -> str:
    """The sample that a variant is one of: its name begins with it."""
    return max((name for name in MAKERS if variant.startswith(name)), key=len)


def differences(variant: str) -> Any:
    """What the variant registers otherwise than its sample."""
    return difference(registered(SAMPLES[sample_of(variant)]), registered(VARIANTS[variant]))


@cache
def written(name: str) -> dict[str, Any]:
    """One of the files."""
    found: dict[str, Any] = yaml.safe_load((WRITTEN / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", MAKERS)
def test_a_sample_registers_what_is_written(name: str) -> None:
    assert registered(SAMPLES[name]) == written(name)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_differs_from_its_sample_as_written(name: str) -> None:
    assert differences(name) == written("variants")[name]


def test_every_file_and_variant_is_looked_at() -> None:
    assert {path.stem for path in WRITTEN.iterdir()} == {*MAKERS, "variants"}
    assert set(written("variants")) == set(VARIANTS)
