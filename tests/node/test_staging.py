"""Datasets on their way to a node's disks, on real ones: two at once, killed anywhere, disk full, bits flipped."""

import errno
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pumping
import pytest
import stage
from disks import Disks, StagingError
from stage import Share, Staging

from tests.node.test_saves import KilledError

NAME = "web-text-1a2b3c4d"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A dataset of a few files, one of them larger than what is copied at once, one below a directory, one empty."""
    place = tmp_path / "shared" / NAME
    (place / "more").mkdir(parents=True)
    made = random.Random(7)  # noqa: S311 - content that is the same each time
    for name, size in {"a.bin": 5 << 20, "b.bin": 1000, "more/c.bin": 70_000, "empty.bin": 0}.items():
        (place / name).write_bytes(made.randbytes(size))
    return place


@pytest.fixture
def disks(tmp_path: Path) -> Disks:
    (tmp_path / "pods").mkdir()
    return Disks(tmp_path / "nvme", tmp_path / "pods")


def content(place: Path) -> dict[str, bytes]:
    return {each: (place / each).read_bytes() for each in stage.listed(place)}


def words(source: Path, disks: Disks) -> list[str]:
    script = Path(stage.__file__)
    return [sys.executable, str(script), f"--source={source}", f"--root={disks.root}", f"--name={NAME}", "--pod=one"]


def test_it_is_whole_and_as_sha256sum_checks(source: Path, disks: Disks) -> None:
    """ST14: the file of hashes is the one marker, in the directory that it is about."""
    said = Staging(source, disks, NAME).bring("one")
    assert said == f"{NAME} is here: 4 files, 0.01 GB, 0 of them from an earlier try"
    target = disks.root / NAME
    assert content(target) == content(source)
    done = subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=target, check=False)
    assert done.returncode == 0
    assert [each.name for each in disks.root.iterdir() if each.name.startswith((".partial", ".gone"))] == []
    assert "was there" in Staging(source, disks, NAME).bring("two")
    assert disks.held(NAME) == []
    (disks.pods or Path()).joinpath("two").mkdir()
    Staging(source, disks, NAME).bring("two")
    assert disks.held(NAME) == ["two"]


def test_it_is_killed_anywhere_and_comes_whole_in_the_end(source: Path, disks: Disks) -> None:
    """ST13: each try is killed a little later; what stands under its name is whole at every moment."""
    kept = 0
    for delay in (0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.12, 0.15, 0.2, 0.3):
        process = subprocess.Popen(words(source, disks), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(delay)
        process.kill()
        process.communicate()
        if (disks.root / NAME).exists():
            assert content(disks.root / NAME) == content(source)
            kept += 1
    done = subprocess.run(words(source, disks), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert content(disks.root / NAME) == content(source)
    assert kept < 10, "no try was killed in time to show anything"


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_it_stops_at_each_step_and_the_next_goes_on(
    call: str, source: Path, disks: Disks, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen, limit = getattr(os, call), [0], [0]

    def stops(*args: object, **more: object) -> object:
        seen[0] += 1
        if seen[0] == limit[0]:
            raise OSError(errno.EIO, "Input/output error")
        return real(*args, **more)

    for each in range(1, 30):
        seen[0], limit[0] = 0, each
        with monkeypatch.context() as patch:
            patch.setattr(os, call, stops)
            try:
                Staging(source, disks, NAME).bring("one")
            except OSError:
                assert not (disks.root / NAME).exists() or content(disks.root / NAME) == content(source)
            else:
                break
    assert content(disks.root / NAME) == content(source)


def test_what_a_killed_one_copied_is_not_copied_again_unless_a_bit_flipped(source: Path, disks: Disks) -> None:
    staging = Staging(source, disks, NAME)
    staging.aside.mkdir(parents=True)
    for name in ("a.bin", "b.bin"):
        staging._copy(name, None)
    flipped = bytearray((staging.aside / "b.bin").read_bytes())
    flipped[500] ^= 1
    (staging.aside / "b.bin").write_bytes(flipped)
    with (staging.aside / stage.DONE).open("a") as journal:
        journal.write(f"{'0' * 64}  more/c.b")
    assert staging.bring("one").endswith("1 of them from an earlier try")
    assert content(disks.root / NAME) == content(source)


def test_a_bit_that_flips_on_the_nodes_disk_is_found(
    source: Path, disks: Disks, monkeypatch: pytest.MonkeyPatch
) -> None:
    sick = [2]

    def gives_back(descriptor: int, offset: int, *told: Any) -> bool:
        if Path(f"/proc/self/fd/{descriptor}").readlink().name == "b.bin" and sick[0]:
            sick[0] -= 1
            os.pwrite(descriptor, b"flipped", offset)
        return real(descriptor, offset, *told)

    real = pumping.came_back
    monkeypatch.setattr(pumping, "came_back", gives_back)
    with pytest.raises(
        StagingError, match=r"b\.bin differs on the node's disk after two copies: the disk is faulty: drain the node"
    ):
        Staging(source, disks, NAME).bring("one")
    assert not (disks.root / NAME).exists()
    sick[0] = 1
    Staging(source, disks, NAME).bring("one")
    assert content(disks.root / NAME) == content(source)


def test_a_bit_that_flipped_later_is_found_by_whoever_comes_next(source: Path, disks: Disks) -> None:
    Staging(source, disks, NAME).bring("one")
    there = disks.root / NAME / "more" / "c.bin"
    there.write_bytes(there.read_bytes()[:-1] + b"?")
    assert "is here" in Staging(source, disks, NAME).bring("two")
    assert content(disks.root / NAME) == content(source)


def test_a_source_that_is_corrupt_is_named(source: Path, disks: Disks) -> None:
    lines = [f"{pumping.hash_of(source / each)}  {each}\n" for each in stage.listed(source)]
    (source / "SHA256SUMS").write_text("".join(lines))
    (source / "b.bin").write_bytes(b"?")
    with pytest.raises(StagingError, match=r"b\.bin of .* is corrupt: its hash is"):
        Staging(source, disks, NAME).bring("one")
    assert not (disks.root / NAME).exists()


def test_two_at_once_copy_it_once(source: Path, disks: Disks) -> None:
    """ST13: the second waits for the first one's lock, and finds what that brought."""
    both = [
        subprocess.Popen(words(source, disks), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)
    ]
    said = sorted(each.communicate()[0].strip() for each in both)
    assert said == [
        f"{NAME} is here: 4 files, 0.01 GB, 0 of them from an earlier try",
        f"{NAME} was there: 4 files, all as they were hashed",
    ]


def _full(monkeypatch: pytest.MonkeyPatch, disks: Disks, room: int) -> None:
    """Disks on which so many bytes are free, beside what datasets take."""

    def free(_: object) -> SimpleNamespace:
        taken = sum(each.stat().st_size for name in disks.whole() for each in (disks.root / name).rglob("*.bin"))
        return SimpleNamespace(f_bavail=max(0, room - taken), f_frsize=1)

    monkeypatch.setattr(os, "statvfs", free)


def test_room_is_made_of_what_nobody_holds(source: Path, disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    """ST15: by marker and pods, whatever the files' times are; checkpoints beside them are nobody's to take."""
    pods = disks.pods or Path()
    save = disks.root / "checkpoints" / "step-000000100" / "model.distcp"
    save.parent.mkdir(parents=True)
    save.write_bytes(b"weights")
    os.utime(save, (0, 0))
    for name, pod in (("old-1", "gone"), ("old-2", "runs")):
        (pods / pod).mkdir()
        Staging(source, disks, name).bring(pod)
    (pods / "gone").rmdir()
    size = sum(map(len, content(source).values()))
    _full(monkeypatch, disks, 2 * size + 1000)
    Staging(source, disks, NAME).bring("one")
    assert sorted(disks.whole()) == ["old-2", NAME]
    (pods / "one").mkdir()
    with pytest.raises(StagingError, match=rf"old-2 \(held by 1 pods\), {NAME} \(held by 1 pods\): stage a"):
        Staging(source, disks, "new").bring("two")
    assert sorted(disks.whole()) == ["old-2", NAME]
    assert save.read_bytes() == b"weights"


def test_a_removal_that_is_killed_leaves_nothing_half_and_the_next_takes_the_rest(
    source: Path, disks: Disks, monkeypatch: pytest.MonkeyPatch
) -> None:
    Staging(source, disks, "old").bring("gone")
    _full(monkeypatch, disks, 1000)
    for owner, call, whole in ((Path, "rename", ["old"]), (shutil, "rmtree", [])):
        with monkeypatch.context() as patch:
            patch.setattr(owner, call, killed)
            with pytest.raises(KilledError):
                disks.make_room(10**9, "new")
        assert disks.whole() == whole
    assert list(disks.root.glob(".gone-*"))
    assert disks.make_room(0, "new") == []
    assert not list(disks.root.glob(".gone-*"))


def killed(path: Path, *_: object, **__: object) -> None:
    if path.exists():
        raise KilledError


def test_without_knowing_which_pods_are_there_nothing_is_taken_away(
    source: Path, disks: Disks, monkeypatch: pytest.MonkeyPatch
) -> None:
    disks.pods = None
    Staging(source, disks, "old").bring("gone")
    _full(monkeypatch, disks, 1000)
    with pytest.raises(StagingError, match=r"new needs 0\.0 GB on the node's disks"):
        Staging(source, disks, "new").bring("two")
    assert disks.whole() == ["old"]


def test_what_somebody_brings_or_reads_right_now_is_not_taken_away(
    source: Path, disks: Disks, monkeypatch: pytest.MonkeyPatch
) -> None:
    Staging(source, disks, "old").bring("gone")
    _full(monkeypatch, disks, 1000)
    entered, leave = threading.Event(), threading.Event()

    def busy() -> None:
        with disks.locked("old"):
            entered.set()
            leave.wait(10)

    other = threading.Thread(target=busy)
    other.start()
    entered.wait(10)
    with pytest.raises(StagingError):
        disks.make_room(10**9, "new")
    assert disks.whole() == ["old"]
    leave.set()
    other.join()
    with pytest.raises(StagingError):
        disks.make_room(10**9, "new")
    assert disks.whole() == []


def test_disks_that_fill_up_meanwhile_leave_nothing_half(
    source: Path, disks: Disks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StagingError, match=r"the node's disks are full at \S+: .* other pods use them"):
            Staging(source, disks, NAME).bring("one")
    assert not (disks.root / NAME).exists()
    Staging(source, disks, NAME).bring("one")
    assert content(disks.root / NAME) == content(source)


def test_nodes_share_all_files_and_no_file_twice(source: Path, disks: Disks) -> None:
    names = stage.listed(source)
    shares = [Share(part, 3).of(names) for part in range(3)]
    assert sorted(name for share in shares for name in share) == names
    Staging(source, disks, NAME, Share(1, 3)).bring("one")
    assert stage.listed(disks.root / NAME) == shares[1]
    with pytest.raises(StagingError, match="4 files cannot be shared by 8 nodes"):
        Staging(source, disks, NAME, Share(0, 8)).bring("one")


def test_a_dataset_that_is_not_there_is_told(tmp_path: Path, disks: Disks) -> None:
    done = subprocess.run(words(tmp_path / "nowhere", disks), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{NAME} could not be copied to this node: no files in {tmp_path}/nowhere")
