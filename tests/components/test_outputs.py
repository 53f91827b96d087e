"""What a component hands on: its typed attributes, each resolved, for the program that reads them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from components.metal.ceph import FileClasses
from components.platform.servers import Database
from components.serving.keys import CallerKeys
from components.serving.tokens import SecretKey
from tests.components.samples import SAMPLES, Make, Options, built
from tests.components.variants import VARIANTS

MAKERS = {**SAMPLES, **VARIANTS}
HANDED_ON, WAITS = (
    yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    for name in ("outputs.yaml", "waits.yaml")
)


def handed_on(make: Make) -> dict[str, Any]:
    """The component's attributes by name; a resource as its name, a mapping's keys joined by slashes."""
    return looked_at(make)[0]


def looked_at(make: Make) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The same, and the component's own resources that those wait for which wait for several."""
    seen: dict[str, Any] = {}
    waits: dict[str, list[str]] = {}

    def wait(path: str, found: set[pulumi.Resource]) -> None:
        names = sorted(each.pulumi_resource_name for each in found)
        if len(own := [name for name in names if name.startswith("sample-")]) > 1:
            waits[path] = own

    def keep(path: str, value: Any) -> None:
        match value:
            case pulumi.Output():
                value.apply(lambda known: seen.__setitem__(path, known))
                resources: Any = value.resources()
                pulumi.Output.from_input(resources).apply(lambda found: wait(path, found))
            case pulumi.Resource():
                seen[path] = value.pulumi_resource_name
            case [pulumi.Resource(), *_]:
                for index, each in enumerate(value):
                    keep(f"{path} {index}", each)
            case SecretKey():
                keep(f"{path} name", value.name)
                keep(f"{path} key", value.key)
            case Database():
                for each in ("image", "secret", "service"):
                    keep(f"{path} {each}", getattr(value, each))
            case FileClasses():
                for each in ("files", "taken", "read"):
                    keep(f"{path} {each}", getattr(value, each))
            case CallerKeys():
                keep(f"{path} caller", value.caller)
                keep(f"{path} scraper", value.scraper)
            case Mapping():
                for key, each in value.items():
                    keep(f"{path} {'/'.join(key) if isinstance(key, tuple) else key}", each)
            case _:
                seen[path] = value

    def watched(opts: Options) -> pulumi.Resource:
        component = make(opts)
        for kind in type(component).__mro__:
            for name in vars(kind).get("__annotations__", {}):
                if not name.startswith("_") and kind.__module__.startswith("components"):
                    keep(name, getattr(component, name))
        return component

    built(watched)
    return seen, waits


@pytest.mark.parametrize("name", [name for name in MAKERS if name in HANDED_ON])
def test_attributes_are_what_is_written(name: str) -> None:
    assert handed_on(MAKERS[name]) == HANDED_ON[name]


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_handed_on_is_there_when_all_that_it_needs_is(name: str) -> None:
    """A role has its rights, a file system its targets, a queue its policy: no option of what uses them says so."""
    assert looked_at(SAMPLES[name])[1] == WAITS.get(name, {})


def test_every_component_that_hands_something_on_is_looked_at() -> None:
    assert {name for name, make in SAMPLES.items() if handed_on(make)} <= set(HANDED_ON)
