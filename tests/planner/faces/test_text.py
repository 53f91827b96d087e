"""The plan as a person reads it: bars that add up, tables that lose no word, lines that fit."""

from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from planner.faces.difference import difference
from planner.faces.explain import explain
from planner.faces.findings import table
from planner.faces.layout import Part, bar, legend, quantity
from planner.faces.text import difference_text, explanation_text, plan_text
from planner.plan import draft
from planner.wording import usd
from tests.planner.stacks import TODAY, changed, planned, planned_metal

MODEL: dict[str, Any] = {
    "training.runs.0.model": "llama-3-70b",
    "training.runs.0.checkpoint": {"everyMinutes": 30, "withinSeconds": 60},
}


def printed(shown: RenderableType, width: int = 80) -> str:
    """What a terminal of that width shows, without colours."""
    screen = StringIO()
    Console(file=screen, width=width, color_system=None).print(shown)
    return screen.getvalue()


HALF_A_CHARACTER = 0.5 + 1e-9


@given(st.lists(st.floats(0, 500), max_size=7), st.floats(1, 1000), st.integers(20, 100))
def test_a_bar_is_as_long_as_its_memory(sizes: list[float], capacity: float, width: int) -> None:
    """One character for each share of the width, in order; the mark stands where the capacity ends."""
    parts = [Part(name=letter, gb=size) for letter, size in zip("ABCDEFG", sizes, strict=False)]
    drawn = bar(parts, capacity, width).plain
    assert len(drawn) == width + 1
    assert drawn.count("|") == 1
    used = sum(sizes)
    if used <= capacity:
        assert drawn.endswith("|")
        assert abs(width - drawn.count(".") - used / capacity * width) <= HALF_A_CHARACTER
    else:
        assert "." not in drawn
        assert abs(drawn.index("|") - capacity / used * width) <= HALF_A_CHARACTER
    letters = drawn.replace("|", "").replace(".", "")
    assert list(letters) == sorted(letters)


def test_bar_and_legend_by_hand() -> None:
    """40 of 80 GB are half of the bar; 120 of 80 GB pass the mark at two thirds."""
    parts = [Part(name="Weights", gb=20), Part(name="Optimizer", gb=20), Part(name="Nothing", gb=0)]
    assert bar(parts, 80, 12).plain == "WWWOOO......|"
    assert legend(parts).plain == "Weights 20.0, Optimizer 20.0"
    assert bar([Part(name="Weights", gb=120)], 80, 12).plain == "WWWWWWWW|WWWW"


def test_numbers_as_they_are_read() -> None:
    """Thousands apart, no needless zeros, cents below a thousand dollars."""
    assert [quantity(value) for value in (8, 1536.0, 0.25, 18.753)] == ["8", "1,536", "0.25", "18.75"]
    assert [usd(value) for value in (0.0034, 0.1, 488.254, 356424.4)] == ["0.0034", "0.10", "488.25", "356,424"]


@pytest.mark.parametrize("width", [80, 120])
def test_everything_fits(width: int) -> None:
    """No line is longer than the terminal, and no word is cut off."""
    plans = planned("prod", {**MODEL, "pools.1.count": 6, "budget.maxHourlyUsd": 1}), planned_metal(MODEL)
    for plan in plans:
        shown = printed(plan_text("prod", plan), width)
        assert max(map(len, shown.splitlines())) <= width
        assert "…" not in shown
        words = " ".join(shown.split())
        assert all(finding.rule in words for finding in plan.findings)
        assert all(pool.name in words for pool in plan.pools.values())
        assert all(word in words for pool in plan.pools.values() for word in pool.hardware.split())


def test_subjects_stand_in_order() -> None:
    """Pools, runs, services, storage, price, quotas, findings; on metal fabric, power and racks."""
    aws = printed(plan_text("prod", planned("prod", MODEL)))
    metal = printed(plan_text("metal", planned_metal(MODEL)))
    both = "pools\n", "run llama"
    on_aws = ("prod: 12 nodes", *both, "service llama", "storage\n", "price\n", "quotas\n", "findings:")
    on_metal = ("metal: 11 nodes", *both, "fabric\n", "storage\n", "power and racks\n", "findings:")
    for shown, subjects in ((aws, on_aws), (metal, on_metal)):
        places = [shown.index(subject) for subject in subjects]
        assert places == sorted(places)


def test_a_run_shows_its_memory_by_part() -> None:
    """What the plan says of its GPU, to a tenth of a GB."""
    plan = planned("prod", MODEL)
    training = plan.runs["llama-3-70b-pretrain"].training
    assert training is not None
    shown = printed(plan_text("prod", plan))
    assert f"{training.memory.total_gb:.1f} of {training.memory.gpu_gb:.1f} GB a GPU" in shown
    assert f"Optimizer {training.memory.optimizer_gb:.1f}" in shown
    assert "WW" in shown


def test_the_sum_of_prices_is_that_of_the_plan() -> None:
    """And lines of nothing are left out."""
    shown = printed(plan_text("prod", planned("prod")))
    assert "an hour" in shown
    assert f"{planned('prod').prices.hourly:.2f} USD, between" in shown


def test_quotas_are_those_to_ask_for() -> None:
    """Eight p5.48xlarge have 1,536 vCPU, of which a new account may have none."""
    shown = [line.split() for line in printed(plan_text("prod", planned("prod")), 120).splitlines()]
    assert ["Running", "On-Demand", "P", "instances", "1,536", "0", "8", "x", "192", "of", "p5.48xlarge"] in shown
    assert not [words for words in shown if words[:2] == ["VPCs", "per"]]


def test_cost_of_racks_says_what_redundancy_adds() -> None:
    """I10: an eighth of the purchase, a tenth of the least and 15 % of the most; renting has a range too."""
    plan = planned_metal()
    shown = " ".join(printed(plan_text("metal", plan), 160).split())
    bought = plan.owned.purchase
    assert f"{usd(1.125 * bought.usd)} USD ({usd(1.1 * bought.low)} to {usd(1.15 * bought.high)})" in shown
    assert "on demand 440.32 USD an hour on AWS, 440.32 to 607.64 (8 x p5.48xlarge)" in shown


def test_cables_are_counted_by_what_they_join() -> None:
    """64 rails to eight leaves, each with its 32 uplinks wired, as the fabric is to grow to 16 nodes."""
    assert "64 to nodes, 256 leaf to spine" in printed(plan_text("metal", planned_metal()))


def test_a_service_tells_its_adapters_and_how_it_stops_and_triton_is_beside_it() -> None:
    adapter = {"name": "sql", "base": "llama-3-70b", "weights": "s3://acme-model-weights/sql", "rank": 12}
    vision = {"name": "vision", "pool": "inference", "image": "nvcr.io/nvidia/tritonserver:26.06-py3"}
    source = {"models": "s3://acme-model-weights/vision", "modelsGb": 3.5}
    changes = {"serving.services.0.adapters": [adapter], "serving.triton": [{**vision, **source}], "pools.2.count": 2}
    shown = " ".join(printed(plan_text("prod", planned("prod", changes)), width=200).split())
    assert "sql; 1 at a time, of ranks up to 16" in shown
    assert "streams have 600 s; a stream of full length takes 335 s or more" in shown
    assert "triton vision replicas 1 of 1 NVIDIA-L40S in pool inference" in shown
    assert "3.5 GB of models, probe waits 600 s" in shown


def test_the_verdict_follows_the_errors() -> None:
    """Accepted findings stop nothing."""
    assert "0 errors, 0 warnings, 16 suppressed; it can be deployed" in printed(plan_text("prod", planned("prod")))
    refused = printed(plan_text("prod", planned("prod", {"pools.1.count": 6})))
    assert "1 error, 0 warnings, 16 suppressed; the stack is refused" in refused


def test_a_difference_is_read_without_the_plan() -> None:
    """Assignment, numbers with their gain, findings and the verdict."""
    before, after = planned("prod"), planned("prod", {"pools.1.count": 6})
    shown = printed(
        difference_text("prod", difference(before, after, assignments=["gpucluster:pools[1].count=6"]), after)
    )
    lines = [line.split() for line in shown.splitlines()]
    assert ["gpucluster:pools[1].count=6"] in lines
    assert ["pools.training.nodes", "8", "6", "-2"] in lines
    assert "new findings" in shown
    assert "gang-fits-pool" in shown
    assert "the stack is refused" in shown
    back = printed(difference_text("prod", difference(after, before, assignments=["x=1"]), before))
    assert "gone findings" in back
    assert "it can be deployed" in back
    same = printed(difference_text("prod", difference(before, before, assignments=["x=1"]), before))
    assert "no number changes" in same
    assert "no finding comes or goes" in same


def test_an_explanation_says_the_verdict_and_the_numbers_of_each_finding() -> None:
    """Paths in brackets are words and no markup."""
    over = {"budget.maxHourlyUsd": 1}
    wanted = changed("prod", over)
    explained = explain("budget", draft(wanted, today=TODAY), planned("prod", over).findings)
    shown = printed(explanation_text("prod", explained))
    assert "refuses for prod" in shown
    assert "raise the budget to" in " ".join(shown.split())


def test_table_shows_errors_first_and_every_word() -> None:
    """All findings in one table, nothing cut off, as `pulumi up` prints it."""
    plan = planned("prod", {"budget.maxHourlyUsd": 1})
    text = table(tuple(reversed(plan.findings)))
    assert text.index("budget") < text.index("waived error")
    assert all(finding.path in text for finding in plan.findings)
    assert f"raise the budget to {plan.prices.hourly:.2f}" in " ".join(text.split())
    assert text.count("suppressed:") == len(plan.warnings)
    assert "…" not in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 118
    assert table(()) == ""
