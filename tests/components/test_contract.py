"""What holds for every component (DESIGN "Components"; style P1, P2)."""

import importlib
import pkgutil

import pulumi
import pytest

import components
from components._base import Component, physical_name
from tests.components.samples import SAMPLES, built

every_component = pytest.mark.parametrize("sample", SAMPLES)


def all_components() -> set[str]:
    """Names of the public component classes of the package."""
    found: set[str] = set()
    for module in pkgutil.walk_packages(components.__path__, "components."):
        classes = vars(importlib.import_module(module.name)).items()
        found |= {
            name for name, each in classes if isinstance(each, type) and issubclass(each, Component) and name[0] != "_"
        }
    return found - {"Component", "Account", "Claims"}


def test_every_component_has_a_sample() -> None:
    sampled = {
        each.kind for make in SAMPLES.values() for each in built(make).resources.values() if each.name == "sample"
    }
    assert sampled == all_components()


@every_component
def test_a_token_is_the_class_in_module_index(sample: str) -> None:
    component = built(SAMPLES[sample]).one("sample")
    assert component.token.startswith("gpucluster:index:")
    assert component.token.rsplit(":", 1)[-1] in all_components()


@every_component
def test_children_are_named_after_their_component(sample: str) -> None:
    graph = built(SAMPLES[sample])
    inside = [each for each in graph.resources.values() if "sample" in each.name and each.name != "sample"]
    assert all(each.name.startswith(f"{graph.resources[each.parent].name}-") for each in inside)


@every_component
def test_the_callers_options_stay_with_the_component(sample: str) -> None:
    """Aliases, ignored changes and dependencies of the caller describe the component, not its parts."""
    plain = built(SAMPLES[sample])
    loaded = built(SAMPLES[sample], aliases=[pulumi.Alias(name="old")], ignore_changes=["tags"])
    for urn, each in loaded.resources.items():
        if each.custom:
            assert each.aliases == plain.resources[urn].aliases
            assert each.ignore_changes == plain.resources[urn].ignore_changes


@every_component
def test_a_preview_registers_the_same(sample: str) -> None:
    assert set(built(SAMPLES[sample], preview=True).resources) == set(built(SAMPLES[sample]).resources)


def test_short_names_are_kept_and_long_ones_end_in_their_hash() -> None:
    assert physical_name("gpucluster", "dev", limit=63) == "gpucluster-dev"
    long = physical_name("gpucluster", "x" * 80, limit=63)
    assert long == f"gpucluster-{'x' * 43}-aeeb8432"
    assert long != physical_name("gpucluster", "x" * 79 + "y", limit=63)


def test_a_shortened_name_has_no_double_hyphen_at_its_seam() -> None:
    assert "--" not in physical_name("a" * 53, "b" * 20, limit=63)
