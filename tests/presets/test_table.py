"""Every shipped stack and preset has been rehearsed whole, and plans as it was."""

import pytest

from planner.plan import plan
from settings.load import from_sections
from settings.presets import preset
from tests.presets import stacks, table
from tests.presets.rehearsing import Rehearsed

FOUND = Rehearsed(
    name="lab-metal", nodes=3, gpus=2, hosts=5, resources=165, ran="", up=61.4, preview=4.6, down=20.0, peak_gib=2.04
)
LINE = "| `lab-metal` | 3 nodes with 2 GPUs, 5 hosts over SSH | 165 | the platform alone | 61 | 5 | 20 | 2.0 |"


def test_all_that_is_shipped_has_its_row_in_the_order_of_the_list() -> None:
    assert tuple(table.rows(table.PAGE.read_text(encoding="utf-8"))) == stacks.NAMES


def test_a_row_is_put_in_its_place_replaced_and_taken_out() -> None:
    page = f"before\n{table.BEGIN}\nold\n| `dev` | a |\n| `mid` | b |\n{table.END}\nafter\n"
    assert table.row(FOUND) == LINE
    more = table.changed(page, {"lab-metal": LINE})
    assert table.rows(more) == {"dev": "| `dev` | a |", "lab-metal": LINE, "mid": "| `mid` | b |"}
    assert list(table.rows(more)) == ["dev", "lab-metal", "mid"]
    assert table.changed(more, {"lab-metal": None, "dev": None}).splitlines() == [
        *("before", table.BEGIN, *table.HEAD, "| `mid` | b |", table.END, "after")
    ]


@pytest.mark.parametrize("name", stacks.NAMES)
def test_what_is_rehearsed_has_no_error_and_as_many_machines_as_are_shipped(name: str) -> None:
    sections = stacks.sections(name)
    found = plan(from_sections(sections))
    assert list(found.errors) == []
    if (built_on := sections.get("preset")) is not None:
        counts = {each["name"]: each["count"] for each in preset(str(built_on))["pools"]}
        assert {name: pool.count for name, pool in found.pools.items()} == counts
