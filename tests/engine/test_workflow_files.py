"""The workflow files by actionlint, which knows GitHub's syntax, contexts, events and rights."""

import shutil
import subprocess
from pathlib import Path

import pytest

from rehearsal.toolchain import go

from .trees import ROOT

pytestmark = pytest.mark.engine

WORKFLOWS = ROOT / ".github" / "workflows"
MODULE = ROOT / ".github" / "actionlint"
"""Its version, with the hashes of everything it is built from."""
OFF = ("-shellcheck=", "-pyflakes=")
"""Programs that actionlint asks where a machine has them; what they say would differ from machine to machine."""


@pytest.fixture(scope="module")
def builder() -> go.Go:
    return go.find(lambda _: None)


def linted(builder: go.Go, *files: Path) -> subprocess.CompletedProcess[str]:
    words = [str(builder.binary), "-C", str(MODULE), "tool", "actionlint", "-no-color", *OFF, *map(str, files)]
    return subprocess.run(words, env=builder.env, capture_output=True, text=True, check=False)


def test_every_workflow_is_one_that_github_takes(builder: go.Go) -> None:
    files = sorted(WORKFLOWS.glob("*.yml"))
    done = linted(builder, *files)
    assert (done.returncode, done.stdout) == (0, "")
    assert len(files) == 8


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("runs-on:", "run-on:", '"runs-on" section is missing'),
        ("contents: read", "content: read", "unknown permission scope"),
        ("github.event.pull_request.base.sha", "github.evnt.pull_request.base.sha", "is not defined in object type"),
    ],
    ids=["key", "right", "context"],
)
def test_a_wrong_workflow_is_told_of(old: str, new: str, said: str, builder: go.Go, tmp_path: Path) -> None:
    file = tmp_path / "preview.yml"
    shutil.copyfile(WORKFLOWS / "preview.yml", file)
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    done = linted(builder, file)
    assert done.returncode == 1
    assert said in done.stdout
