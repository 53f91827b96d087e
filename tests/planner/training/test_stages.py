"""Rules about pipeline stages as frameworks deal layers out (prod: 8 nodes of eight H100, Llama 3 70B of 80 layers)."""

from typing import Any

import pytest

from planner.findings import Finding
from planner.training.job import divides_layers, ends_as_layers
from tests.planner.stacks import about, planned

FITS = {"model": "llama-3-70b", "recompute": "full", "accumulation": 48, "sharding": "zero1"}


def found(rule: str, **run: Any) -> list[Finding]:
    said = {"framework": "megatron", **FITS, **run}
    return about(rule, planned("prod", {f"training.runs.0.{key}": value for key, value in said.items()}))


@pytest.mark.parametrize(
    ("layers", "parts", "divides", "with_ends"),
    [(80, 8, True, False), (126, 16, True, True), (61, 16, False, False), (61, 9, True, True), (61, 1, True, False)],
)
def test_layers_divide_with_their_ends_or_without_c06(layers: int, parts: int, divides: bool, with_ends: bool) -> None:
    """Llama 3.1 405B has 126 layers so that these and both ends are 8 for each of 16 stages."""
    assert (divides_layers(layers, parts), ends_as_layers(layers, parts)) == (divides, with_ends)


@pytest.mark.parametrize(
    ("parallelism", "path", "remedy"),
    [
        ({"tensor": 2, "pipeline": 32}, "pipeline", "take 16"),
        ({"tensor": 4, "pipeline": 3}, "pipeline", "take one of 2, 4"),
        ({"tensor": 8, "pipeline": 3, "data": 2}, "pipeline", "take 4"),
        ({"pipeline": 3, "data": 7}, "pipeline", "take one of 2, 4, and other degrees for the rest"),
        ({"tensor": 8, "pipeline": 8, "virtualStages": 3}, "virtualStages", "take one of 2, 5"),
        ({"tensor": 4, "pipeline": 6, "virtualStages": 2}, "pipeline", "take one of 4, 8"),
        ({"tensor": 8, "pipeline": 3, "virtualStages": 50}, "pipeline", "set it to 1 and remove virtualStages"),
    ],
)
def test_stages_that_do_not_divide_the_layers_are_refused_with_the_nearest_that_do_c06(
    parallelism: dict[str, int], path: str, remedy: str
) -> None:
    """Those by which the run's 64 GPUs divide too, where there are any."""
    (finding,) = found("stages-divide-layers", parallelism=parallelism)
    assert (finding.path, finding.remedy) == (f"gpucluster:training.runs[0].parallelism.{path}", remedy)
    assert "80 layers of llama-3-70b do not divide among" in finding.sentence
    assert not found("stages-divide-layers", parallelism=parallelism, framework="script"), "a script may do otherwise"


@pytest.mark.parametrize(
    "parallelism",
    [{"tensor": 8}, {"tensor": 8, "pipeline": 8}, {"pipeline": 8, "virtualStages": 10}, {"pipeline": 41}],
)
def test_stages_that_divide_the_layers_are_left_alone(parallelism: dict[str, int]) -> None:
    """41 stages of two: 80 layers and both ends."""
    assert not found("stages-divide-layers", parallelism=parallelism)


def test_a_recipe_with_a_layout_of_its_own_may_be_waived() -> None:
    (finding,) = found("stages-divide-layers", framework="nemo", parallelism={"tensor": 4, "pipeline": 3})
    assert "waive stages-divide-layers with the run as subject" in finding.remedy
    assert finding.subject == "llama-3-70b-pretrain"


@pytest.mark.parametrize("framework", ["megatron", "nemo", "script"])
def test_one_stage_has_nobody_to_take_turns_with_c06(framework: str) -> None:
    (finding,) = found("one-stage-interleaves", framework=framework, parallelism={"virtualStages": 2})
    assert finding.path == "gpucluster:training.runs[0].parallelism.virtualStages"
    assert finding.remedy == "set it to 1, or raise pipeline"
    assert not found("one-stage-interleaves", framework=framework, parallelism={"pipeline": 2, "virtualStages": 2})
    assert not found("stages-divide-layers", framework=framework, parallelism={"virtualStages": 3})
