"""The privileged half: it posts text, once, in the right place, and nothing that could be more than text."""

from pathlib import Path

import pytest

from review.comment import comment
from review.compared import Compared
from review.drift import drift
from review.post import DRIFT, FAILED, LIMIT, MARKER, GitHub, main, shape
from tests.review.hub import ENVIRONMENT, Hub
from tests.review.stacks import preview, stepped, told
from tests.review.test_comment import same_as_golden

GOLDEN = Path(__file__).parent / "golden"
TEXT = f"{MARKER}\n- **prod**: the same nodes\n"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    made = Hub()
    monkeypatch.setattr(GitHub, "ask", lambda self, *words: made.ask(self, *words))
    monkeypatch.setenv("GITHUB_REPOSITORY", ENVIRONMENT["GITHUB_REPOSITORY"])
    return made


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    (tmp_path / "comment.md").write_text(TEXT)
    return tmp_path


def post(folder: Path, **environment: str) -> int:
    return main(["comment", str(folder)], {**ENVIRONMENT, **environment})


def test_one_comment_edited_in_place(hub: Hub, artifact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second push changes the comment of the first, found behind a page of others."""
    hub.comments = [hub.written(f"comment {number}", "someone") for number in range(120)]
    assert post(artifact) == 0
    assert len(hub.comments) == 121
    assert capsys.readouterr().out == "url\n", "its address"
    (artifact / "comment.md").write_text(TEXT.replace("same nodes", "other nodes"))
    assert post(artifact) == 0
    assert len(hub.comments) == 121
    assert "other nodes" in hub.comments[-1]["body"]


def test_a_comment_of_somebody_else_is_left_alone(hub: Hub, artifact: Path) -> None:
    """Also one that begins with the marker: anybody can type that."""
    hub.comments = [hub.written(TEXT, "someone")]
    assert post(artifact) == 0
    assert hub.comments[0]["body"] == TEXT
    assert len(hub.comments) == 2


def test_the_last_line_says_whose_it_is(hub: Hub, artifact: Path) -> None:
    """A fork's code made a fork's comment; the repository's own needs no such word."""
    assert post(artifact) == 0
    assert "by the code of `someone/cluster`: what it says is that fork's claim." in hub.comments[0]["body"]
    assert (
        "Made of `0123456789` by [this run](https://github.com/acme/cluster/actions/runs/7)" in hub.comments[0]["body"]
    )
    assert post(artifact, HEAD_REPOSITORY="acme/cluster") == 0
    assert "claim" not in hub.comments[0]["body"]


def test_a_lab_that_a_fork_adds(hub: Hub, tmp_path: Path, accept: bool) -> None:
    """What is read below the pull request: a stack that is new as a whole, with its price, and whose word that is."""
    new = Compared(stack="lab", before=None, after=told(tmp_path, "lab"), unseen="No preview.")
    (tmp_path / "comment.md").write_text(
        comment([new], base="main (0123456789)", whole="[artifact](https://example.org)")
    )
    assert post(tmp_path) == 0
    text = hub.comments[0]["body"]
    assert text.splitlines()[1].startswith("- **lab**: new: ")
    same_as_golden("fork", text, accept)


def test_a_pull_request_that_went_on_or_is_closed_gets_nothing(
    hub: Hub, artifact: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commit is no longer the head of any that is open."""
    assert post(artifact, HEAD_SHA="f" * 40) == 0
    assert hub.comments == []
    assert "nothing is posted" in capsys.readouterr().out
    assert post(artifact, HEAD_OWNER="another") == 0
    assert hub.comments == []


def test_a_commit_whose_preview_failed_does_not_keep_the_numbers_of_an_earlier_one(hub: Hub, artifact: Path) -> None:
    """They stand below a line that says so, once however often it fails, and go when a preview succeeds again."""
    line = f"{FAILED}`0123456789`**: [its run]({ENVIRONMENT['RUN_URL']}) failed."
    assert main(["failed", "none"], ENVIRONMENT) == 0
    assert [each["body"] for each in hub.comments] == [f"{MARKER}\n{line}\n"]
    assert post(artifact) == 0
    made = hub.comments[0]["body"]
    assert made.startswith(TEXT)
    for _ in range(2):
        assert main(["failed", "none"], ENVIRONMENT) == 0
        below = made.removeprefix(f"{MARKER}\n")
        whole = f"{MARKER}\n{line} What stands below is of an earlier commit.\n\n{below}"
        assert [each["body"] for each in hub.comments] == [whole]
        assert shape(whole) == []
    hub.comments[0]["body"] = f"{MARKER}\n{'x' * (LIMIT - 100)}"
    assert main(["failed", "none"], ENVIRONMENT) == 0
    assert hub.comments[0]["body"] == f"{MARKER}\n{line}\n"
    assert main(["failed", "none"], {**ENVIRONMENT, "HEAD_SHA": "f" * 40}) == 0
    assert hub.comments[0]["body"] == f"{MARKER}\n{line}\n", "it went on, or is closed"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "its first line is not the marker"),
        (f"{TEXT}<!-- gpucluster-drift prod -->", "it hides more than the marker"),
        (f"{TEXT}{'x' * LIMIT}", "characters, and GitHub takes 65,536"),
        (f"{TEXT}<img src=x>", "it has the tag <img>"),
        (f"{TEXT}<a href=x>y</a>", "it has the tag <a>"),
        (f"{TEXT}![x](https://example.org/x.png)", "it has a picture"),
        (f"{TEXT}ask @everyone", "it mentions somebody"),
        (f"{TEXT}[approved](https://evil.example.org/)", "it links to https://evil.example.org/"),
        (f"{TEXT}\x1b[2J", "it has control characters"),
        (f"{TEXT}\u202egnp.exe", "it has control characters"),
    ],
    ids=["empty", "markers", "long", "image", "anchor", "picture", "mention", "link", "escape", "direction"],
)
def test_what_is_more_than_text_is_not_posted(
    text: str, why: str, hub: Hub, artifact: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fork writes what it likes into its artifact; refused before anything is asked of GitHub."""
    (artifact / "comment.md").write_text(text)
    assert post(artifact) == 1
    said = capsys.readouterr().out
    assert said.startswith("::error::not posted: ")
    assert why in said
    assert hub.calls == []


def test_an_artifact_that_is_none(hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Missing, a link out of the artifact, not UTF-8, or gigabytes."""
    assert post(tmp_path) == 1
    assert "the artifact holds no comment" in capsys.readouterr().out
    file = tmp_path / "comment.md"
    file.symlink_to("/etc/passwd")
    assert post(tmp_path) == 1
    assert "the artifact holds no comment" in capsys.readouterr().out
    file.unlink()
    file.write_bytes(MARKER.encode() + b"\n\xff")
    assert post(tmp_path) == 1
    assert "it is not UTF-8" in capsys.readouterr().out
    file.write_bytes(b"x" * (5 * LIMIT))
    assert post(tmp_path) == 1
    assert "bytes are no comment" in capsys.readouterr().out
    assert hub.calls == []


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.md")), ids=lambda path: path.stem)
def test_every_comment_that_is_made_may_be_posted(golden: Path, hub: Hub) -> None:
    """With the room that its last line takes."""
    text = golden.read_text().replace("https://example.org/", "https://github.com/acme/cluster/")
    assert shape(text) == []
    assert len(text) + 500 < LIMIT


def drifted(folder: Path, text: str) -> None:
    (folder / "drift-prod").mkdir(exist_ok=True)
    (folder / "drift-prod" / "prod.md").write_text(text)


def test_drift_is_one_issue_that_ends_with_it(hub: Hub, tmp_path: Path) -> None:
    """Made, edited in place, closed; the next drift is another issue."""
    seen = preview(stepped("update", "aws:eks/nodeGroup:NodeGroup", "pool-training-nodes", {"size": 7}, {"size": 8}))
    text = drift("prod", seen, "the run's artifact")
    assert text.startswith(
        f"{DRIFT.format(stack='prod')}\n`prod` is not what `Pulumi.prod.yaml` says: 1 resource would"
    )
    assert "size: 7 => 8" in text
    for _ in range(2):
        drifted(tmp_path, text)
        assert main(["drift", str(tmp_path)], ENVIRONMENT) == 0
    assert [(each["title"], each["state"]) for each in hub.issues] == [("prod has drifted", "open")]
    drifted(tmp_path, drift("prod", preview(), ""))
    assert main(["drift", str(tmp_path)], ENVIRONMENT) == 0
    assert hub.issues[0]["state"] == "closed"
    drifted(tmp_path, text)
    assert main(["drift", str(tmp_path)], ENVIRONMENT) == 0
    assert len(hub.issues) == 2


def test_what_the_poster_lacks_is_named(hub: Hub, artifact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["comment", str(artifact)], {}) == 1
    assert "the variable 'GITHUB_API_URL' is not set" in capsys.readouterr().out
    assert main(["comment"], ENVIRONMENT) == 2
