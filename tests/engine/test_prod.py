"""The production stack on the command line: up, as asked, no changes, protected, down to zero."""

import re
from pathlib import Path

import pytest

from .rehearsed import command
from .trees import Tree

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `python -m rehearsal rehearse --stack prod` prints, of a tree that nobody edits meanwhile."""
    directory: Path = tmp_path_factory.mktemp("prod")
    tree, home = Tree.copy(directory / "tree"), directory / "state"
    done = command(home, "rehearse", "--stack", "prod", "--root", str(tree.root))
    assert done.returncode == 0, done.stdout
    assert not list(home.glob("gpucluster/*/*")), "something of the site is left"
    return done.stdout


def rows(said: str, *cells: str) -> list[list[str]]:
    """Rows of the tables that begin with cells matching these patterns."""
    table = [[cell.strip() for cell in line.strip("│").split("│")] for line in said.splitlines() if line[:1] == "│"]
    return [row for row in table if all(re.fullmatch(each, cell) for each, cell in zip(cells, row, strict=False))]


def test_every_node_has_its_gpus_and_efa_interfaces(said: str) -> None:
    """EFA devices of p5.48xlarge as EC2 describes the type: 32 network cards, one EFA each."""
    training = rows(said, r"ip-.*\.us-east-2\.compute\.internal", r"p5\.48xlarge")
    assert [row[2:] for row in training] == [["us-east-2a", "yes", "8", "32"]] * 8
    (inference,) = rows(said, r"ip-.*", r"g6e\.48xlarge")
    assert inference[3:] == ["yes", "8", ""]
    assert {row[2] for row in rows(said, r"ip-.*", r"m7i\.2xlarge")} == {"us-east-2a", "us-east-2b", "us-east-2c"}


def test_the_gang_of_eight_runs_and_the_model_is_served_twice(said: str) -> None:
    assert rows(said, "training/llama-3-70b-pretrain") == [["training/llama-3-70b-pretrain", "8", "8", "Running"]]
    assert rows(said, "inference/llama-3-70b") == [["inference/llama-3-70b", "2/2", "2"]]


def test_every_node_passed_its_gate_and_the_first_checkpoint_is_in_all_places(said: str) -> None:
    """P17, T01: the run starts only where the gate passed, and its copy to the object store is not waited for."""
    assert "\ngate of pool training: 8 of 8 nodes pass\n" in said
    place = r"s3://gpucluster-prod-[a-z0-9-]+/checkpoints/llama-3-70b-pretrain"
    saved = rf"\nnewest checkpoint of run llama-3-70b-pretrain: step-0 on the file system, step-0 at {place}\n"
    assert re.search(saved, said)


def test_a_second_preview_finds_nothing_to_do(said: str) -> None:
    assert "second preview: must show no changes" in said


def test_protection_is_shown_before_anything_is_deleted(said: str) -> None:
    _, _, destroying = said.partition("\ndestroy\n")
    refusal, _, rest = destroying.partition("  refused, as on a real deployment: ")
    assert "because it is protected. To unprotect the resource, either remove the `protect` flag" in refusal
    assert not re.search(r"^  - ", refusal, re.MULTILINE), refusal
    protected = "5 resources are protected. This is the rehearsal's state: removing the protection there.\n"
    assert rest.startswith(protected)
    assert "zero left: the account is as it was before up, and no cluster\n" in rest
