"""The presets with experiments and pipelines, whole: up, the gang, four trials with a winner, quiet, down to nothing.

`make presets` rehearses all the others in the same way.
"""

import io

import pytest
from rich.console import Console

from rehearsal.metal.lacking import missing
from settings.presets import preset
from tests.presets.rehearsing import rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.scale]


@pytest.mark.parametrize("name", ["h200-32n", "h200-32n-cloud"])
def test_a_gang_runs_and_four_trials_have_a_winner_beside_it(name: str) -> None:
    if preset(name)["platform"]["kind"] == "metal" and (lacking := missing()):
        pytest.skip(lacking)
    found = rehearsed(name, Console(file=io.StringIO(), width=200), within=3600)
    assert "gang llama-3-1-70b 24/24" in found.ran
    assert "4 trials of learning-rates, best learning-rate" in found.ran
    assert found.gpus == 32 * 8
