"""Which images of runs and services no registry has (A3)."""

import re
from pathlib import Path
from typing import Any

import pytest

from rehearsed.registry import ROOT, absent

ROWS = """config:
  gpucluster:catalogue:
    images:
      - {name: ghcr.io/team/server, source: team}
      - {name: "ghcr.io/team/trainer:1.0..1.4", source: team}
"""


def pod(image: str, container: str = "vllm") -> dict[str, Any]:
    """A pod whose named container and an init container before it have an image, beside a sidecar."""
    return {
        "spec": {
            "initContainers": [{"name": "gate", "image": image}],
            "containers": [{"name": container, "image": image}, {"name": "side", "image": "quay.io/team/side:1"}],
        }
    }


@pytest.mark.parametrize(
    ("image", "gone"),
    [
        ("vllm/vllm-openai:v0.29.0", False),
        ("vllm/vllm-opnai:v0.29.0", True),
        ("nvcr.io/nvida/pytroch:99.99-py3", True),
        ("111122223333.dkr.ecr.us-east-2.amazonaws.com/hub/vllm/vllm-openai:v0.29.0", False),
        ("registry.example.com/ml/trainer:1.0", False),
        (f"ghcr.io/else/where@sha256:{'a' * 64}", False),
        ("ghcr.io/team/server:7", False),
        ("ghcr.io/team/trainer:1.2", False),
        ("ghcr.io/team/trainer:2.0", True),
    ],
)
def test_an_image_that_nobody_knows_is_absent_until_a_row_says_what_it_is(
    image: str, gone: bool, tmp_path: Path
) -> None:
    (tmp_path / "Pulumi.mine.yaml").write_text(ROWS, encoding="utf-8")
    assert absent(pod(image), image, tmp_path) is gone


def test_images_of_charts_and_sidecars_are_there(tmp_path: Path) -> None:
    """The stack file names those of runs and services only; an init container with the same image waits, too."""
    assert not absent(pod("quay.io/chart/app:1", "controller"), "quay.io/chart/app:1", tmp_path)
    assert not absent(pod("typo/typo:1"), "quay.io/team/side:1", tmp_path)
    assert absent(pod("typo/typo:1", "pytorch"), "typo/typo:1", tmp_path)


def test_no_image_of_a_shipped_stack_is_absent() -> None:
    """Nor of a preset: what is theirs is published, or said to be one's own."""
    images = {
        image
        for file in (*ROOT.glob("Pulumi.*.yaml"), *(ROOT / "settings" / "presets").glob("*.yaml"))
        for image in re.findall(r"^ *image: *([^\s#]+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert images
    assert [each for each in sorted(images) if absent(pod(each), each)] == []
