"""Settings and catalogue in, numbers and findings out. A stack on AWS loads nothing of what plans racks."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, overload

import planner.rules  # noqa: F401
from catalogue.tables import SHIPPED
from catalogue.whole import Catalogue
from planner.aws import aws_draft, plan_aws
from planner.draft import AwsDraft
from planner.types import AwsPlan, Plan

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from planner.metal_draft import MetalDraft
    from planner.metal_types import MetalPlan
    from settings.model import AwsSettings, MetalSettings

__all__ = ["AwsPlan", "Plan", "draft", "plan"]


@overload
def plan(settings: AwsSettings, *, catalogue: Catalogue = ..., today: date | None = ...) -> AwsPlan: ...
@overload
def plan(settings: MetalSettings, *, catalogue: Catalogue = ..., today: date | None = ...) -> MetalPlan: ...


def plan(
    settings: AwsSettings | MetalSettings, *, catalogue: Catalogue = SHIPPED, today: date | None = None
) -> AwsPlan | MetalPlan:
    """Plan a stack. `today` decides about waivers and ends of support; the default is the current day.

    Never raises for a stack that cannot work: that is a finding.
    """
    day = today or date.today()
    if _on_aws(settings):
        return plan_aws(settings, catalogue, day)
    from planner.metal import plan_metal

    return plan_metal(settings, catalogue, day)


def draft(
    settings: AwsSettings | MetalSettings, *, catalogue: Catalogue = SHIPPED, today: date | None = None
) -> AwsDraft | MetalDraft:
    """What the rules look at, before any of them has."""
    day = today or date.today()
    if _on_aws(settings):
        return aws_draft(settings, catalogue, day)
    from planner.metal import metal_draft

    return metal_draft(settings, catalogue, day)


def _on_aws(settings: AwsSettings | MetalSettings) -> TypeIs[AwsSettings]:
    return settings.platform.kind == "aws"
