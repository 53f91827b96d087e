"""`python -m review` and `python -m planner --base` in a repository: which stacks, against what, and bad input."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from planner.__main__ import main as plan
from planner.faces.revision import checked_out
from rehearsal.command.difference import checkout
from review import rehearsed
from review.__main__ import main as review
from review.changed import changed_stacks
from tests.review.stacks import stack_text
from tests.typed import handed

ROOT = Path(__file__).parents[2]
PARTS = ("catalogue", "monitoring", "planner", "settings")
"""What the base's own planner is made of."""


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", "-C", str(root), *who, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the planner and two stacks on its branch `main`."""
    root = tmp_path_factory.mktemp("repository")
    for name in PARTS:
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    for stack in ("dev", "lab"):
        (root / f"Pulumi.{stack}.yaml").write_text(stack_text(stack))
    (root / ".gitignore").write_text("__pycache__\n")
    (root / "README.md").write_text("read\n")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "base")
    return root


@pytest.fixture
def repository(committed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The repository on a branch of its own; everything is taken back."""
    monkeypatch.chdir(committed)
    git(committed, "checkout", "--quiet", "-B", "change", "main")
    yield committed
    git(committed, "reset", "--quiet", "--hard")
    git(committed, "clean", "--quiet", "-fd")


def commented(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    """What the command prints; where it is refused, its sentence."""
    assert review([*arguments, "--plan-only"]) == status
    shown = capsys.readouterr()
    return shown.err if status else shown.out


def test_a_changed_stack_file_is_that_stack(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also before it is committed; what came to main meanwhile is no change of the branch's."""
    (repository / "Pulumi.dev.yaml").write_text(stack_text("dev", {"pools.0.count": 3}))
    git(repository, "checkout", "--quiet", "-B", "later", "main")
    (repository / "Pulumi.lab.yaml").write_text(stack_text("lab", {"lifecycle.owner": "somebody"}))
    git(repository, "commit", "--quiet", "--message", "meanwhile", "Pulumi.lab.yaml")
    git(repository, "checkout", "--quiet", "change")
    decisions = [line for line in commented(capsys, "--base", "later").splitlines() if line.startswith("- **")]
    assert decisions == [
        "- **dev**: +1 m7i.xlarge, +USD 0.24/h, replacements not checked, no new warning",
    ]


@pytest.mark.parametrize("code", ["components/new.py", "node/keeper/new.py"])
def test_a_page_changes_no_stack_and_code_every_one(
    code: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "README.md").write_text("read this\n")
    assert "No stack changes against `main" in commented(capsys, "--base", "main")
    (repository / code).parent.mkdir(parents=True)
    (repository / code).write_text("")
    decisions = [line for line in commented(capsys, "--base", "main").splitlines() if line.startswith("- **")]
    assert [line.partition(":")[0] for line in decisions] == ["- **dev**", "- **lab**"]


def test_a_file_that_a_stack_names_changes_that_stack(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A compiled pipeline or a Dockerfile, by its whole path; the word alone is in other values too."""
    stack = repository / "Pulumi.lab.yaml"
    stack.write_text(stack_text("lab", {"lifecycle.owner": "ours/Dockerfile"}))
    git(repository, "commit", "--quiet", "--message", "a name", "Pulumi.lab.yaml")
    (repository / "ours").mkdir()
    (repository / "ours" / "Dockerfile.other").write_text("")
    (repository / "Dockerfile").write_text("")
    assert "No stack changes" in commented(capsys, "--base", "HEAD")
    (repository / "ours" / "Dockerfile").write_text("FROM scratch\n")
    assert changed_stacks(repository, "HEAD") == ["lab"]


def test_five_stacks_share_one_base(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One checkout and one run of the base's planner, whatever the number of stacks; it is there until the last."""
    names = ["dev", "lab", "one", "three", "two"]
    for name in names[2:]:
        (repository / f"Pulumi.{name}.yaml").write_text(stack_text("lab"))
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "five")
    (repository / "planner" / "new.py").write_text((repository / "planner" / "new.py").read_text() + "\n")
    archives: list[Sequence[str]] = []
    planners: list[Sequence[str]] = []
    previews: list[tuple[str, Path]] = []
    run = subprocess.run

    def counted(words: Sequence[str], **how: Any) -> Any:
        archives.extend([words] if "archive" in words else [])
        planners.extend([words] if "-" in words else [])
        return run(words, **how)

    def preview(words: Sequence[str], _: Path) -> subprocess.CompletedProcess[str]:
        tree = Path(words[words.index("--base-tree") + 1])
        assert (tree / "Pulumi.two.yaml").is_file()
        previews.append((words[words.index("--stack") + 1], tree))
        return subprocess.CompletedProcess(words, 1, "", "error: none here")

    monkeypatch.setattr(subprocess, "run", counted)
    monkeypatch.setattr(rehearsed, "_run", preview)
    assert review(["--base", "HEAD"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("<!-- gpucluster-review -->\n- **dev**"), "progress goes elsewhere"
    assert said.err.startswith("previewing dev\n")
    assert (len(archives), len(planners)) == (1, 1)
    assert [name for name, _ in previews] == names
    (tree,) = {tree for _, tree in previews}
    assert not tree.exists()


def test_the_base_is_planned_by_its_own_code(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A price that the branch changes in the catalogue is a change of the stack; here the base's is another one."""
    git(repository, "checkout", "--quiet", "-B", "cheaper", "main")
    file = repository / "planner" / "faces" / "outputs.py"
    file.write_text(file.read_text().replace('"hourly": prices.hourly,', '"hourly": prices.hourly - 1,'))
    git(repository, "commit", "--quiet", "--all", "--message", "cheaper")
    git(repository, "checkout", "--quiet", "-B", "dearer", "cheaper")
    git(repository, "checkout", "--quiet", "main", "--", "planner")
    assert "| `priceUsd.hourly` |" in commented(capsys, "--base", "cheaper", "--stack", "lab")
    assert plan(["--stack", "lab", "--base", "cheaper"]) == 0
    shown = capsys.readouterr().out
    assert "lab against cheaper" in shown
    assert "+1" in next(line for line in shown.splitlines() if "priceUsd.hourly " in line)


def test_a_base_with_links_that_lead_out_of_it_is_planned_without_them(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Links within the tree stay; a stack file that is a link to elsewhere is not the revision's."""
    git(repository, "checkout", "--quiet", "-B", "linked", "main")
    (tmp_path / "secret").write_text("not the repository's")
    for name, target in {
        "outside": tmp_path / "secret",
        "above": Path("../../elsewhere"),
        "within": Path("Pulumi.dev.yaml"),
        "Pulumi.lent.yaml": tmp_path / "secret",
    }.items():
        (repository / name).symlink_to(target)
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "links")
    assert plan(["--stack", "dev", "--base", "linked"]) == 0
    assert "dev against linked" in capsys.readouterr().out
    for tree in (checked_out(repository, "linked"), nullcontext(checkout(repository, "linked", tmp_path / "tree"))):
        with tree as there:
            assert (there / "within").resolve() == (there / "Pulumi.dev.yaml").resolve()
            assert not any((there / name).is_symlink() for name in ("outside", "above", "Pulumi.lent.yaml"))


def test_files_are_written_beside(repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Anew over those of the last time."""
    out = tmp_path / "build" / "review"
    for _ in range(2):
        text = commented(capsys, "--base", "main", "--stack", "dev", "--out", str(out))
    assert (out / "comment.md").read_text() == text
    assert (out / "dev.diff").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "error: there is nothing to compare with: name a revision, such as `make review BASE=main`"),
        (["--base", "nosuch"], "error: BASE=nosuch is no revision of this repository: fetch it (`git fetch origin nos"),
        (["--base=--output=x"], "error: BASE=--output=x is not a revision; type a branch, a tag or a commit, such as"),
        (["--base", "main", "--stack", "deb"], "error: Pulumi.deb.yaml is neither in this tree nor in main, so there "),
    ],
    ids=["none", "unknown", "option", "stack"],
)
def test_what_cannot_be_compared(
    arguments: list[str], said: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence with what to type, and status 2."""
    assert commented(capsys, *arguments, status=2).startswith(said)


def test_histories_without_a_common_commit(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a shallow clone has them."""
    git(repository, "checkout", "--quiet", "--orphan", "alone")
    git(repository, "commit", "--quiet", "--message", "alone")
    assert "type `git fetch --unshallow`" in commented(capsys, "--base", "main", status=2)


def test_a_stack_file_that_only_the_tree_has(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a fork's: new in a comment, and a plan has nothing to compare it with."""
    (repository / "Pulumi.fork.yaml").write_text(stack_text("lab"))
    text = commented(capsys, "--base", "main")
    assert text.splitlines()[1].startswith("- **fork**: new: ")
    assert "The base has no `Pulumi.fork.yaml`: everything is new." in text
    assert plan(["--stack", "fork", "--base", "main"]) == 2
    said = "Pulumi.fork.yaml is not in main: everything in it is new; `make plan STACK=fork` shows the whole plan\n"
    assert capsys.readouterr().err == said


def test_a_stack_file_that_is_removed(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "Pulumi.lab.yaml").unlink()
    assert "- **lab**: its stack file is removed" in commented(capsys, "--base", "main")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--preset", "mid", "--base", "main"], "name a stack: make plan STACK=dev BASE=main"),
        (["--stack", "dev", "--base", "main", "--against", "lab"], "BASE=main and AGAINST are two questions"),
        (["--stack", "dev", "--base", "main", "--format", "csv"], "BASE=main and FORMAT=csv are two questions"),
        (["--stack", "dev", "--base", "nosuch"], "BASE=nosuch is no revision of this repository"),
    ],
    ids=["preset", "against", "csv", "unknown"],
)
def test_plans_that_cannot_be_compared(
    arguments: list[str], said: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan(arguments) == 2
    assert said in capsys.readouterr().err


def test_make_passes_the_base_on() -> None:
    """BASE reaches both commands; STACK is the person's, not the default."""
    planned, reviewed = handed("make plan review BASE=main")
    assert planned[:4] == ["-m", "planner", "--stack", "dev"]
    assert planned[-2:] == ["--base", "main"]
    assert reviewed == ["-m", "review", "--base", "main"]
    assert handed("make review STACK=prod") == [["-m", "review", "--stack", "prod"]]
