"""Saves on their way from a node's disk to the shared file system: killed anywhere, disk full, bits flipped (T01)."""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import copying
import pumping
import pytest
import saves

from components.training.trainer import trainer_files
from tests.node.test_saves import KilledError, save


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    local, shared = tmp_path / "local", tmp_path / "shared"
    local.mkdir()
    shared.mkdir()
    return local, shared


def test_a_save_goes_on_whole_and_once(places: tuple[Path, Path]) -> None:
    local, shared = places
    save(local, 3)
    said = copying.once(local, shared, part=0, parts=1, keep=2)
    assert [line.endswith("whole") for line in said] == [True]
    path = shared / saves.name_of(3)
    assert saves.check(path).state == "whole"
    assert (path / "SHA256SUMS").read_bytes() == (local / saves.name_of(3) / "SHA256SUMS").read_bytes()
    assert copying.once(local, shared, part=0, parts=1, keep=2) == []


def test_the_save_is_whole_when_all_nodes_have_copied(tmp_path: Path) -> None:
    """Each node has its ranks' files; the index and the meta data, which all have, come from the first."""
    shared = tmp_path / "shared"
    shared.mkdir()
    for part in (1, 0):
        local = tmp_path / f"node-{part}"
        local.mkdir()
        meta = b"{}" if part == 0 else b'{"later": 1}'
        save(local, 9, {f"__{part}_0.distcp": b"x" * 100, ".metadata": b"index", "meta.json": meta})
        said = copying.once(local, shared, part=part, parts=2, keep=2)
        assert said[-1].endswith("whole" if part == 0 else "waits for the other parts of 2")
        assert (saves.newest(shared)[0] is None) == (part == 1)
    path = shared / saves.name_of(9)
    assert saves.check(path).state == "whole"
    assert (path / "meta.json").read_bytes() == b"{}"
    assert {each.name for each in path.iterdir()} == {
        "__0_0.distcp",
        "__1_0.distcp",
        ".metadata",
        "meta.json",
        "SHA256SUMS",
    }


def test_a_flipped_bit_is_not_copied_on(places: tuple[Path, Path]) -> None:
    local, shared = places
    save(local, 1)
    path = save(local, 2)
    assert path is not None
    (path / "state.pt").write_bytes(b"other")
    with pytest.raises(copying.CorruptError, match=r"state\.pt does not match its SHA256SUMS"):
        copying.copy(path, shared, 0, 1)
    assert saves.newest(shared) == (None, [])
    said = copying.once(local, shared, part=0, parts=1, keep=2)
    assert said[0].startswith(f"skipped {path}: corrupt, state.pt does not match its SHA256SUMS")
    assert saves.newest(shared)[0] == shared / saves.name_of(1)


@pytest.mark.parametrize("error", [KilledError, OSError])
def test_a_copy_that_is_cut_anywhere_is_never_half_and_the_next_one_is_whole(
    tmp_path: Path, error: type[BaseException]
) -> None:
    cut = 0
    for at in range(1, 200):
        local, shared = tmp_path / f"l{at}", tmp_path / f"s{at}"
        local.mkdir()
        shared.mkdir()
        save(local, 1)
        save(shared, 0)
        seen = 0
        real = os.fsync

        def counted(descriptor: int, at: int = at, real: Callable[[int], None] = real) -> None:
            nonlocal seen
            seen += 1
            if seen == at or (seen > at and error is KilledError):
                raise error(errno.ENOSPC, "No space left on device") if error is OSError else error()
            real(descriptor)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", counted)
            try:
                copying.once(local, shared, part=0, parts=1, keep=3)
            except (KilledError, OSError):
                cut += 1
        found, _ = saves.newest(shared)
        assert found is not None
        assert all(saves.check(each).state == "whole" for each in saves.saves_in(shared))
        copying.once(local, shared, part=0, parts=1, keep=3)
        assert saves.newest(shared)[0] == shared / saves.name_of(1)
        if seen < at:
            break
    assert cut >= 4


def test_a_save_is_hashed_once_on_its_way_and_never_again(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each hash of a large save is time in which the trainer's cores and the file system are busy."""
    local, shared = places
    save(local, 5, {f"__{rank}_0.distcp": os.urandom(3 << 20) for rank in range(3)})
    again: list[Path] = []
    real = pumping.hash_of

    def counted(path: Path) -> str:
        again.append(path)
        return real(path)

    for each in (saves, copying):
        monkeypatch.setattr(each, "hash_of", counted)
    assert copying.once(local, shared, part=0, parts=1, keep=2)[0].endswith("whole")
    assert copying.once(local, shared, part=0, parts=1, keep=2) == []
    assert again == []
    assert saves.check(shared / saves.name_of(5)).state == "whole"


def test_what_the_file_system_gives_back_wrong_is_no_save(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    local, shared = places
    path = save(local, 6)
    assert path is not None
    monkeypatch.setattr(pumping, "came_back", lambda *_: False)
    with pytest.raises(ValueError, match="check the file system"):
        copying.copy(path, shared, 0, 1)
    assert saves.newest(shared) == (None, [])


def test_two_that_copy_the_same_save_at_once_make_one(tmp_path: Path) -> None:
    shared, parts = tmp_path / "shared", 3
    shared.mkdir()
    for part in range(parts):
        (tmp_path / str(part)).mkdir()
        save(tmp_path / str(part), 4, {f"__{part}_0.distcp": os.urandom(50_000)})
    gate = threading.Barrier(parts)

    def run(part: int) -> None:
        gate.wait()
        for _ in range(2):
            with contextlib.suppress(OSError):
                copying.once(tmp_path / str(part), shared, part=part, parts=parts, keep=2)

    threads = [threading.Thread(target=run, args=(part,)) for part in range(parts)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert saves.check(shared / saves.name_of(4)).state == "whole"


def test_the_last_ones_are_kept_on_both_sides(places: tuple[Path, Path]) -> None:
    local, shared = places
    for step in range(1, 5):
        save(local, step)
        copying.once(local, shared, part=0, parts=1, keep=2)
    for root in places:
        assert [saves.step_of(each) for each in saves.saves_in(root)] == [4, 3]
    save(shared, 1)
    copying.once(local, shared, part=1, parts=2, keep=2)
    assert [saves.step_of(each) for each in saves.saves_in(shared)] == [4, 3, 1]


def test_what_is_no_save_is_refused(places: tuple[Path, Path]) -> None:
    local, shared = places
    with pytest.raises(ValueError, match="is not a checkpoint"):
        copying.copy(local, shared, 0, 1)


def test_the_last_save_is_taken_when_it_is_told_to_stop(places: tuple[Path, Path], tmp_path: Path) -> None:
    """J15: the run saves at SIGTERM, and the copier, which ends after it, brings that save on.

    It is started from the files that a pod finds.
    """
    local, shared = places
    trainer = tmp_path / "trainer"
    trainer.mkdir()
    for name, text in trainer_files().items():
        (trainer / name).write_text(text)
    save(local, 1)
    words = ["--local", local, "--shared", shared, "--every-seconds", "60", "--keep", "2", "--parts", "1"]
    process = subprocess.Popen(
        [sys.executable, str(trainer / "copying.py"), *map(str, words)], stdout=subprocess.PIPE, text=True
    )
    try:
        until_it_handles_signals(process.pid)
        save(local, 2)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert f"copied {local / saves.name_of(2)}" in out
    assert saves.newest(shared)[0] == shared / saves.name_of(2)


def until_it_handles_signals(pid: int) -> None:
    """The kernel says which signals a process catches; SIGTERM is the fifteenth."""
    for _ in range(6000):
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
        if int(caught, 16) & (1 << (signal.SIGTERM - 1)):
            return
        time.sleep(0.01)
    raise AssertionError("it never handles SIGTERM")
