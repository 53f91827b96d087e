"""What docs/lifecycle.md says is so: its commands print its lines, and a second pool leaves the first alone."""

import re
from copy import deepcopy
from typing import Any

import pytest

from planner.__main__ import main
from tests.graph.harness import Recorded
from tests.graph.stackfiles import ROOT, graph_of, run_program, stack_config
from tests.typed import handed

PAGE = (ROOT / "docs" / "lifecycle.md").read_text(encoding="utf-8")


def told() -> list[Any]:
    """The page's commands with the lines below them."""
    blocks = re.findall(r"^ *```console\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)
    sessions = [block.splitlines() for block in blocks]
    return [
        pytest.param(
            first.strip().removeprefix("$ make plan "), [line.strip() for line in lines], id=first.strip()[12:]
        )
        for first, *lines in sessions
    ]


@pytest.mark.parametrize(("words", "lines"), told())
def test_the_commands_print_the_lines(words: str, lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """AB03, AB04, AB05, AB08: profiling and tuning, growth, another generation, five years."""
    (arguments,) = handed(f"make plan {words}")
    main(arguments[2:])
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    missing = [line for line in lines if not any(each.startswith(" ".join(line.split())) for each in said)]
    assert lines
    assert missing == []


def stack(*pools: dict[str, Any], runs_on: str) -> Recorded:
    """The dev stack with these training pools, and its run on one of them."""
    config = deepcopy(stack_config("dev"))
    system, _, inference = config["gpucluster:pools"]
    config["gpucluster:pools"] = [system, *pools, inference]
    config["gpucluster:training"]["runs"][0]["pool"] = runs_on
    config["gpucluster:budget"] = {"maxHourlyUsd": 900}
    return run_program(config, stack="dev")


BLUE = {"name": "training", "role": "training", "instanceType": "p5.4xlarge", "count": 2}
GREEN = {"name": "training-b200", "role": "training", "instanceType": "p6-b200.48xlarge", "count": 2}
CAP = "queues-training"
DRAWN = ("dashboards-", "rules-")
"""What shows and watches all pools and runs there are."""
"""What training may take of all GPUs: those of both pools, while there are two."""


def test_a_second_pool_is_built_beside_the_first_and_takes_over() -> None:
    """AB05: blue, both, the run on green, green alone; what is not of a pool stays what it is."""
    before = stack(BLUE, runs_on="training")
    both = stack(BLUE, GREEN, runs_on="training")
    moved = stack(BLUE, GREEN, runs_on="training-b200")
    after = stack(GREEN, runs_on="training-b200")

    def changed(one: Recorded, other: Recorded) -> set[str]:
        shared = one.resources.keys() & other.resources.keys()
        names = {one.resources[urn].name for urn in shared if one.resources[urn].inputs != other.resources[urn].inputs}
        return {name for name in names if not name.startswith(DRAWN)}

    def only(one: Recorded, other: Recorded) -> set[str]:
        return {one.resources[urn].name for urn in one.resources.keys() - other.resources.keys()}

    added = only(both, before)
    assert added
    assert all("training-b200" in name for name in added)
    assert changed(before, both) == {CAP}
    assert only(before, both) == set()
    assert changed(both, moved) == {"run-llama-3-8b-sft-job"}
    measured, left = only(moved, both), only(both, moved)
    assert measured
    assert all("gate-training-b200" in name for name in measured), "the pool that runs come to is measured"
    assert {name.replace("training-b200", "training") for name in measured} == left
    gone = only(moved, after)
    assert {name.replace("training-b200", "training") for name in added} == gone
    assert only(after, moved) == set()
    assert changed(moved, after) == {CAP}


def test_the_page_names_what_there_is() -> None:
    """AB06, AB07: the documents that are generated, the test of the drain, and the schedule as the program names it."""
    named = re.findall(r"`((?:tests|docs|settings)/[\w./]+)`", PAGE)
    assert {"tests/engine/test_dev_maintenance.py", "settings/schema.json", "docs/reference/"} <= set(named)
    assert [each for each in named if not (ROOT / each).exists()] == []
    schedule = graph_of("prod").one("backup-llama-3-70b-pretrain-schedule").inputs["metadata"]["name"]
    assert f"--from=cronjob/{schedule.replace('llama-3-70b-pretrain', 'RUN')}" in PAGE
