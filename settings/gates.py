"""Gates: measurements of nodes before runs start there."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from settings.sections import Section, SectionError

_WEEK = 7


class Gates(Section):
    """Tests of training nodes with a fabric, before runs are scheduled to them."""

    minutes: Annotated[
        int, Field(ge=5, le=120, description="longest duration of a test, the wait for nodes included")
    ] = 30
    storage_mib: Annotated[
        int,
        Field(ge=64, le=1_048_576, description="data that each node writes to the shared file system and reads back"),
    ] = 4096
    weekly: Annotated[
        bool, Field(description="test free nodes again on Sundays at 03:00 UTC; running work is not interrupted")
    ] = True
    expiry_days: Annotated[
        int | None,
        Field(
            ge=1,
            le=365,
            description="days that a verdict is valid, with the same driver; after that the node is tested again"
            " before new runs; None = no expiry",
        ),
    ] = 30

    history: Annotated[
        bool, Field(description="keep every verdict in the object store as well, below gates/POOL/NODE")
    ] = False

    benchmark: Annotated[
        bool,
        Field(
            description="each node also trains a small model on made-up tokens with the reference trainer; slower than "
            "the plan is a warning, never a taint"
        ),
    ] = False

    @model_validator(mode="after")
    def _holds_between_two_measurements(self) -> Self:
        if self.weekly and self.expiry_days is not None and self.expiry_days <= _WEEK:
            sentence = (
                f"is {self.expiry_days}, and what is free is measured every {_WEEK} days: verdicts would end before; "
                f"raise it to {_WEEK + 1} or more, or set weekly: false"
            )
            raise SectionError([(("expiryDays",), sentence)])
        return self
