"""The rounds of the process that copies saves: how it ends, and what each of its parts does."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import copying
import pytest
import saves
import sealing
import stage

from tests.node.test_saves import save

Rounds = Callable[..., int]


@pytest.fixture
def rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rounds:
    """Its exit status after so many rounds, the last of which comes after SIGTERM."""
    (tmp_path / "local").mkdir()
    (tmp_path / "shared").mkdir()

    def begin(*words: str, many: int = 1) -> int:
        left = [many]

        def wait(*_: object) -> bool:
            left[0] -= 1
            return left[0] == 0

        monkeypatch.setattr(copying, "_wait", wait)
        common = [f"--shared={tmp_path / 'shared'}", "--every-seconds=60", "--keep=2", "--parts=1"]
        return copying.main([*common, *words])

    return begin


def test_a_round_that_fails_is_said_and_the_last_one_decides_how_it_ends(
    rounds: Rounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    local = f"--local={tmp_path / 'local'}"
    save(tmp_path / "local", 1)
    real, failing = copying.once, [True, False]

    def once(*args: Any, **more: Any) -> list[str]:
        if failing.pop(0):
            raise OSError(28, "No space left on device")
        return real(*args, **more)

    monkeypatch.setattr(copying, "once", once)
    assert rounds(local, many=2) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "not copied: [Errno 28] No space left on device"
    assert said[1].startswith(f"copied {tmp_path / 'local' / saves.name_of(1)} to {tmp_path / 'shared'} in ")
    failing.append(True)
    assert rounds(local) == 1


def test_where_it_seals_in_place_the_first_part_alone_takes_old_saves_away(rounds: Rounds, tmp_path: Path) -> None:
    for step in range(1, 5):
        save(tmp_path / "shared", step)
    for part, kept in ((1, 4), (0, 2)):
        assert rounds("--quiet-seconds=30", f"--part={part}") == 0
        assert len(saves.saves_in(tmp_path / "shared")) == kept


def test_workers_after_a_master_are_the_parts_behind_it(
    rounds: Rounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their indices begin at 0 again, and so does the master's."""
    asked: list[tuple[int, float]] = []

    class Sealer(sealing.Sealer):
        def __init__(self, local: Path, shared: Path, part: int, quiet_s: float) -> None:
            asked.append((part, quiet_s))
            super().__init__(local, shared, part, quiet_s)

    monkeypatch.setattr(sealing, "Sealer", Sealer)
    rounds("--quiet-seconds=30", f"--local={tmp_path / 'local'}", "--first=1", "--part=2")
    monkeypatch.setenv("RANK", "4")
    rounds("--quiet-seconds=31", f"--local={tmp_path / 'local'}")
    assert asked == [(3, 30.0), (4, 31.0)]


def test_it_ends_with_the_trainer_that_started_it() -> None:
    """Another process has its own; told to stop it ends at once, and else waits for its pace."""
    stop = threading.Event()
    assert copying._wait(stop, 60, os.getppid() + 1)
    assert not copying._wait(stop, 0.01, os.getppid())
    stop.set()
    assert copying._wait(stop, 60, os.getppid())


def test_staging_says_what_it_brought_or_why_it_could_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A worker's shard is counted after the pods of the role before it: of four nodes the second one has the third."""
    source = tmp_path / "source"
    source.mkdir()
    for index in range(4):
        (source / f"{index}.bin").write_bytes(b"x" * index)
    words = [f"--source={source}", f"--root={tmp_path / 'disk'}", "--name=data", "--pod=p"]
    assert stage.main([*words, "--part=1", "--first=1", "--parts=4"]) == 0
    assert stage.listed(tmp_path / "disk" / "data") == ["2.bin"]
    assert capsys.readouterr().out == "data is here: 1 files, 0.00 GB, 0 of them from an earlier try\n"
    assert stage.main([*words, "--parts=5"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("data could not be copied to this node: 4 files cannot be shared by 5 nodes")
