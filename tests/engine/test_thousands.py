"""256 nodes of eight GPUs each, from nothing to nothing."""

import pytest
from rich.console import Console

from tests.bench.gang import LARGE
from tests.presets.rehearsing import rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.scale]


def test_a_gang_of_2048_gpus_runs_and_nothing_is_left() -> None:
    """The second preview is quiet, and the destroy is proven empty: `rehearsed` raises where one is not."""
    came = rehearsed("two-thousand", Console(quiet=True), 3600, LARGE.read_text())
    assert (came.nodes, came.gpus) == (259, 2049)
    assert "gang sft 256/256" in came.ran
    assert came.preview is not None
    assert came.down is not None
