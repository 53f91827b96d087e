"""Every shipped stack and preset has been rehearsed whole, and plans as it was."""

import time
from dataclasses import replace

import pytest
import yaml

from planner.plan import plan
from settings.load import from_sections
from settings.presets import preset
from tests.planner.stacks import plan_of, rules
from tests.presets import __main__, rehearsing, stacks, table
from tests.presets.rehearsing import RehearsalError, Rehearsed

FOUND = Rehearsed(
    name="lab-metal", nodes=3, gpus=2, hosts=5, resources=165, ran="", up=61.4, preview=4.6, down=20.0, peak_gib=2.04
)
LINE = "| `lab-metal` | 3 nodes with 2 GPUs, 5 hosts over SSH | 165 | the platform alone | 61 | 5 | 20 | 2.0 |"


def test_all_that_is_shipped_has_its_row_in_the_order_of_the_list() -> None:
    assert tuple(table.rows(table.PAGE.read_text(encoding="utf-8"))) == stacks.NAMES


def test_a_row_is_put_in_its_place_and_replaced_and_what_has_none_says_so() -> None:
    page = f"before\n{table.BEGIN}\nold\n| `mid` | b |\n{table.END}\nafter\n"
    assert table.row(FOUND) == LINE
    more = table.changed(page, {"lab-metal": LINE})
    found = table.rows(more)
    assert tuple(found) == stacks.NAMES
    assert (found["lab-metal"], found["mid"], found["dev"]) == (LINE, "| `mid` | b |", table.missing("dev"))
    assert more.startswith(f"before\n{table.BEGIN}\n{table.HEAD[0]}\n")
    assert more.endswith(f"{table.END}\nafter\n")
    assert table.rows(table.changed(more, {"mid": "| `mid` | c |"})) == {**found, "mid": "| `mid` | c |"}


def test_what_did_not_pass_says_how_far_it_came_and_why_no_further(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    came = replace(FOUND, down=None)

    def ends(name: str, screen: object, within: float) -> Rehearsed:
        raise RehearsalError(f"not to its end | within {within:.0f} s (log: /tmp/x/pulumi.log)", came)

    written: dict[str, str] = {}
    monkeypatch.setattr(__main__, "rehearsed", ends)
    monkeypatch.setattr(table, "write", written.update)
    assert __main__.main(["lab-metal", "--within", "60"]) == 1
    why = "does not pass: not to its end / within 60 s"
    assert written == {
        "lab-metal": LINE.replace("the platform alone", f"the platform alone; {why}").replace("| 20 | ", "|  | ")
    }
    assert "not to its end" in capsys.readouterr().out
    assert table.failed("lab-metal", "x" * 300, None) == f"| `lab-metal` | | | does not pass: {'x' * 200}… | | | | |"


def test_a_rehearsal_that_takes_too_long_is_ended_and_a_later_one_is_not() -> None:
    with pytest.raises(rehearsing.OverTimeError, match="not to its end within 0 s"), rehearsing._ended_after(0.01):
        time.sleep(10)
    with rehearsing._ended_after(0.01):
        pass
    time.sleep(0.02)


@pytest.mark.parametrize("name", stacks.NAMES)
def test_what_is_rehearsed_has_no_error_and_as_many_machines_as_are_shipped(name: str) -> None:
    sections = stacks.sections(name)
    found = plan(from_sections(sections))
    assert list(found.errors) == []
    if (built_on := sections.get("preset")) is not None:
        counts = {each["name"]: each["count"] for each in preset(str(built_on))["pools"]}
        assert {name: pool.count for name, pool in found.pools.items()} == counts


def test_prod_of_256_nodes_needs_a_larger_budget_and_quotas_that_are_asked_for_and_nothing_else() -> None:
    """Its subnets, Lustre, gates, system nodes and monitoring hold 2,048 GPUs as they are shipped."""
    asked, rehearsed = (
        plan_of(yaml.safe_load(stacks.text("prod", changes))["config"])
        for changes in (stacks.NODES_OF_PROD, stacks.LARGE_PROD)
    )
    assert [each.rule for each in asked.errors] == ["budget", "gpu-ceiling"]
    assert list(rehearsed.errors) == []
    assert sorted({*rules(asked)} - {"budget", "gpu-ceiling"}) == sorted({*rules(rehearsed)})
    assert sorted(rules(rehearsed)) == ["month-above-alerts", "quota-above-default", "quota-above-default"]
