"""Images of runs: NCCL's way to EFA, and the script that is started (LF03, LF04)."""

from collections.abc import Mapping
from typing import Any

import pytest

from catalogue.image_types import ContainerImage, find, numbers, repository, tag
from catalogue.images import IMAGES
from planner.findings import Finding, Severity
from tests.planner.stacks import planned, planned_metal

NVIDIA = "nvcr.io/nvidia/pytorch"
DIGEST = f"@sha256:{'a' * 64}"


def about(image: str, script: str = "/data/train.py", changes: Mapping[str, Any] | None = None) -> list[Finding]:
    """What the rules about images say of the dev stack with that image and script."""
    run = {"training.runs.0.image": image, "training.runs.0.script": [script]}
    found = planned(changes={**run, **(changes or {})}).findings
    return [each for each in found if each.rule.startswith("image-") or each.rule == "script-not-in-image"]


@pytest.mark.parametrize(
    "image",
    [
        f"{NVIDIA}:26.06-py3",
        f"{NVIDIA}:26.12-py3-igpu",
        f"{NVIDIA}:27.01-py3{DIGEST}",
        "111122223333.dkr.ecr.us-east-2.amazonaws.com/ngc/nvidia/pytorch:26.08-py3",
        "pytorch/pytorch:2.11.0-cuda13.0-cudnn9-runtime",
        "docker.io/pytorch/pytorch:2.11.0-cuda13.0-cudnn9-runtime",
    ],
)
def test_a_gang_on_efa_is_refused_with_an_image_that_lacks_the_plugin_lf04(image: str) -> None:
    (found,) = about(image)
    assert (found.rule, found.severity) == ("image-without-efa", Severity.ERROR)
    assert "lacks aws-ofi-nccl" in found.sentence
    assert "./efa_installer.sh -y -g --skip-kmod" in found.remedy


def test_the_remedy_is_a_tag_that_has_it_and_keeps_it_lf04() -> None:
    (found,) = about(f"{NVIDIA}:26.06-py3")
    assert "sets NCCL_NET_PLUGIN=spcx" in found.sentence
    assert f"take {NVIDIA}:26.03-py3, or build on it" in found.remedy
    assert about(f"{NVIDIA}:26.03-py3") == []


def test_what_the_remedy_says_to_type_is_accepted_lf04() -> None:
    own = {"name": "team/trainer", "like": f"{NVIDIA}:26.06..", "lacks": [], "netPlugin": "ofi"}
    assert about("team/trainer:1", changes={"catalogue.images": [own]}) == []
    assert [each.rule for each in about("team/trainer:1", changes={"catalogue.images": []})] == [
        "image-unproven-on-efa"
    ]


def test_one_node_and_nodes_without_efa_need_no_plugin_lf04() -> None:
    bad = f"{NVIDIA}:26.06-py3"
    assert about(bad, changes={"training.runs.0.nodes": 1}) == []
    assert about(bad, changes={"pools.1.instanceType": "g6e.xlarge"}) == []


@pytest.mark.parametrize(
    "image", ["team/trainer:1", f"{NVIDIA}{DIGEST}", f"{NVIDIA}:24.01-py3", "nvidia/pytorch-x:26.06"]
)
def test_an_image_of_which_nothing_is_known_is_a_warning_that_says_where_to_look_lf04(image: str) -> None:
    (found,) = about(image)
    assert (found.rule, found.severity) == ("image-unproven-on-efa", Severity.WARNING)
    assert f"docker run --rm --entrypoint ldconfig {image} -p" in found.remedy
    assert f"{{name: {image.partition('@')[0].rpartition(':')[0] or image.partition('@')[0]}," in found.remedy


def test_shipped_stacks_keep_the_rules_about_images_lf04() -> None:
    for plan in (planned("dev"), planned("prod"), planned_metal()):
        assert [each for each in plan.findings if each.rule in ("image-without-efa", "image-unproven-on-efa")] == []
        assert [each for each in plan.findings if each.rule == "script-not-in-image"] == []


@pytest.mark.parametrize("script", ["/workspace/train.py", "/workspace/sub/../train.py"])
def test_a_script_that_is_known_to_be_missing_is_refused_lf03(script: str) -> None:
    (found,) = about(f"{NVIDIA}:26.03-py3", script)
    assert found.rule == "script-not-in-image"
    assert "/workspace/train.py is not in" in found.sentence
    assert "/workspace holds README.md, docker-examples, examples, tutorials" in found.sentence
    assert "COPY train.py /workspace/" in found.remedy
    (empty,) = about("pytorch/pytorch:2.11.0", script, {"training.runs.0.nodes": 1})
    assert "/workspace holds nothing" in empty.sentence


@pytest.mark.parametrize("script", ["/workspace/examples/train.py", "/opt/train.py", "train.py", "/data/train.py"])
def test_a_script_that_may_be_there_is_not_refused_lf03(script: str) -> None:
    assert about(f"{NVIDIA}:26.03-py3", script) == []


def test_a_script_below_data_needs_a_dataset_lf03() -> None:
    """It is where a dataset is mounted: without one no file is there, unless the image brings it."""
    nowhere: dict[str, Any] = {"training.runs.0.dataset": None, "training.runs.0.script": ["/data/train.py"]}

    def said(image: str, **changes: Any) -> list[Finding]:
        found = planned(changes={**nowhere, "training.runs.0.image": image, **changes}).findings
        return [each for each in found if each.rule == "script-without-dataset"]

    (found,) = said(f"{NVIDIA}:26.03-py3")
    assert (found.path, found.severity) == ("gpucluster:training.runs[0].script", Severity.WARNING)
    assert "/data/train.py does not exist: the run names no dataset" in found.sentence
    assert "framework: reference" in found.remedy
    own = {"name": "team/trainer", "source": "ours", "holds": ["/data/train.py"]}
    assert said("team/trainer:1", **{"catalogue.images": [own]}) == []
    assert said("team/trainer:1", **{"catalogue.images": []}) == []
    assert said(f"{NVIDIA}:26.03-py3", **{"training.runs.0.dataset": {"name": "instructions"}}) == []


def test_options_of_torchrun_come_before_the_script_lf03() -> None:
    words = {"training.runs.0.script": ["--max-restarts=0", "/workspace/train.py"]}
    assert [each.rule for each in about(f"{NVIDIA}:26.03-py3", changes=words)] == ["script-not-in-image"]
    module = {"training.runs.0.script": ["-m", "trainer", "/workspace/x.py"]}
    assert about(f"{NVIDIA}:26.03-py3", changes=module) == []


def test_nccl_is_told_the_plugins_name_of_the_image_lf04() -> None:
    def told(image: str, changes: Mapping[str, Any] | None = None) -> str | None:
        return planned(changes={"training.runs.0.image": image, **(changes or {})}).runs["llama-3-8b-sft"].net_plugin

    old = {"name": "team/old", "netPlugin": "aws-ofi", "source": "its Dockerfile"}
    assert told("team/old:1", {"catalogue.images": [old]}) == "aws-ofi"
    assert told("team/unknown:1") == "ofi"
    assert told("team/unknown:1", {"training.runs.0.nodes": 1}) is None


def test_words_of_an_image_lf04() -> None:
    assert repository(f"reg:5000/a/b:1.2-py3{DIGEST}") == "reg:5000/a/b"
    assert (repository("reg:5000/a/b"), tag("reg:5000/a/b")) == ("reg:5000/a/b", "")
    assert (tag(f"a/b:1.2-py3{DIGEST}"), numbers("v26.06.1-py3"), numbers("latest")) == ("1.2-py3", (26, 6, 1), ())


def test_of_several_rows_the_last_counts_lf04() -> None:
    row = find(IMAGES, f"{NVIDIA}:26.03-py3")
    assert row is not None
    assert (row.nccl, row.aws_ofi_nccl) == ("2.29.7", "1.17.0")
    assert find(IMAGES, f"{NVIDIA}:26.05.1-py3") is IMAGES[f"{NVIDIA}:26.01..26.05"]
    assert find(IMAGES, f"{NVIDIA}:25.12-py3") is None


def test_a_row_does_not_contradict_itself_lf04() -> None:
    with pytest.raises(ValueError, match=r"a has aws-ofi-nccl 1\.17\.0 and lacks it"):
        ContainerImage(name="a", aws_ofi_nccl="1.17.0", lacks=("aws-ofi-nccl",), source="x")
