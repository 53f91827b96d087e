"""Presets: how a stack file lies over a shipped one."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from settings import presets
from settings.errors import SettingsError
from settings.load import from_file, from_sections
from settings.model import AwsSettings, MetalSettings
from settings.presets import merged
from tests.planner.stacks import sections

values = st.recursive(
    st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
)
mappings = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two presets: the committed stacks without what only their owner can say."""
    monkeypatch.setattr(presets, "PRESETS", tmp_path)
    for name, stack in (("small", "dev"), ("racks", "metal")):
        said = {key: value for key, value in sections(stack).items() if key != "lifecycle"}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(said), encoding="utf-8")
    return tmp_path


def on(preset: str, **above: Any) -> AwsSettings | MetalSettings:
    lifecycle = {"owner": "ml-platform", "costCentre": "research"}
    return from_sections({"preset": preset, "lifecycle": lifecycle, **above})


@pytest.mark.parametrize(
    ("below", "above", "result"),
    [
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, {"a": 1, "b": 3, "c": 4}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}, {"a": {"x": 1, "y": 3}}),
        ({"a": [1, 2, 3]}, {"a": [4]}, {"a": [4]}),
        ({"a": [{"name": "x", "n": 1}]}, {"a": [{"name": "x"}]}, {"a": [{"name": "x"}]}),
        ({"a": {"x": 1}}, {"a": None}, {"a": None}),
        ({"a": 1}, {"a": {"x": 1}}, {"a": {"x": 1}}),
    ],
)
def test_mappings_merge_and_all_else_is_replaced(below: Any, above: Any, result: Any) -> None:
    """A02: a file changes one key of a section without repeating it, and writes a list anew."""
    assert merged(below, above) == result


@given(below=mappings, above=mappings)
def test_merging_keeps_everything_that_was_said_last(below: dict[str, Any], above: dict[str, Any]) -> None:
    """A02: twice is as once, nothing is invented, keys of both are there, and the file's own values win."""
    result = merged(below, above)
    assert set(result) == {*below, *above}
    assert merged(result, above) == result
    assert all(result[key] == value for key, value in above.items() if not isinstance(value, dict))
    assert all(result[key] == value for key, value in below.items() if key not in above)
    assert merged(below, {}) == below
    assert merged({}, above) == above


def test_a_file_overrides_its_preset(shipped: Path) -> None:
    """A02: one key of a section, a whole list, and everything else from the preset."""
    assert shipped.exists()
    settings = on("small", budget={"maxHourlyUsd": 30}, platform={"vpcCidr": "10.80.0.0/16"})
    assert isinstance(settings, AwsSettings)
    assert (settings.budget.max_hourly_usd, settings.platform.vpc_cidr) == (30, "10.80.0.0/16")
    dev = from_file(Path(__file__).parents[2] / "Pulumi.dev.yaml")
    assert (settings.pools, settings.training) == (dev.pools, dev.training)
    assert settings.preset == "small"


def test_a_preset_decides_the_platform(shipped: Path) -> None:
    """A03: the kind stands in the preset; a file of the other kind is told so, in one sentence."""
    assert shipped.exists()
    assert isinstance(on("racks"), MetalSettings)
    with pytest.raises(SettingsError) as caught:
        on("racks", platform={"kind": "aws", "region": "us-east-2"})
    assert caught.value.problems == (
        "gpucluster:platform.kind: preset racks is of kind metal, and this is aws; remove the key or take another "
        "preset",
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("smal", "there is no preset 'smal'; did you mean small?"),
        ("h100", "there is no preset 'h100'; known: racks, small"),
        (3, "there is no preset 3; known: racks, small"),
        ("../small", "there is no preset '../small'; did you mean small?"),
    ],
)
def test_an_unknown_preset_is_named_with_what_was_meant(shipped: Path, name: Any, said: str) -> None:
    """A02: a name and no path, so nothing but a shipped file is read."""
    assert shipped.exists()
    with pytest.raises(SettingsError) as caught:
        on(name)
    assert caught.value.problems == (f"gpucluster:preset: {said}",)


def test_what_a_preset_cannot_say_must_be_written(shipped: Path) -> None:
    """A02: whose stack it is has no default."""
    assert shipped.exists()
    with pytest.raises(SettingsError) as caught:
        from_sections({"preset": "small"})
    assert caught.value.problems == ("gpucluster:lifecycle: is missing; add it with owner, costCentre",)
