"""Dockerfiles: what the fabric of a stack's runs needs of an image, told before it is built (O01, R08)."""

from pathlib import Path

import pytest

from catalogue.image_types import ContainerImage
from catalogue.images import IMAGES, TRAINER_BASE
from planner.dockerfiles import DockerfileError, Need, instructions, last_stage, refusals
from planner.findings import Finding
from planner.image_check import main
from planner.plan import draft
from planner.rules.dockerfiles import needs
from settings.load import from_file
from tests.planner.stacks import planned, planned_metal

ROOT = Path(__file__).parents[2]
OURS = (ROOT / "images" / "trainer" / "Dockerfile").read_text(encoding="utf-8")
EFA = Need(fabric="efa", path="training.runs[0]")
INFINIBAND = Need(fabric="infiniband", path="training.runs[0]")
DIGEST = f"sha256:{'a' * 64}"
WITHOUT = f"nvcr.io/nvidia/pytorch:26.06-py3@{DIGEST}"
USER = "USER 1000:1000\n"


def said(text: str, *wanted: Need) -> list[str]:
    return refusals(text, wanted, IMAGES, {"BASE": TRAINER_BASE})


def test_ours_is_right_for_every_fabric() -> None:
    assert said(OURS, EFA, INFINIBAND, Need(fabric="roce", path="training.runs[0]")) == []


def test_a_base_without_the_plugin_is_refused_with_line_path_and_remedy() -> None:
    (sentence,) = said(f"# ours\n\nFROM {WITHOUT}\n{USER}", EFA)
    assert sentence.startswith(f"3: {WITHOUT} lacks aws-ofi-nccl, which training.runs[0] needs on efa; ")
    assert "./efa_installer.sh -y -g --skip-kmod" in sentence
    assert TRAINER_BASE in sentence
    assert said(f"FROM {WITHOUT}\n{USER}") == []


def test_looking_for_the_plugin_does_not_bring_it() -> None:
    """The check ends a build that cannot be right: it is told before."""
    assert len(said(f"FROM {WITHOUT}\nRUN bash /mnt/fabric.sh efa\n{USER}", EFA)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "RUN curl -O x && \\\n    # the installer\n    ./efa_installer.sh -y -g --skip-kmod\n",
        "RUN <<END\napt-get update\n./efa_installer.sh -y -g --skip-kmod\nEND\n",
    ],
    ids=["continued", "heredoc"],
)
def test_the_remedy_is_accepted(text: str) -> None:
    assert said(f"FROM {WITHOUT}\n{text}{USER}", EFA) == []


def test_what_a_stage_below_installs_counts_and_what_another_does_not() -> None:
    below = f"FROM {WITHOUT} AS base\nRUN ./efa_installer.sh -y -g --skip-kmod\n"
    assert said(f"{below}FROM base\n{USER}", EFA) == []
    (sentence,) = said(f"{below}FROM {WITHOUT}\nCOPY --from=base /a /a\n{USER}", EFA)
    assert sentence.startswith("3: ")


def test_of_an_unknown_base_the_build_has_to_look() -> None:
    unknown = f"FROM registry.example.com/ml/base:1@{DIGEST}\n"
    for need, what in ((EFA, "aws-ofi-nccl"), (INFINIBAND, "libibverbs")):
        (sentence,) = said(f"{unknown}{USER}", need)
        assert f"is not known to have {what}" in sentence
        assert said(f"{unknown}RUN bash /mnt/fabric.sh {need.fabric}\n{USER}", need) == []


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("FROM pytorch/pytorch:2.11.0\nUSER 1000\n", "1: pytorch/pytorch:2.11.0 has no digest"),
        (f"FROM {WITHOUT}\n", "1: the image runs as root; end it with USER 1000:1000"),
        (f"FROM {WITHOUT}\nUSER 1000\nUSER root:root\n", "3: the image runs as root"),
        (f"FROM {WITHOUT}\nRUN pip install torchdata\n{USER}", "2: pip installs what the index has that day"),
    ],
    ids=["tag", "no-user", "root-again", "packages"],
)
def test_what_else_is_refused(text: str, beginning: str) -> None:
    (sentence,) = said(text)
    assert sentence.startswith(beginning)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "1: there is no FROM"),
        ("RUN true\n", "1: RUN stands before FROM"),
        ("ARG X\nFROM ${X}\n", "2: ${X} has no"),
    ],
    ids=["empty", "early", "argument"],
)
def test_what_is_no_dockerfile_is_told_by_its_line(text: str, where: str) -> None:
    with pytest.raises(DockerfileError, match="^" + where.replace("$", r"\$").replace("{", r"\{")):
        last_stage(text, {})


def test_lines_are_those_of_the_file() -> None:
    found = list(instructions("# a\nFROM x \\\n  AS y\n\nRUN a && \\\n# between\n  b\nUSER 7\n"))
    assert [(each.line, each.name, each.words.split()) for each in found] == [
        (2, "FROM", ["x", "AS", "y"]),
        (5, "RUN", ["a", "&&", "b"]),
        (8, "USER", ["7"]),
    ]


def test_the_fabric_is_that_of_the_pools_that_runs_are_on() -> None:
    assert [each.fabric for each in needs(draft(from_file(ROOT / "Pulumi.prod.yaml")))] == ["efa"]
    assert [each.fabric for each in needs(draft(from_file(ROOT / "Pulumi.metal.yaml")))] == ["infiniband"]


def test_the_command_refuses_with_the_file_and_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["--stack", "prod"]) == 0
    bad = tmp_path / "Dockerfile"
    bad.write_text(f"FROM {WITHOUT}\n{USER}")
    assert main(["--stack", "prod", str(bad)]) == 1
    assert capsys.readouterr().err.startswith(f"{bad}:1: {WITHOUT} lacks aws-ofi-nccl")
    assert main(["--stack", "prod", str(tmp_path / "none")]) == 2


def test_the_base_has_the_plugin_and_is_built_on_by_digest_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planner.image_check.DIGESTS", {})
    assert main(["--base"]) == 1
    assert "make pin-images" in capsys.readouterr().err
    monkeypatch.setattr("planner.image_check.DIGESTS", {TRAINER_BASE: DIGEST})
    assert main(["--base"]) == 0
    assert capsys.readouterr().out == f"{TRAINER_BASE}@{DIGEST}\n"


def of_file(text: str, where: Path, monkeypatch: pytest.MonkeyPatch, **row: object) -> list[Finding]:
    """What a plan of the dev stack says of images, whose trainer is built from this Dockerfile."""
    (where / "ours").mkdir(exist_ok=True)
    (where / "ours" / "Dockerfile").write_text(text)
    monkeypatch.chdir(where)
    own = {"name": "team/trainer", "dockerfile": "ours/Dockerfile", "source": "ours", **row}
    found = planned(changes={"training.runs.0.image": "team/trainer:1", "catalogue.images": [own]}).findings
    return [each for each in found if each.rule.startswith(("image-", "dockerfile-")) and each.waiver is None]


def test_a_preview_refuses_a_dockerfile_without_the_plugin_lf04(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though its row says that it is like an image that has it: path, line and remedy."""
    like = {"like": "nvcr.io/nvidia/pytorch:26.03..26.03"}
    (found,) = of_file(f"# ours\nFROM {WITHOUT}\n{USER}", tmp_path, monkeypatch, **like)
    assert (found.rule, found.path) == ("dockerfile-without-fabric", "gpucluster:catalogue.images[0].dockerfile")
    assert found.sentence.startswith(f"ours/Dockerfile:2: {WITHOUT[:20]}")
    assert "lacks aws-ofi-nccl, which training.runs[0] needs on efa" in found.sentence
    assert found.remedy.startswith("RUN ./efa_installer.sh -y -g --skip-kmod")
    assert (found.subject, found.severity) == ("team/trainer", "error")
    assert of_file(f"FROM {WITHOUT}\nRUN ./efa_installer.sh -y -g\n{USER}", tmp_path, monkeypatch, **like) == []


def test_a_dockerfile_that_brings_the_plugin_is_proof_enough_lf04(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has to say netPlugin besides; ours is one."""
    assert of_file(f"FROM {WITHOUT}\nRUN ./efa_installer.sh -y -g\n{USER}", tmp_path, monkeypatch) == []
    assert of_file(OURS, tmp_path, monkeypatch) == []


@pytest.mark.parametrize(
    ("text", "sentence", "remedy"),
    [
        ("RUN true\n", "ours/Dockerfile:1: RUN stands before FROM", "correct the file"),
        ("", "ours/Dockerfile:1: there is no FROM", "correct the file"),
    ],
)
def test_what_is_no_dockerfile_is_refused(
    text: str, sentence: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = of_file(text, tmp_path, monkeypatch)
    assert (found.sentence, found.remedy) == (sentence, remedy)


def test_a_dockerfile_that_is_not_there_or_not_ours_to_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = of_file(OURS, tmp_path, monkeypatch, dockerfile="ours/Containerfile")
    assert found.sentence == "ours/Containerfile cannot be read (No such file or directory)"
    (tmp_path / "ours" / "binary").write_bytes(b"\xff\xfe")
    (found,) = of_file(OURS, tmp_path, monkeypatch, dockerfile="ours/binary")
    assert found.sentence == "ours/binary cannot be read (it is no text)"
    for outside in ("/etc/passwd", "../Dockerfile", "a/../../b"):
        with pytest.raises(ValueError, match="is not below the directory of the stack file"):
            ContainerImage(name="a", dockerfile=outside, source="x")


def test_runs_of_other_images_and_of_one_node_ask_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM {WITHOUT}\n{USER}")
    monkeypatch.chdir(tmp_path)
    row = {"name": "team/other", "dockerfile": "Dockerfile", "source": "ours"}
    mine = {"name": "team/trainer", "dockerfile": "Dockerfile", "source": "ours"}
    alone = {"training.runs.0.image": "team/trainer:1", "training.runs.0.nodes": 1}
    for changes in ({"catalogue.images": [row]}, {"catalogue.images": [mine], **alone}):
        assert "dockerfile-without-fabric" not in {each.rule for each in planned(changes=changes).findings}


def test_a_stack_on_premises_needs_its_own_fabric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM registry.example.com/ml/base:1@{DIGEST}\n{USER}")
    monkeypatch.chdir(tmp_path)
    own = {"name": "team/trainer", "dockerfile": "Dockerfile", "source": "ours"}
    changes = {"training.runs.0.image": "team/trainer:1", "catalogue.images": [own]}
    (found,) = (each for each in planned_metal(changes=changes).findings if each.rule == "dockerfile-without-fabric")
    assert "is not known to have libibverbs, which training.runs[0] needs on infiniband" in found.sentence
