"""What a component hands on: its typed attributes, each resolved, for the program that reads them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from components.serving.keys import CallerKeys
from components.serving.tokens import SecretKey
from tests.components.samples import SAMPLES, Make, Options, built
from tests.components.variants import VARIANTS

MAKERS = {**SAMPLES, **VARIANTS}
HANDED_ON: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("outputs.yaml").read_text(encoding="utf-8"))


def handed_on(make: Make) -> dict[str, Any]:
    """The component's attributes by name; a resource as its name, a mapping's keys joined by slashes."""
    seen: dict[str, Any] = {}

    def keep(path: str, value: Any) -> None:
        match value:
            case pulumi.Output():
                value.apply(lambda known: seen.__setitem__(path, known))
            case pulumi.Resource():
                seen[path] = value.pulumi_resource_name
            case [pulumi.Resource(), *_]:
                for index, each in enumerate(value):
                    keep(f"{path} {index}", each)
            case SecretKey():
                keep(f"{path} name", value.name)
                keep(f"{path} key", value.key)
            case CallerKeys():
                keep(f"{path} caller", value.caller)
                keep(f"{path} scraper", value.scraper)
            case Mapping():
                for key, each in value.items():
                    keep(f"{path} {'/'.join(key) if isinstance(key, tuple) else key}", each)
            case _:
                seen[path] = value

    def watched(opts: Options) -> pulumi.ComponentResource:
        component = make(opts)
        for kind in type(component).__mro__:
            for name in vars(kind).get("__annotations__", {}):
                if not name.startswith("_") and kind.__module__.startswith("components"):
                    keep(name, getattr(component, name))
        return component

    built(watched)
    return seen


@pytest.mark.parametrize("name", [name for name in MAKERS if name in HANDED_ON])
def test_attributes_are_what_is_written(name: str) -> None:
    assert handed_on(MAKERS[name]) == HANDED_ON[name]


def test_every_component_that_hands_something_on_is_looked_at() -> None:
    assert {name for name, make in SAMPLES.items() if handed_on(make)} <= set(HANDED_ON)
