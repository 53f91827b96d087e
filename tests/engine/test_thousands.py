"""256 nodes of eight GPUs each, from nothing to nothing."""

import pytest
from rich.console import Console

from tests.presets.rehearsing import rehearsed
from tests.presets.stacks import LARGE, LARGE_PROD, text

pytestmark = [pytest.mark.engine, pytest.mark.scale]


@pytest.mark.parametrize(
    ("name", "own", "counted", "gang"),
    [
        ("two-thousand", LARGE.read_text(), (259, 2049), "gang sft 256/256"),
        ("prod", text("prod", LARGE_PROD), (260, 2056), "gang llama-3-70b-pretrain 256/256"),
    ],
    ids=["plain", "prod"],
)
def test_a_gang_of_2048_gpus_runs_and_nothing_is_left(name: str, own: str, counted: tuple[int, int], gang: str) -> None:
    """The second preview is quiet, and the destroy is proven empty: `rehearsed` raises where one is not."""
    came = rehearsed(name, Console(quiet=True), 3600, own)
    assert (came.nodes, came.gpus) == counted
    assert gang in came.ran
    assert came.preview is not None
    assert came.down is not None
