"""The page of first guesses prices the lab that is shipped."""

from planner.faces.sizing_page import LAB, page
from planner.plan import AwsPlan, plan
from settings.load import from_sections
from settings.presets import preset
from tests.planner.stacks import TODAY

OWNER = {"example": True, "lifecycle": {"owner": "nobody", "costCentre": "none"}}


def test_the_lab_of_the_page_is_the_shipped_one() -> None:
    """C14: machines, capacity, file system and GPUs of the preset, and a price that its own budget allows."""
    sections = preset(LAB)
    lines = page().splitlines()
    (said,) = (line for line in lines if f"preset `{LAB}`" in line)
    for pool in sections["pools"]:
        assert f"{pool['count']} {pool['instanceType']} ({pool.get('capacity', 'on-demand')})" in said
    assert f"{sections['storage']['lustre']['capacityGib']} GiB" in said
    (row,) = (line.split(" | ") for line in lines if line.startswith("| cloud |"))
    planned = plan(from_sections({"preset": LAB, **OWNER}), today=TODAY)
    assert row[2] == str(planned.totals.gpus)
    assert isinstance(planned, AwsPlan)
    low, _, high = row[4].partition(" to ")
    assert float(low) < sections["budget"]["maxHourlyUsd"]
    assert float(high) > planned.prices.hourly * 0.9
