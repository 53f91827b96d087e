"""What a newcomer types wrong or does not know is told at plan time (rows A3, A6, B9, C8, C9 of his day)."""

from typing import Any

import pytest

from planner.faces.text import plan_text
from planner.findings import Finding, Severity
from tests.planner.faces.test_text import printed
from tests.planner.stacks import planned


def about(rule: str, changes: dict[str, Any]) -> list[Finding]:
    """What one rule says of the dev stack with these changes."""
    return [each for each in planned(changes=changes).findings if each.rule == rule]


@pytest.mark.parametrize(
    ("image", "meant"),
    [
        ("vllm/vllm-opnai:v0.29.0", "vllm/vllm-openai:v0.29.0"),
        ("vlm/vllm-openai:v0.29.0", "vllm/vllm-openai:v0.29.0"),
        ("nvcr.io/nvidia/tritonserve:26.06-py3", "nvcr.io/nvidia/tritonserver:26.06-py3"),
    ],
)
def test_a_misspelt_image_is_told_with_the_one_that_was_meant(image: str, meant: str) -> None:
    (found,) = about("image-unknown", {"serving.services.0.image": image})
    assert found.severity is Severity.WARNING
    assert found.subject == image
    assert found.remedy.startswith(f"did you mean {meant}? Otherwise, ")


@pytest.mark.parametrize(
    "image",
    [
        "vllm/vllm-openai:v0.29.0",
        "docker.io/vllm/vllm-openai:v0.29.0",
        "111122223333.dkr.ecr.us-east-2.amazonaws.com/hub/vllm/vllm-openai:v0.29.0",
        "registry.example.com/ml/server:1.0",
    ],
)
def test_known_images_their_mirrors_and_placeholders_are_left_alone(image: str) -> None:
    """A placeholder is another rule's business."""
    assert about("image-unknown", {"serving.services.0.image": image}) == []


def test_an_image_of_ones_own_is_known_once_a_row_says_so() -> None:
    own = {"serving.services.0.image": "ghcr.io/team/server:1.0"}
    (found,) = about("image-unknown", own)
    assert found.remedy == "if it is your own, say so in catalogue.images: {name: ghcr.io/team/server, " + (
        "source: WHO-BUILDS-IT}"
    )
    row = {"name": "ghcr.io/team/server", "source": "team"}
    assert about("image-unknown", {**own, "catalogue.images": [row]}) == []


def test_an_image_of_a_gang_on_efa_is_told_once_and_with_its_neighbour() -> None:
    changes = {"training.runs.0.image": "nvcr.io/nvida/pytroch:26.03-py3", "catalogue.images": []}
    assert about("image-unknown", changes) == []
    (found,) = about("image-unproven-on-efa", changes)
    assert found.remedy.startswith("did you mean nvcr.io/nvidia/pytorch:26.03-py3? Otherwise, look")
    (found,) = about("image-unproven-on-efa", {"training.runs.0.image": "nvcr.io/nvidia/nemo:26.06"})
    assert found.remedy.startswith("look (docker run")


BIG = {"pools.1.instanceType": "p5.48xlarge", "budget.maxHourlyUsd": 900}


def test_a_run_on_many_gpus_saves_whatever_it_trains_on() -> None:
    """A6: without tokensBillion nothing was said; four nodes of eight GPUs without checkpoints are told now."""
    many = {**BIG, "pools.1.count": 4, "training.runs.0.nodes": 4}
    (found,) = about("large-run-without-checkpoints", many)
    assert "start its 32 GPUs from the first step" in found.sentence
    saving = {
        "training.runs.0.model": "llama-3-8b",
        "training.runs.0.checkpoint": {"everyMinutes": 60, "withinSeconds": 60},
    }
    assert about("large-run-without-checkpoints", {**many, **saving}) == []
    two = {**BIG, "pools.1.count": 2, "training.runs.0.nodes": 2}
    assert about("large-run-without-checkpoints", two) == []


def test_a_run_that_will_fail_is_told_of_by_one_rule_only() -> None:
    long = {**BIG, "pools.1.count": 64, "training.runs.0.nodes": 64, "training.runs.0.model": "llama-3-8b"}
    told = {**long, "training.runs.0.tokensBillion": 15_000, "training.runs.0.checkpoint": None}
    rules = [each.rule for each in planned(changes=told).findings if each.rule.endswith("-without-checkpoints")]
    assert rules == ["run-without-checkpoints"]


ELSEWHERE = {
    "platform.region": "eu-north-1",
    "platform.zones": ["eun1-az1", "eun1-az2"],
    "platform.gpuZone": "eun1-az1",
}
UNRECORDED = {
    "platform.region": "ap-east-2",
    "platform.zones": ["ape2-az1", "ape2-az2"],
    "platform.gpuZone": "ape2-az1",
}


def test_prices_of_another_region_are_said_beside_the_number() -> None:
    """B9: in the text, and as a flag in the outputs and the document."""
    here, there = planned(), planned(changes=ELSEWHERE)
    assert "none is recorded for" not in printed(plan_text("dev", here))
    assert "none is recorded for eu-north-1" in " ".join(printed(plan_text("dev", there)).split())
    assert (here.prices.listed, there.prices.listed) == (True, False)
    assert "make doctor asks the account" not in printed(plan_text("dev", there))


def test_offers_that_are_not_recorded_are_said_beside_the_number() -> None:
    said = " ".join(printed(plan_text("dev", planned(changes=UNRECORDED))).split())
    assert "what EC2 sells in ap-east-2 is not recorded; make doctor asks the account" in said


def test_what_a_person_has_to_confirm_is_printed() -> None:
    """C8: the lines, not their number."""
    plan = planned("prod")
    asked = [check for check in plan.checklist if str(check.status) == "to confirm"]
    said = " ".join(printed(plan_text("prod", plan), 300).split())
    assert asked
    assert all(check.item in said for check in asked)


def test_a_run_has_one_speed_and_the_other_figure_says_what_it_is() -> None:
    """C9: what days and cost are counted with is called expected; a typical one stands beside it by that name."""
    said = " ".join(printed(plan_text("prod", planned("prod")), 300).split())
    assert said.count("tokens/s expected") == 1
    assert "a typical MFU of 40% would be" in said


def test_a_pool_without_nodes_is_not_answered_with_a_run_without_nodes() -> None:
    """C1: the impossible half of the remedy is left out."""
    (found,) = about("gang-fits-pool", {"pools.1.count": 0, "training.gates": None})
    assert found.remedy == "set the pool's count to 2"


def test_a_gang_is_told_of_the_pool_that_it_runs_in_and_of_no_other() -> None:
    """C3: GPUs of inference cannot be used for training, and are not spoken of."""
    (found,) = about("gang-fits-pool", {"training.runs.0.nodes": 5, "training.gates": None})
    assert found.sentence == "the gang takes 5 nodes (5 GPUs) and pool training has 2 (2 GPUs), so it would never start"
