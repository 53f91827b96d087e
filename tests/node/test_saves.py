"""Checkpoints of the trainer on real disks: killed anywhere, disk full, bits flipped, two at once (T01, J15)."""

import contextlib
import errno
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import saves

FILES = {"state.pt": b"weights" * 1000, "meta.json": b"{}", ".metadata": b"index"}


def save(root: Path, step: int, files: dict[str, bytes] = FILES) -> Path | None:
    place = saves.begin(root, step)
    for name, content in files.items():
        (place / name).write_bytes(content)
    saves.wrote(place, 0, files)
    return saves.finish(root, step, 1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "saves").mkdir()
    return tmp_path / "saves"


def test_a_save_is_what_sha256sum_checks(root: Path) -> None:
    """The copier to the object store, and a person, check it with coreutils."""
    path = save(root, 120)
    assert path == root / "step-000000120"
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=path, capture_output=True, check=False
    )
    assert done.returncode == 0
    assert {each.name for each in path.iterdir()} == {*FILES, "SHA256SUMS"}
    assert saves.newest(root) == (path, [])


def test_a_save_of_several_writers_is_whole_when_all_are_done(root: Path) -> None:
    place = saves.begin(root, 7)
    for part in (1, 0):
        assert saves.finish(root, 7, 2) is None
        assert saves.newest(root) == (None, [])
        (place / f"__{part}_0.distcp").write_bytes(b"%d" % part)
        saves.wrote(place, part, [f"__{part}_0.distcp"])
    path = saves.finish(root, 7, 2)
    assert path is not None
    assert saves.check(path).state == "whole"
    assert saves.finish(root, 7, 2) == path


def test_a_save_without_files_is_refused(root: Path) -> None:
    saves.wrote(saves.begin(root, 3), 0, [])
    with pytest.raises(ValueError, match="so it cannot be a checkpoint"):
        saves.finish(root, 3, 1)


class KilledError(BaseException):
    """A process that is gone: nothing catches it."""


CALLS = ("open", "fsync", "rename", "unlink", "mkdir", "rmdir")


def _cut(monkeypatch: pytest.MonkeyPatch, at: int, error: type[BaseException], number: int = errno.ENOSPC) -> list[int]:
    """From the call `at` on every change of the disk fails: with a kill nothing more is done."""
    seen = [0]

    def wrapped(name: str) -> None:
        real = getattr(os, name)

        def call(*args: object, **more: object) -> object:
            seen[0] += 1
            if seen[0] == at or (seen[0] > at and error is KilledError):
                raise error(number, os.strerror(number)) if issubclass(error, OSError) else error()
            return real(*args, **more)

        monkeypatch.setattr(os, name, call)

    for name in CALLS:
        wrapped(name)
    return seen


def _steps(tmp_path: Path, error: type[BaseException]) -> Iterator[tuple[Path, bool]]:
    """Every place where the third save can be cut, and whether it was done all the same."""
    for at in range(1, 100):
        root = tmp_path / f"{error.__name__}-{at}"
        root.mkdir()
        save(root, 1)
        save(root, 2)
        with pytest.MonkeyPatch.context() as patch:
            seen = _cut(patch, at, error)
            try:
                done = save(root, 3) is not None
            except (KilledError, OSError):
                done = False
        yield root, done
        if seen[0] < at:
            return
    raise AssertionError("a save has not so many calls")


@pytest.mark.parametrize("error", [KilledError, OSError])
def test_a_save_that_is_cut_anywhere_loses_nothing_and_is_never_half(
    tmp_path: Path, error: type[BaseException]
) -> None:
    """Killed, or the disk is full: the newest whole save is the one before or this one, and the next one works."""
    cut = 0
    for root, done in _steps(tmp_path, error):
        found, _ = saves.newest(root)
        assert found is not None
        assert saves.step_of(found) in ((3,) if done else (2, 3))
        assert saves.check(found).state == "whole"
        cut += not done
        assert save(root, 4) == root / saves.name_of(4)
        assert saves.newest(root) == (root / saves.name_of(4), [])
    assert cut >= 5


def test_a_removal_that_is_cut_anywhere_leaves_no_half_save(tmp_path: Path) -> None:
    for at in range(1, 100):
        root = tmp_path / str(at)
        root.mkdir()
        for step in range(1, 5):
            save(root, step)
        with pytest.MonkeyPatch.context() as patch:
            seen = _cut(patch, at, KilledError)
            with pytest.MonkeyPatch.context(), contextlib.suppress(KilledError):
                saves.prune(root, 2)
        assert saves.newest(root) == (root / saves.name_of(4), [])
        assert all(saves.check(each).state == "whole" for each in saves.saves_in(root))
        saves.prune(root, 2)
        assert sorted(each.name for each in root.iterdir()) == [saves.name_of(3), saves.name_of(4)]
        if seen[0] < at:
            return
    raise AssertionError("a removal has not so many calls")


@pytest.mark.parametrize("name", ["state.pt", "meta.json", "SHA256SUMS"])
@pytest.mark.parametrize("at", [0, -1])
def test_a_flipped_bit_is_found_wherever_it_is(root: Path, name: str, at: int) -> None:
    save(root, 1)
    path = save(root, 2)
    assert path is not None
    content = bytearray((path / name).read_bytes())
    content[at] ^= 1
    (path / name).write_bytes(content)
    found, skipped = saves.newest(root)
    assert found == root / saves.name_of(1)
    (said,) = skipped
    assert said.startswith((f"skipped {path}: corrupt, ", f"skipped {path}: missing, "))


def test_corrupt_half_and_missing_are_told_apart(root: Path) -> None:
    for step in range(1, 6):
        save(root, step)
    (root / saves.name_of(5) / "SHA256SUMS").unlink()
    (root / saves.name_of(4) / "state.pt").unlink()
    (root / saves.name_of(3) / "state.pt").write_bytes(b"other")
    (root / saves.name_of(2) / "SHA256SUMS").write_text("")
    found, skipped = saves.newest(root)
    assert found == root / saves.name_of(1)
    assert skipped == [
        f"skipped {root}/step-000000005: half, it has no SHA256SUMS: it was never finished",
        f"skipped {root}/step-000000004: missing, state.pt is gone",
        f"skipped {root}/step-000000003: corrupt, state.pt does not match its SHA256SUMS",
        f"skipped {root}/step-000000002: corrupt, SHA256SUMS is empty or cut",
    ]
    assert saves.check(root / saves.name_of(3), hashes=False).state == "whole"
    assert saves.check(root / saves.name_of(4), hashes=False).state == "missing"


def test_a_line_that_is_no_hash_is_corrupt(root: Path) -> None:
    path = save(root, 1)
    assert path is not None
    (path / "SHA256SUMS").write_text("abc  state.pt\n")
    assert saves.check(path) == saves.Verdict(
        "corrupt", "SHA256SUMS has a line that is none of sha256sum: 'abc  state.pt'"
    )


def test_the_newest_step_counts_whatever_the_clocks_say(root: Path) -> None:
    """Clocks of nodes differ: an older save may have the younger date."""
    save(root, 999_999_999)
    save(root, 1_000_000_000)
    os.utime(root / saves.name_of(1_000_000_000), (0, 0))
    assert saves.newest(root)[0] == root / "step-1000000000"
    assert saves.newest(root / "nowhere") == (None, [])


def test_the_last_ones_are_kept_and_those_that_somebody_marked(root: Path) -> None:
    for step in range(1, 8):
        save(root, step)
    (root / saves.name_of(2) / "KEEP").touch()
    (root / saves.name_of(6) / "SHA256SUMS").unlink()
    (root / "notes").mkdir()
    gone = saves.prune(root, 2)
    assert [saves.step_of(each) for each in gone] == [4, 3, 1]
    left = sorted(each.name for each in root.iterdir())
    assert left == ["notes", *(saves.name_of(step) for step in (2, 5, 6, 7))]
    with pytest.raises(ValueError, match="keep is 0; keep at least one checkpoint"):
        saves.prune(root, 0)
    assert saves.prune(root / "nowhere", 1) == []


def test_several_that_finish_at_once_make_one_save(root: Path) -> None:
    place, parts = saves.begin(root, 5), 4
    for part in range(parts):
        (place / f"part-{part}").write_bytes(os.urandom(1000))
        saves.wrote(place, part, [f"part-{part}"])
    found: list[Path | None] = []
    gate = threading.Barrier(parts)

    def run() -> None:
        gate.wait()
        found.append(saves.finish(root, 5, parts))

    threads = [threading.Thread(target=run) for _ in range(parts)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert root / saves.name_of(5) in found
    assert saves.check(root / saves.name_of(5)).state == "whole"
    assert [each.name for each in root.iterdir()] == [saves.name_of(5)]


def test_an_earlier_attempt_at_the_same_step_is_forgotten(root: Path) -> None:
    place = saves.begin(root, 9)
    (place / "stale").write_bytes(b"x")
    saves.wrote(place, 0, ["stale"])
    path = save(root, 9)
    assert path is not None
    assert not (path / "stale").exists()
    assert save(root, 9, {"again": b"y"}) == path
    assert {each.name for each in path.iterdir()} == {"again", "SHA256SUMS"}
