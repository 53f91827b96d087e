"""Sentences about settings beyond those of the corpus."""

from typing import Any

import pytest
from pydantic import ValidationError

from settings.errors import SettingsError, nearest, sentences, written
from settings.model import PLATFORMS, Settings
from settings.zones import zone_prefix
from tests.planner.stacks import changed


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("pools", 1, "count"), "gpucluster:pools[1].count"),
        (("storage", "lustre", "efa"), "gpucluster:storage.lustre.efa"),
        (("budget",), "gpucluster:budget"),
        ((), "gpucluster:"),
    ],
)
def test_path_is_written_as_in_the_file(path: tuple[str | int, ...], text: str) -> None:
    """A person finds the place by reading."""
    assert written(path) == text


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("instance_type", ["instanceType", "count"], "instanceType"),
        ("vpc-cidr", ["vpcCidr"], "vpcCidr"),
        ("pool", ["pools", "platform"], "pools"),
        ("xyz", ["pools"], None),
    ],
)
def test_nearest_key(word: str, known: list[str], near: str | None) -> None:
    """Other spellings of a key and near misses are recognised, and nothing is made up."""
    assert nearest(word, known) == near


@pytest.mark.parametrize(
    ("region", "prefix"),
    [
        ("us-east-2", "use2"),
        ("ap-northeast-1", "apne1"),
        ("ap-southeast-3", "apse3"),
        ("us-gov-west-1", "usgw1"),
        ("ca-central-1", "cac1"),
        ("eu-south-2", "eus2"),
        ("af-south-1", "afs1"),
    ],
)
def test_zone_ids_of_a_region(region: str, prefix: str) -> None:
    """Zone ids as AWS forms them."""
    assert zone_prefix(region) == prefix


@pytest.mark.parametrize("model", PLATFORMS.values(), ids=PLATFORMS)
@pytest.mark.parametrize("data", [None, 3, "x", [], {"pools": 3}, {"pools": [3], "training": {"runs": "x"}}])
def test_data_of_any_shape_ends_in_sentences(data: Any, model: type[Settings]) -> None:
    """Whatever stands in a file, the answer is sentences with paths and never a traceback."""
    with pytest.raises(ValidationError) as caught:
        model.model_validate(data)
    said = sentences(caught.value, model)
    assert said
    assert all(sentence.startswith("gpucluster:") for sentence in said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"pools.1.count": True}, "gpucluster:pools[1].count: must be a whole number, is true"),
        ({"budget.maxHourlyUsd": False}, "gpucluster:budget.maxHourlyUsd: must be a number, is false"),
        ({"budget.maxHourlyUsd": float("nan")}, "gpucluster:budget.maxHourlyUsd: must be a number, is nan"),
        ({"lifecycle.owner": "a\x1b[31m"}, "gpucluster:lifecycle.owner: has the character '\\x1b'"),
        ({"platform.zones.0": "a\x00"}, "gpucluster:platform.zones[0]: has the character '\\x00'"),
        ({"pools.0.count": 0}, "gpucluster:pools[0].count: is 0, so the operators have nowhere to run; type 2 or more"),
        ({"pools.1.name": "system "}, "gpucluster:pools[1].name: 'system' is already the name of pools[0]"),
        ({"lifecycle.owner": "x" * 129}, "gpucluster:lifecycle.owner: must have at most 128 characters, has 129"),
        ({"pools.1.name": "x" * 5000}, f"gpucluster:pools[1].name: '{'x' * 76}... is not a name"),
    ],
)
def test_values_mean_what_they_say(changes: dict[str, Any], said: str) -> None:
    """A08: true is no 1, unseen characters are no text, names are compared as they are read, echoes are short."""
    with pytest.raises(SettingsError) as caught:
        changed("dev", changes)
    assert any(problem.startswith(said) for problem in caught.value.problems)
