"""`python -m planner.faces.page.picture`: the drawing of the README, from the plan of the stack on metal."""

from datetime import date
from pathlib import Path

from planner.faces.page.elements import COLOURS, DRAWINGS, Markup, element
from planner.faces.page.fabric import fabric_drawing
from planner.metal_types import MetalPlan
from planner.plan import plan
from settings.load import from_file
from settings.model import MetalSettings

PICTURE = Path("docs/plan-metal.svg")
_STACK = Path("Pulumi.metal.yaml")
_PAPER = Markup("svg { background: var(--paper); }")


def picture(planned: MetalPlan) -> str:
    """The fabric as a file of its own. Raises ValueError for a plan that has none."""
    if planned.fabric is None:
        raise ValueError("the stack has no fabric to draw")
    style = element("style", COLOURS, DRAWINGS, _PAPER)
    return f"{fabric_drawing(planned.fabric.growth.day_one, style)}\n"


def main() -> None:
    """Write the drawing."""
    settings = from_file(_STACK)
    if not isinstance(settings, MetalSettings):
        raise TypeError(f"{_STACK} is no stack on metal")
    PICTURE.write_text(picture(plan(settings, today=date.today())), encoding="utf-8")


if __name__ == "__main__":
    main()
