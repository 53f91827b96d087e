"""What the commands ask of git, of the rehearsal and of GitHub, and what they say: word for word."""

import io
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from planner.faces.revision import RevisionError, Told
from review import __main__ as command
from review.compared import Compared
from review.over import over
from review.post import GitHub, RefusedError
from review.rehearsed import previewed
from review.words import code, counted, gain, usd, value
from review.words import step as gained
from settings.model import Settings
from tests.planner.stacks import changed
from tests.review.hub import SHA
from tests.review.test_over import NOW, PASSED, TO_COME, Nobody, lab
from tests.sweep.test_extend import Told as Kept

HUB = GitHub(url="https://api.example.org", repository="acme/cluster", token="a-token")
UNKEPT = "it has no keeper in the account, and "
STACK = Compared(stack="dev", before=Told(), after=Told(), unseen="not yet")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Requests that are sent, with their patience; each is answered with two entries."""
    found: list[Any] = []

    def urlopen(request: Any, *, timeout: float) -> Any:
        found.append((request, timeout))
        return io.BytesIO(b'[{"id": 1}, {"id": 2}]')

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return found


def test_github_is_asked_as_its_api_wants_it(sent: list[Any]) -> None:
    """Media type, token and version are headers (docs.github.com, "Getting started with the REST API")."""
    assert HUB.ask("PATCH", "issues/comments/7", {"body": "é"}) == [{"id": 1}, {"id": 2}]
    ((request, seconds),) = sent
    assert (request.full_url, request.method) == (
        "https://api.example.org/repos/acme/cluster/issues/comments/7",
        "PATCH",
    )
    assert (json.loads(request.data), seconds) == ({"body": "é"}, 30)
    assert dict(request.header_items()) == {
        "Accept": "application/vnd.github+json",
        "Authorization": "Bearer a-token",
        "X-github-api-version": "2022-11-28",
    }
    HUB.ask("GET", "pulls")
    assert sent[-1][0].data is None


def test_a_list_is_read_page_by_page_and_a_branch_is_quoted(sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A branch has slashes, and may have an `&`."""
    assert [each["id"] for each in HUB.all("issues/5/comments")] == [1, 2]
    assert sent[-1][0].full_url.endswith("/issues/5/comments?per_page=100&page=1")
    asked: list[str] = []
    monkeypatch.setattr(GitHub, "all", lambda _, path: asked.append(path) or [{"number": 5, "head": {"sha": SHA}}])  # type: ignore[func-returns-value]
    assert HUB.pulls("someone", "feature/a&b", SHA) == [5]
    assert HUB.pulls("someone", "x", "f" * 40) == []
    assert asked[0] == "pulls?state=open&head=someone%3Afeature%2Fa%26b"


def test_a_list_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[str] = []
    full = [{"id": 0}] * 100
    monkeypatch.setattr(GitHub, "ask", lambda _, __, path: pages.append(path) or full)  # type: ignore[func-returns-value]
    assert len(list(HUB.all("issues?state=open"))) == 3_000
    assert (pages[0], pages[-1]) == tuple(f"issues?state=open&per_page=100&page={each}" for each in (1, 30))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (urllib.error.HTTPError("u", 403, "Forbidden", Message(), None), "GitHub answers 403 to GET pulls: Forbidden"),
        (urllib.error.URLError("no route"), "GitHub does not answer at https://api.example.org: <urlopen error no rou"),
        (TimeoutError("timed out"), "GitHub does not answer at https://api.example.org: timed out"),
    ],
    ids=["refused", "away", "slow"],
)
def test_what_github_does_not_do_is_said(error: Exception, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def urlopen(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    with pytest.raises(RefusedError) as caught:
        HUB.ask("GET", "pulls")
    assert str(caught.value).startswith(said)


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """A repository in which `dev` changes and `lab` is gone; notes what is asked of it."""
    asked: list[Any] = []

    @contextmanager
    def checked_out(root: Path, revision: str) -> Iterator[Path]:
        asked.append(("tree", root, revision))
        yield tmp_path / "tree"

    def told_at(root: Path, there: Path, files: Sequence[str], revision: str) -> dict[str, Told]:
        asked.append(("told", root, there, list(files), revision))
        return {"Pulumi.dev.yaml": Told(usd_per_hour=1), "Pulumi.lab.yaml": Told()}

    monkeypatch.setattr(command, "checked_out", checked_out)
    monkeypatch.setattr(command, "fork_point", lambda _, base: f"{base}-0123456789")
    monkeypatch.setattr(command, "asked", lambda _, __, stacks, base: asked.append(("asked", base)) or stacks)  # type: ignore[func-returns-value]
    monkeypatch.setattr(command, "changed_stacks", lambda _, base: asked.append(("changed", base)) or ["dev", "lab"])  # type: ignore[func-returns-value]
    monkeypatch.setattr(command, "told_at", told_at)
    monkeypatch.setattr(command, "told_here", lambda _: Told(usd_per_hour=3))
    (tmp_path / "Pulumi.dev.yaml").touch()
    monkeypatch.chdir(tmp_path)
    return asked


PLAN_ONLY = "Compared by plan only: a preview also shows what is replaced and which workloads restart."


def test_a_comment_by_plan_alone_says_so_and_is_written_beside(
    tree: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--base", "main", "--plan-only", "--out", "out"]) == 0
    shown = capsys.readouterr()
    assert shown.out == (
        "<!-- gpucluster-review -->\n"
        "- **dev**: the same nodes, +USD 2.00/h, replacements not checked, no new warning\n"
        "- **lab**: its stack file is removed: its resources stay, and cost money, until `pulumi destroy`\n"
        f"\nCompared with `main (main-01234)`. {PLAN_ONLY}\n"
    )
    assert shown.err == ""
    assert {each.name: each.read_text() for each in (tmp_path / "out").iterdir()} == {
        "comment.md": shown.out,
        "dev.diff": f"{PLAN_ONLY}\n",
        "lab.diff": f"{PLAN_ONLY}\n",
    }
    base, files = "main-0123456789", ["Pulumi.dev.yaml", "Pulumi.lab.yaml"]
    told = ("told", Path(), tmp_path / "tree", files, base)
    assert tree == [("tree", Path(), base), ("asked", "main"), ("changed", base), told]


def test_stacks_are_previewed_one_after_the_other_against_the_tree_of_the_base(
    tree: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that are named alone; progress goes beside the comment."""
    seen: list[Any] = []

    def preview(root: Path, stack: Compared, base: str, there: Path, say: Any) -> Compared:
        seen.append((root, stack.stack, base, there))
        say(f"previewing {stack.stack}")
        return replace(stack, unseen="It cannot be seen.")

    monkeypatch.setattr(command, "previewed", preview)
    words = ["--base", "main", "--stack", "dev", "--stack", "dev", "--whole", "[all](x)", "--root", str(tmp_path)]
    assert command.main(words) == 0
    assert seen == [(tmp_path, "dev", "main-0123456789", tmp_path / "tree")]
    shown = capsys.readouterr()
    assert shown.err == "previewing dev\n"
    assert shown.out.splitlines()[-1] == "Compared with `main (main-01234)`. It cannot be seen."
    assert "changed" not in [what for what, *_ in tree]


def test_what_is_refused_is_one_sentence(
    tree: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([]) == 2
    said = "there is nothing to compare with: name a revision, such as `make review BASE=main`"
    assert capsys.readouterr() == ("", f"error: {said}\n")

    def refuse(*_: Any) -> Any:
        raise RevisionError("no such thing")

    monkeypatch.setattr(command, "fork_point", refuse)
    assert command.main(["--base", "x"]) == 2
    assert capsys.readouterr() == ("", "error: no such thing\n")
    assert tree == []


def test_a_rehearsal_is_run_as_a_person_runs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In the tree, with an hour's patience; what it complained of last is why there is no preview."""
    ran: list[Any] = []
    answers = iter([("", "one\n\nerror: the disk is full\n \n"), ("said here\n", ""), ("", "")])

    def run(words: Sequence[str], **how: Any) -> subprocess.CompletedProcess[str]:
        ran.append((words, how))
        return subprocess.CompletedProcess(words, 7, *next(answers))

    monkeypatch.setattr(subprocess, "run", run)
    said: list[str] = []
    whys = [previewed(tmp_path, STACK, "0123", Path("/base"), said.append).unseen for _ in range(3)]
    reasons = ("the disk is full", "said here", "the rehearsal ended with status 7")
    assert whys == [f"There is no preview: {each}" for each in reasons]
    words, how = ran[0]
    log = words[words.index("--events") + 1]
    asked = ["-m", "rehearsal", "preview", "--stack", "dev", "--base", "0123", "--base-tree", "/base", "--events", log]
    assert words == [sys.executable, *asked]
    assert how == {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 3600, "check": False}
    assert said[:2] == ["previewing dev", "previewed dev in 0 s"]


@pytest.mark.parametrize(
    ("stack", "why"),
    [
        (replace(STACK, after=None), "A stack without a file is not previewed."),
        (replace(STACK, after=Told(problems=("x",))), "A stack that is refused is not previewed."),
        (
            replace(STACK, before=Told(problems=("x",))),
            "The base itself is refused, so there is nothing to preview against.",
        ),
    ],
    ids=["gone", "refused", "base"],
)
def test_why_a_stack_is_not_previewed(stack: Compared, why: str, tmp_path: Path) -> None:
    assert previewed(tmp_path, stack, "0123", tmp_path, print).unseen == why


@pytest.mark.parametrize(
    ("settings", "account", "answer"),
    [
        (lab(), Kept(TO_COME, '{"stopped": "spent"}'), (True, "it was stopped (spent)")),
        (lab(), Kept("never", "{}"), (False, "its keeper was told of no end")),
        (lab(), Kept(PASSED, "{}"), (True, "it ends at 2026-11-23 15:59 UTC")),
        (lab(), Nobody("ParameterNotFound"), (True, f"{UNKEPT}ends at 2026-11-23 16:00 UTC by its file")),
        (changed("metal", {}), Nobody(), (False, "it is not on AWS")),
        (changed("prod", {}), Nobody(), (False, "its file protects it")),
        (changed("lab", {"keeper": None}), Nobody(), (False, "its file has no keeper that ends it")),
    ],
    ids=["stopped", "endless", "ended", "none", "racks", "protected", "unkept"],
)  # fmt: skip
def test_why_a_stack_is_over_or_is_not(settings: Settings, account: Any, answer: tuple[bool, str]) -> None:
    assert over(settings, account, "gpucluster", "lab", NOW) == answer


def test_numbers_and_money_as_a_reviewer_reads_them() -> None:
    assert [usd(each) for each in (0.5, 9.994, 9.995, 1234.5)] == ["USD 0.50", "USD 9.99", "USD 10", "USD 1,234"]
    assert [gain(each, "/h") for each in (0.004, -0.004, 2, -2000)] == [
        *("same price", "same price", "+USD 2.00/h", "-USD 2,000/h")
    ]
    told = (None, True, "a|b", 1234, 1234.25, [1, 2.5], 1e9)
    assert [value(each) for each in told] == [*("", "True", "a\\|b", "1,234", "1,234.25", "1 to 2.5", "1,000,000,000")]
    steps = ((None, 1), (1, None), ("a", "b"), (True, False), (1, 3.5), (3000, 1))
    assert [gained(*each) for each in steps] == ["new", "gone", "", "", "+2.5", "-2,999"]
    assert [counted(each, "node") for each in (0, 1, 2, 1000)] == ["no node", "1 node", "2 nodes", "1,000 nodes"]
    assert [code(each) for each in ("", "a |\n b", "a`b")] == ["", "`a \\| b`", "`` a`b ``"]
