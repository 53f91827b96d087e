"""What a simulated training process saves, and where it begins again after it was killed (T01)."""

from pathlib import Path

import pytest

from rehearsal.kubelet.program import TIME_SCALE, Launch, Mount
from rehearsal.tests.inside.simulated import Node
from rehearsed import saves

ENV = {saves.DIRECTORY: "/checkpoints", "CHECKPOINT_EVERY_SECONDS": "600", "CHECKPOINT_WITHIN_SECONDS": "60"}
MOUNT = Mount("/checkpoints", "csi:fs", "checkpoints/sft")


def launch(node: Node, now: float = 0.0, **env: str) -> Launch:
    return node.launch(env={**ENV, **env}, mounts=[MOUNT], now=now)


def log(node: Node) -> list[str]:
    return (node.directory / "container" / "log").read_text().splitlines()


def test_it_begins_at_the_newest_whole_save_and_says_which_it_skipped(tmp_path: Path) -> None:
    node = Node(tmp_path)
    assert saves.begin(launch(node)) is None
    assert log(node) == ["no complete checkpoint in /checkpoints: starting at step 0"]
    saver = saves.Saver(launch(node))
    for now in (600, 660, 1260):
        assert saver.due == pytest.approx(now / TIME_SCALE)
        saver.look(now / TIME_SCALE)
    assert saves.begin(launch(node, now=1270 / TIME_SCALE)) is None, "it was killed within its second save"
    assert log(node)[1:] == [
        "skipped /checkpoints/step-120: half, it has no SHA256SUMS: it was never finished",
        "resumed from /checkpoints/step-60: step 60",
    ]
    again = saves.Saver(launch(node, now=2000 / TIME_SCALE))
    again.look(2600 / TIME_SCALE)
    again.look(2660 / TIME_SCALE)
    assert saves.begin(launch(node)) is None
    assert log(node)[-1] == "resumed from /checkpoints/step-120: step 120"


@pytest.mark.parametrize(("env", "index", "saving"), [({"RANK": "1"}, "0", False), ({}, "2", False), ({}, "0", True)])
def test_rank_0_alone_saves_of_an_elastic_run_the_first_worker(
    tmp_path: Path, env: dict[str, str], index: str, saving: bool
) -> None:
    node = Node(tmp_path)
    pod = node.pod("sft-worker")
    pod["metadata"]["labels"] = {saves.INDEX: index}
    asked = node.launch(pod, env={**ENV, **env}, mounts=[MOUNT])
    assert saves.begin(asked) is None
    assert bool(node.world.contents.under("csi:fs", "")) == saving
    assert (saves.Saver(asked).due is not None) == saving


@pytest.mark.parametrize(("grace", "whole"), [(60, True), (59, False)])
def test_told_to_end_it_saves_where_it_is_if_its_grace_period_is_as_long(
    tmp_path: Path, grace: int, *, whole: bool
) -> None:
    """PF10: a block's end, a drain and a spot notice are SIGTERM to a run, 300 s after its last save here."""
    node = Node(tmp_path)
    asked = launch(node)
    asked.pod["spec"]["terminationGracePeriodSeconds"] = grace
    assert saves.begin(asked) is None
    saver = saves.Saver(asked)
    for _ in range(2):
        saver.last(300 / TIME_SCALE)
    assert saver.due is None
    kept = {f"checkpoints/sft/step-{step}/{saves.MANIFEST}" for step in ((0, 30) if whole else (0,))}
    there = set(node.world.contents.under("csi:fs", ""))
    assert "checkpoints/sft/step-30/shard-0.pt" in there
    assert {name for name in there if name.endswith(saves.MANIFEST)} == kept
