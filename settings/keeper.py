"""When a stack ends by itself, and when its GPU pools are scaled to zero."""

from typing import Annotated, Literal, Self
from zoneinfo import available_timezones

from pydantic import AfterValidator, Field, model_validator

from settings.sections import Section, SectionError
from settings.types import Email, Matching, Moment

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WORKDAYS: tuple[Weekday, ...] = ("mon", "tue", "wed", "thu", "fri")
ClockTime = Annotated[str, Matching(r"([01][0-9]|2[0-3]):[0-5][0-9]", "a time of the day, such as 08:00")]


def _time_zone(value: str) -> str:
    if value not in available_timezones():
        raise ValueError(f"{value!r} is not a time zone of the IANA database; type one such as Europe/Berlin or UTC")
    return value


class OffHours(Section):
    """GPU pools run from `start` to `end` on `days`, and have no nodes at other times."""

    time_zone: Annotated[
        str,
        AfterValidator(_time_zone),
        Field(description="IANA time zone of days and times"),
    ]
    days: Annotated[tuple[Weekday, ...], Field(min_length=1, max_length=7, description="days with nodes")] = WORKDAYS
    start: Annotated[ClockTime, Field(description="when nodes are scaled up")] = "08:00"
    end: Annotated[ClockTime, Field(description="when they go")] = "20:00"

    @model_validator(mode="after")
    def _times_in_order(self) -> Self:
        if self.end <= self.start:
            raise SectionError([(("end",), f"{self.end} is not after start {self.start}; type a later time")])
        return self


class Keeper(Section):
    """Automation that runs in the account: warnings, a scheduled end, off-hours."""

    ends_at: Annotated[
        Moment | None, Field(description="when the stack ends; None = at midnight UTC after lifecycle.expiry")
    ] = None
    max_usd: Annotated[
        float | None,
        Field(gt=0, le=100_000_000, description="total cost after which the stack ends"),
    ] = None
    warn_hours: Annotated[float, Field(gt=0, le=168, description="hours before the end at which a warning is sent")] = 1
    emails: Annotated[
        tuple[Email, ...],
        Field(max_length=10, description="recipients; each confirms by a link that AWS sends"),
    ] = ()
    off_hours: Annotated[OffHours | None, Field(description="None = GPU pools run day and night")] = None
    blocks: Annotated[
        bool,
        Field(
            description="scale pools in capacity blocks up when the block starts; 45 minutes before its end their"
            " pods get SIGTERM to save, 40 minutes before they are scaled down"
        ),
    ] = False
