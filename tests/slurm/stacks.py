"""On-premises presets, as Slurm shares them."""

from functools import cache
from typing import Any

from planner.metal_types import MetalPlan
from planner.plan import plan
from planner.slurm import plan_slurm
from planner.slurm_types import SlurmPlan
from settings.load import from_sections
from settings.model import MetalSettings

OWNER = {"example": True, "lifecycle": {"owner": "ml-platform", "costCentre": "research"}}


def planned(preset: str, **sections: Any) -> tuple[MetalPlan, SlurmPlan]:
    """A preset with other sections, planned."""
    settings = from_sections({"preset": preset, **OWNER, **sections})
    assert isinstance(settings, MetalSettings)
    found = plan(settings)
    assert isinstance(found, MetalPlan)
    return found, plan_slurm(settings, found)


@cache
def as_shipped(preset: str) -> tuple[MetalPlan, SlurmPlan]:
    return planned(preset)
