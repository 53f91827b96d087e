"""Settings and catalogue in, numbers and findings out."""

from datetime import UTC, date, datetime, time
from typing import overload

from catalogue.tables import SHIPPED
from catalogue.whole import Catalogue
from planner.alike import judged
from planner.aws import aws_draft
from planner.draft import AwsDraft, MetalDraft
from planner.metal import metal_draft
from planner.metal_types import MetalPlan
from planner.types import AwsPlan, Plan
from settings.model import AwsSettings, MetalSettings

__all__ = ["AwsPlan", "Plan", "draft", "plan"]


@overload
def plan(settings: AwsSettings, *, catalogue: Catalogue = ..., today: date | None = ...) -> AwsPlan: ...
@overload
def plan(settings: MetalSettings, *, catalogue: Catalogue = ..., today: date | None = ...) -> MetalPlan: ...


def plan(
    settings: AwsSettings | MetalSettings, *, catalogue: Catalogue = SHIPPED, today: date | None = None
) -> AwsPlan | MetalPlan:
    """Plan a stack. `today` decides about waivers, ends of support and a stack's own end: a day, from its first minute
    on in UTC, or a moment of it; the default is now.

    Never raises for a stack that cannot work: that is a finding.
    """
    drafted = draft(settings, catalogue=catalogue, today=today)
    return judged(drafted, AwsPlan) if isinstance(drafted, AwsDraft) else judged(drafted, MetalPlan)


def draft(
    settings: AwsSettings | MetalSettings, *, catalogue: Catalogue = SHIPPED, today: date | None = None
) -> AwsDraft | MetalDraft:
    """What the rules look at, before any of them has."""
    now = _moment(today)
    if isinstance(settings, AwsSettings):
        return aws_draft(settings, catalogue, now)
    return metal_draft(settings, catalogue, now)


def _moment(day: date | None) -> datetime:
    """The one place where planning looks at the clock; rules ask the draft."""
    if day is None:
        return datetime.now(UTC)
    return day.astimezone(UTC) if isinstance(day, datetime) else datetime.combine(day, time(), UTC)
