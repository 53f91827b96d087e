"""Saves of other frameworks get their hashes when their framework calls them complete, and go on as any save (S05)."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import copying
import pumping
import pytest
import saves
import sealing

from components.training.copier import copier_files
from tests.node.test_copying import until_it_handles_signals


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return made(tmp_path / "shared")


def made(path: Path, **files: str) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (path / name).write_text(text)
    return path


def sealer(root: Path, clock: Clock, shared: Path | None = None, part: int = 0) -> sealing.Sealer:
    return sealing.Sealer(root, shared or root, part, 60, clock)


def quiet(each: sealing.Sealer, clock: Clock) -> list[str]:
    """Looks, waits for as long as it takes, and looks again."""
    first = each.look()
    clock.now += 60
    return first + each.look()


def whole(root: Path) -> list[str]:
    return [each.name for each in saves.saves_in(root) if saves.check(each).state == "whole"]


def test_megatrons_iterations_are_complete_up_to_the_one_that_it_names(shared: Path, clock: Clock) -> None:
    for step in (100, 200, 300):
        made(shared / f"iter_{step:07d}", **{"__0_0.distcp": f"{step}", ".metadata": "", "common.pt": "x"})
    (shared / sealing.ITERATION).write_text("200")
    assert sorted(quiet(sealer(shared, clock), clock)) == [
        f"sealed {shared / 'iter_0000100'}",
        f"sealed {shared / 'iter_0000200'}",
    ]
    assert whole(shared) == ["iter_0000200", "iter_0000100"], "an index is not Megatron's word, as others still write"
    assert saves.newest(shared)[0] == shared / "iter_0000200"


def test_an_index_is_pytorchs_word_and_the_files_below_count(shared: Path, clock: Clock) -> None:
    made(shared / "step_7" / "model", **{"__0_0.distcp": "a"})
    made(shared / "step_7", **{".metadata.tmp": "index"})
    assert quiet(sealer(shared, clock), clock) == []
    (shared / "step_7" / ".metadata.tmp").rename(shared / "step_7" / ".metadata")
    assert quiet(sealer(shared, clock), clock) == [f"sealed {shared / 'step_7'}"]
    lines = (shared / "step_7" / saves.SUMS).read_text().splitlines()
    assert [line.partition("  ")[2] for line in lines] == [".metadata", "model/__0_0.distcp"]
    done = subprocess.run(["sha256sum", "--check", "--quiet", saves.SUMS], cwd=shared / "step_7", check=False)
    assert done.returncode == 0


def test_deepspeeds_word_comes_before_the_other_ranks_are_done(shared: Path, clock: Clock) -> None:
    """rank 0 names the save when it is done itself: one that still grows is not sealed."""
    place = made(shared / "global_step5", **{"mp_rank_00_model_states.pt": "m"})
    (shared / sealing.LATEST).write_text("global_step5")
    it = sealer(shared, clock)
    assert it.look() == []
    clock.now += 59
    assert it.look() == []
    (place / "zero_pp_rank_1_mp_rank_00_optim_states.pt").write_text("half")
    clock.now += 60
    assert it.look() == [], "a file came meanwhile"
    assert it.look(last=True) == [], "the run's end is no word of the other ranks"
    clock.now += 60
    assert it.look() == [f"sealed {place}"]


def test_the_last_look_takes_what_is_complete_at_once(shared: Path, clock: Clock) -> None:
    place = made(shared / "step-3", **{"__0_0.distcp": "a", ".metadata": "i"})
    it = sealer(shared, clock)
    assert it.look() == []
    assert it.look(last=True) == [f"sealed {place}"]


@pytest.mark.parametrize("later_s", [9, -3600])
def test_a_step_that_is_saved_again_is_sealed_again(shared: Path, clock: Clock, later_s: int) -> None:
    """By a node whose clock is an hour behind, too."""
    place = made(shared / "step-3", **{"__0_0.distcp": "a", ".metadata": "i"})
    quiet(sealer(shared, clock), clock)
    again = (place / saves.SUMS).stat().st_mtime + later_s
    made(place, **{"__0_0.distcp": "o"})
    os.utime(place / "__0_0.distcp", (again, again))
    assert saves.check(place).state == "corrupt"
    assert quiet(sealer(shared, clock), clock) == [f"sealed {place}"]
    assert saves.check(place).state == "whole"
    assert quiet(sealer(shared, clock), clock) == []


def test_files_of_a_clock_that_is_ahead_are_hashed_once(shared: Path, clock: Clock) -> None:
    place = made(shared / "step-3", **{"__0_0.distcp": "a", ".metadata": "i"})
    ahead = (place / ".metadata").stat().st_mtime + 3600
    os.utime(place / "__0_0.distcp", (ahead, ahead))
    assert quiet(sealer(shared, clock), clock) == [f"sealed {place}"]
    assert quiet(sealer(shared, clock), clock) == []


@pytest.mark.parametrize("file", [saves.SEALED, saves.SUMS])
def test_who_ends_while_it_seals_again_leaves_no_save(
    shared: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """Before what was hashed is said, or between that and the hashes: the next one seals it."""
    place = made(shared / "step-3", **{"__0_0.distcp": "a", ".metadata": "i"})
    quiet(sealer(shared, clock), clock)
    made(place, **{"__0_0.distcp": "other"})
    written = saves.write

    def ends(path: Path, text: str, root: Path) -> None:
        if path.name == file:
            raise KeyboardInterrupt
        written(path, text, root)

    with monkeypatch.context() as patch:
        patch.setattr(saves, "write", ends)
        with pytest.raises(KeyboardInterrupt):
            quiet(sealer(shared, clock), clock)
    assert saves.check(place).state == "half"
    assert quiet(sealer(shared, clock), clock) == [f"sealed {place}"]
    assert saves.check(place).state == "whole"


@pytest.mark.parametrize(
    ("text", "later_s", "state"),
    [("a", -9, "whole"), ("o", -9, "corrupt"), ("a", 9, "whole"), ("other", 9, "whole")],
)
def test_hashes_from_before_stay_unless_the_step_was_saved_again(
    shared: Path, clock: Clock, text: str, later_s: int, state: str
) -> None:
    """A bit that flipped stays a corrupt save; a whole one never is without its hashes."""
    place = made(shared / "step-3", **{"__0_0.distcp": "a", ".metadata": "i"})
    quiet(sealer(shared, clock), clock)
    (place / saves.SEALED).unlink()
    was, since = (place / saves.SUMS).stat().st_ino, (place / saves.SUMS).stat().st_mtime
    made(place, **{"__0_0.distcp": text})
    os.utime(place / "__0_0.distcp", (since + later_s, since + later_s))
    assert quiet(sealer(shared, clock), clock) == [f"sealed {place}"]
    assert saves.check(place).state == state
    assert text == "other" or (place / saves.SUMS).stat().st_ino == was
    assert quiet(sealer(shared, clock), clock) == []


@pytest.mark.parametrize("text", ["null", "[1]", "{", ""])
def test_a_damaged_word_of_what_was_hashed_is_none(shared: Path, clock: Clock, text: str) -> None:
    place = made(shared / "step-3", **{"__0_0.distcp": "a", ".metadata": "i"})
    quiet(sealer(shared, clock), clock)
    (place / saves.SEALED).write_text(text)
    assert quiet(sealer(shared, clock), clock) == [f"sealed {place}"]
    assert quiet(sealer(shared, clock), clock) == []


def test_copies_have_what_was_saved_alone(tmp_path: Path, shared: Path, clock: Clock) -> None:
    local = made(tmp_path / "local")
    made(local / "step-3", **{"__0_0.distcp": "a", ".metadata": "i"})
    quiet(sealer(local, clock, shared), clock)
    copying.once(local, shared, part=0, parts=1, keep=2)
    assert sorted(each.name for each in (shared / "step-3").iterdir()) == [".metadata", saves.SUMS, "__0_0.distcp"]


def test_what_changes_while_it_is_hashed_is_no_save(
    shared: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = made(shared / "step-3", **{"a": "a", ".metadata": "i"})
    hashed = pumping.hash_of

    def meanwhile(path: Path) -> str:
        made(place, late="b")
        return hashed(path)

    monkeypatch.setattr(saves, "hash_of", meanwhile)
    assert quiet(sealer(shared, clock), clock) == [f"{place} changes while it is hashed"]
    assert saves.check(place).state == "half"


def test_nodes_with_disks_of_their_own_make_one_save_of_deepspeeds(tmp_path: Path, shared: Path, clock: Clock) -> None:
    """Each has its shards, all have the weights, and rank 0's node alone has the framework's word."""
    names = ["zero_pp_rank_0.pt", "zero_pp_rank_1.pt"]
    nodes = [made(tmp_path / f"node-{part}") for part in range(2)]
    for part, local in enumerate(nodes):
        made(local / "global_step8", **{"mp_rank_00_model_states.pt": f"weights of {part}", names[part]: f"{part}"})
    (nodes[0] / sealing.LATEST).write_text("global_step8")
    first, second = (sealer(local, clock, shared, part) for part, local in enumerate(nodes))
    assert quiet(second, clock) == [], "nobody said yet that it is complete"
    quiet(first, clock)
    copying.once(nodes[0], shared, part=0, parts=2, keep=2)
    assert whole(shared) == []
    assert quiet(second, clock) == [f"sealed {nodes[1] / 'global_step8'}"]
    copying.once(nodes[1], shared, part=1, parts=2, keep=2)
    assert whole(shared) == ["global_step8"]
    found = {each.name: each.read_text() for each in (shared / "global_step8").iterdir()}
    assert found["mp_rank_00_model_states.pt"] == "weights of 0"
    assert set(names) < set(found)
    assert not (shared / sealing.LATEST).exists()
    first.look()
    assert (shared / sealing.LATEST).read_text() == "global_step8", "DeepSpeed begins where this says"


def test_what_an_earlier_process_left_on_its_way_is_no_word(tmp_path: Path, shared: Path, clock: Clock) -> None:
    made(shared / ".global_step8", **{sealing.FIRST: "0" * 64 + "  old\n"})
    made(shared / "global_step4")
    local = made(tmp_path / "local")
    sealer(local, clock, shared, part=1)
    assert (shared / ".global_step8").exists()
    sealer(local, clock, shared)
    assert [each.name for each in shared.iterdir()] == ["global_step4"]


def test_a_node_that_is_not_the_first_leaves_shared_saves_alone(shared: Path, clock: Clock) -> None:
    made(shared / "step-3", **{".metadata": "i"})
    assert quiet(sealer(shared, clock, part=1), clock) == []


def test_latest_may_be_a_link_to_a_save(shared: Path, clock: Clock) -> None:
    made(shared / "checkpoint-5", **{".metadata": "i"})
    (shared / sealing.LATEST).symlink_to("checkpoint-5")
    assert quiet(sealer(shared, clock), clock) == [f"sealed {shared / 'checkpoint-5'}"]


def begun(tmp_path: Path, *words: str) -> subprocess.Popen[str]:
    """The container's process, from the files that a pod finds."""
    scripts = made(tmp_path / "scripts", **copier_files())
    asked = [f"--shared={tmp_path / 'shared'}", "--every-seconds=3600", "--keep=2", "--quiet-seconds=60", *words]
    process = subprocess.Popen([sys.executable, str(scripts / "copying.py"), *asked], stdout=subprocess.PIPE, text=True)
    until_it_handles_signals(process.pid)
    return process


def stopped(*processes: subprocess.Popen[str]) -> None:
    for each in processes:
        each.send_signal(signal.SIGTERM)
    for each in processes:
        said, _ = each.communicate(timeout=60)
        assert each.returncode == 0, said


@pytest.mark.parametrize("local", [True, False])
def test_beside_a_run_it_seals_keeps_the_last_ones_and_takes_what_was_saved_at_the_end(
    tmp_path: Path, shared: Path, *, local: bool
) -> None:
    source = tmp_path / ("local" if local else "shared")
    process = begun(tmp_path, "--parts=1", "--part=0", *([f"--local={source}"] if local else []))
    for step in range(1, 5):
        made(source / f"step-{step}", **{"__0_0.distcp": str(step), ".metadata": "i"})
    stopped(process)
    assert whole(shared) == (["step-4"] if local else ["step-4", "step-3"])
    assert whole(source) == ["step-4", "step-3"]


def test_nodes_that_are_told_to_stop_at_once_bring_their_last_save_whole(tmp_path: Path, shared: Path) -> None:
    """The one that is not first waits for the first one's word, as long as its pod has time."""
    nodes = [tmp_path / f"node-{part}" for part in range(2)]
    processes = [
        begun(tmp_path, "--parts=2", "--part=0", f"--first={part}", f"--local={local}")
        for part, local in enumerate(nodes)
    ]
    for part, local in enumerate(nodes):
        made(local / "step-5", **{f"__{part}_0.distcp": str(part)})
    made(nodes[0] / "step-5", **{".metadata": "i"})
    stopped(*processes)
    assert whole(shared) == ["step-5"]
    assert {"__0_0.distcp", "__1_0.distcp"} < {each.name for each in (shared / "step-5").iterdir()}
