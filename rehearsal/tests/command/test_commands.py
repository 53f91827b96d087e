"""The commands as a person runs them, on a small stack without a cluster (N01-N03, Q02, Q06)."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal import sites
from rehearsal.tests.command.trial import PATIENCE, PROGRAM, Trial, creating, kill_engine, small, throttle, until

pytestmark = [pytest.mark.engine, pytest.mark.apart]


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    made = small(tmp_path)
    yield made
    made.end("dev", "other")


def test_up_shows_a_table_and_down_of_a_protected_stack_shows_the_refusal(trial: Trial) -> None:
    status, said = trial.run("up", "-v")
    assert status == 0, said
    for words in ("trial:token", "2 objects in s3://models/llama", "aws:ec2:Subnet", "create", "peak memory"):
        assert words in said
    before = {path: path.read_bytes() for path in trial.root.iterdir() if path.is_file()}
    status, said = trial.run("preview")
    assert (status, "unchanged" in said) == (0, True), said
    assert trial.run("status")[0] == 0
    running = sites.status(trial.site().path).site
    assert running is not None
    running.account.client("s3", "eu-west-1").put_object(Bucket="trial-dev", Key="step-0/SHA256SUMS", Body=b"")
    status, said = trial.run("down")
    assert status == 0, said
    assert "cannot be deleted" in said
    assert "and what bucket trial-dev holds, which AWS does not delete with it" in said
    refusal = "refused, as on a real deployment: 1 resources are protected"
    assert refusal in said
    assert "  - aws:" not in said.partition(refusal)[0], "something was deleted before the refusal"
    assert "zero left" in said
    assert trial.nothing_left()
    assert {path: path.read_bytes() for path in trial.root.iterdir() if path.is_file()} == before


def test_an_interrupted_up_leaves_nothing_running(trial: Trial) -> None:
    process = trial.start("up")
    until(creating(trial, "vpc", process), "the update to begin")
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 130, said
    assert "nothing is left running" in said
    assert trial.nothing_left()


def test_a_killed_engine_is_recovered_by_the_next_up(trial: Trial) -> None:
    assert trial.run("up")[0] == 0
    (trial.root / "__main__.py").write_text(PROGRAM.replace('"ab"', '"abc"'))
    throttle(trial, "CreateSubnet")
    process = trial.start("up")
    until(creating(trial, "c", process), "the third subnet")
    until(lambda: kill_engine(trial) > 0, "an engine to kill")
    said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 1
    assert "was killed" in said
    status, said = trial.run("up")
    assert status == 0, said
    assert "recover: the engine was killed" in said
    status, said = trial.run("down")
    assert (status, "zero left" in said) == (0, True), said


@pytest.mark.scale
def test_two_rehearsals_run_side_by_side(trial: Trial) -> None:
    first, second = trial.start("up", "--stack", "dev"), trial.start("up", "--stack", "other")
    said = [process.communicate(timeout=PATIENCE)[0] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], said
    assert trial.record("dev")["cloud"]["url"] != trial.record("other")["cloud"]["url"]
    assert trial.run("down", "--stack", "dev")[0] == 0
    assert trial.run("status", "--stack", "other")[0] == 0


@pytest.mark.scale
def test_a_preview_against_a_revision_shows_only_the_difference(trial: Trial) -> None:
    git = ["git", "-C", str(trial.root), "-c", "user.name=n", "-c", "user.email=e@example.com"]
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "one"]):
        subprocess.run([*git, *words], check=True)
    (trial.root / "__main__.py").write_text(PROGRAM.replace('"ab"', '"abc"'))
    tree = trial.root.parent / "base"
    subprocess.run([*git, "worktree", "add", "--quiet", "--detach", str(tree)], check=True)
    for shared in ((), ("--base-tree", str(tree))):
        status, said = trial.run("preview", "--base", "HEAD", *shared)
        assert status == 0, said
        assert "+ aws:ec2/subnet:Subnet: (create)" in said
        assert "create 1, same 6" in said
        assert not trial.processes()
    status, said = trial.run("preview", "--base", "HEAD", "--base-tree", str(tree / "nowhere"))
    assert (status, "has no Pulumi.yaml; leave out --base-tree" in said) == (1, True), said


def test_rehearse_says_when_a_second_preview_is_not_quiet(trial: Trial) -> None:
    noisy = PROGRAM.replace('{"Name": "vpc"}', '{"Name": "vpc", "now": str(time.time())}')
    (trial.root / "__main__.py").write_text("import time\n" + noisy)
    status, said = trial.run("rehearse")
    assert status == 1
    assert "the second preview shows changes: update aws:ec2/vpc:Vpc vpc" in said
    assert "zero left" in said
    assert not trial.processes()
