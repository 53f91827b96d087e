"""Racked stacks beside the shipped one, whole: up, what runs, a quiet preview, down to nothing.

`make presets` rehearses the other presets in the same way.
"""

import io

import pytest
import yaml
from rich.console import Console

from rehearsal.metal.lacking import missing
from tests.presets.rehearsing import Rehearsed, rehearsed
from tests.stacks.lustre_stack import with_lustre

pytestmark = [pytest.mark.engine, pytest.mark.scale]


def whole(name: str, own: str = "") -> Rehearsed:
    if lacking := missing():
        pytest.skip(lacking)
    return rehearsed(name, Console(file=io.StringIO(), width=200), within=2400, own=own)


def test_a_gang_and_a_service_run_beside_each_other() -> None:
    found = whole("h100-8n")
    assert "gang llama-3-70b 7/7" in found.ran
    assert "service llama-3-70b 2/2" in found.ran
    assert found.gpus == 8 * 8


def test_a_stack_with_a_lustre_of_its_own_trains_from_it_st06() -> None:
    """Servers are formatted and mounted before the clients, which are before the run that reads and saves there."""
    found = whole("metal", yaml.safe_dump({"config": with_lustre()}, sort_keys=False))
    assert "gang llama-3-70b-pretrain" in found.ran
    assert found.hosts > found.nodes
