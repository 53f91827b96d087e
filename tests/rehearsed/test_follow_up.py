"""Checkpoints of a rehearsal as a follow-up's own script finds them."""

from pathlib import Path

import saves

from rehearsed import follow_up
from rehearsed.saves import FIRST, SHARD


def test_a_checkpoint_of_names_and_sizes_is_whole_where_it_has_its_manifest(tmp_path: Path) -> None:
    follow_up.written(tmp_path, {**FIRST, f"step-90/{SHARD}": 1 << 30})
    newest, skipped = saves.newest(tmp_path)
    assert newest == tmp_path / "step-0"
    assert skipped == [f"skipped {tmp_path / 'step-90'}: half, it has no SHA256SUMS: it was never finished"]
