"""LF03: values of documentation are findings, all at once, unless the stack is an example."""

import pytest

from planner.plan import plan
from planner.rules.supply import placeholders
from settings.load import from_sections
from settings.presets import preset_names
from tests.planner.stacks import TODAY, planned, rules, sections

OWN = {
    "example": False,
    "platform.publicAccessCidrs": ["80.81.82.0/24"],
    "storage.sources": [{"bucket": "team-a-models"}, {"bucket": "team-a-text"}],
    "training.datasets.0.source": "s3://team-a-text/instructions",
    "serving.services.0.weights": "s3://team-a-models/llama-3-8b",
    "training.runs.0.image": "registry.team-a.net/ml/llama-trainer:1.0",
    "catalogue.images.0.name": "registry.team-a.net/ml/llama-trainer",
}
"""The dev stack as somebody deploys it."""


def test_a_stack_of_ones_own_has_none_lf03() -> None:
    assert rules(planned(changes=OWN)) == []


def test_the_shipped_stack_without_its_mark_is_refused_with_every_path_lf03() -> None:
    """All of them in one table, each with what to type, before anything is registered."""
    found = [each for each in planned(changes={"example": False}).errors if each.rule == "placeholder"]
    assert {each.path for each in found} == {
        "gpucluster:platform.publicAccessCidrs[0]",
        "gpucluster:training.datasets[0].source",
        "gpucluster:serving.services[0].weights",
        "gpucluster:storage.sources[0].bucket",
        "gpucluster:storage.sources[1].bucket",
        "gpucluster:training.runs[0].image",
        "gpucluster:catalogue.images[0].name",
    }
    assert all("gpucluster:example: true" in each.remedy for each in found)


@pytest.mark.parametrize("stack", ["dev", "prod", "lab"])
def test_shipped_stacks_are_marked_and_need_their_marks_lf03(stack: str) -> None:
    assert sections(stack)["example"] is True
    assert rules(planned(stack)) == []
    assert "placeholder" in rules(planned(stack, {"example": False}))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("platform.publicAccessCidrs", ["203.0.113.7/32"]),
        ("platform.publicAccessCidrs", ["80.81.82.0/24", "198.51.100.0/25"]),
        ("platform.publicAccessCidrs", ["192.0.2.0/24"]),
        ("platform.accountId", "123456789012"),
        ("platform.accountId", "000000000000"),
        ("platform.roleArn", "arn:aws:iam::111122223333:role/deployer"),
        ("security.adminArns", ["arn:aws:iam::444455556666:user/ada"]),
        ("serving.services.0.weights", "s3://my-bucket/llama"),
        ("serving.services.0.weights", "s3://weights.example.com/llama"),
        ("serving.services.0.image", "registry.example.com/vllm:v0.29.0"),
        ("training.runs.0.image", "registry.example/trainer:v1"),
        ("training.runs.0.image", "ghcr.io/acme/trainer:v1"),
        ("training.runs.0.image", "ghcr.io/your-org/trainer:v1"),
        ("training.runs.0.script", ["train.py", "--proxy=[2001:db8::1]:3128"]),
        ("lifecycle.owner", "changeme"),
        ("serving.services.0.weights", "s3://example-models/llama"),
        ("storage.sources", [{"bucket": "team-a-models", "owner": "777788889999"}, {"bucket": "team-a-text"}]),
    ],
)
def test_values_of_documentation_lf03(path: str, value: object) -> None:
    found = [each for each in planned(changes={**OWN, path: value}).errors if each.rule == "placeholder"]
    assert len(found) == 1
    assert found[0].path.startswith(f"gpucluster:{path.replace('.0.', '[0].')}")


@pytest.mark.parametrize(
    "text",
    [
        *("10.64.0.0/16", "203.0.114.0/24", "1203.0.113.0", "210210210210", "1234567890123"),
        *("s3://acmes/x", "s3://team-examples-of-text/x", "nvcr.io/nvidia/pytorch:26.06-py3", "/opt/examples.py"),
        *("exemplary.com/x:1", "contest.io/x:1", "s3://mybucket-7f3a/x", "vllm/vllm-openai:v0.29.0", "latest.test1"),
    ],
)
def test_values_that_may_be_somebodys_lf03(text: str) -> None:
    assert list(placeholders({"a": [{"b": text}]})) == []


def test_sentences_may_speak_of_anything_lf03() -> None:
    assert list(placeholders({"waivers": [{"reason": "as in the documentation of example.com"}]})) == []
    assert list(placeholders({"catalogue": [{"source": "the quotation of acme"}]})) == []
    assert len(list(placeholders({"datasets": [{"source": "s3://acme/text"}]}))) == 1


@pytest.mark.parametrize("name", [name for name in preset_names() if name in ("h100-8n", "h100-8n-cloud")])
def test_presets_lend_no_bucket_lf03(name: str) -> None:
    lifecycle = {"owner": "ml-platform", "costCentre": "research"}
    found = plan(from_sections({"preset": name, "lifecycle": lifecycle}), today=TODAY)
    assert "placeholder" in {each.rule for each in found.errors}
