"""How a run saves: how often, how long it may stand for that, how many are kept, and where."""

from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from settings.sections import Section, SectionError

CopyHours = Literal[1, 2, 3, 4, 6, 8, 12, 24]
COPY_HOURS: tuple[int, ...] = get_args(CopyHours)
MOST_MINUTES, MOST_KEPT = 10_080, 1000


class Checkpoint(Section):
    """How often a run writes a checkpoint, how long that may take, how many are kept, and where they are copied to."""

    every_minutes: Annotated[float, Field(gt=0, le=MOST_MINUTES)]
    within_seconds: Annotated[float, Field(gt=0, le=86_400, description="longest pause that a checkpoint may cause")]
    keep: Annotated[int, Field(ge=1, le=MOST_KEPT)] = 3
    local: Annotated[bool, Field(description="write to the nodes' local disks first, and copy from there")] = False
    file_system_minutes: Annotated[
        float | None,
        Field(
            gt=0,
            le=MOST_MINUTES,
            description="with local: how often a checkpoint is copied to the file system; None = every one",
        ),
    ] = None
    object_store_hours: Annotated[
        CopyHours | None,
        Field(description="how often the newest checkpoint is verified and copied to the object store; None = never"),
    ] = None

    sidecar: Annotated[
        bool,
        Field(
            description="a container beside the ranks hashes complete checkpoints of any framework, copies them from "
            "the local disks, and keeps the last ones"
        ),
    ] = False

    @model_validator(mode="after")
    def _saves_are_apart(self) -> Self:
        problems = []
        if self.within_seconds >= self.every_minutes * 60:
            sentence = f"is {self.within_seconds:g}, and the next save begins after everyMinutes {self.every_minutes:g}"
            problems.append((("withinSeconds",), f"{sentence}; lower it, or save more seldom"))
        if self.file_system_minutes is not None:
            if not self.local:
                problems.append((("fileSystemMinutes",), "has no effect without local: true; remove it or add that"))
            elif self.file_system_minutes < self.every_minutes:
                sentence = f"is {self.file_system_minutes:g}, below everyMinutes {self.every_minutes:g}; raise it"
                problems.append((("fileSystemMinutes",), sentence))
        if self.object_store_hours is not None and self.object_store_hours * 60 < self.on_file_system_minutes:
            sentence = (
                f"is {self.object_store_hours}, and only every {self.on_file_system_minutes:g} min is there another"
                f" save to copy; raise it"
            )
            problems.append((("objectStoreHours",), sentence))
        if problems:
            raise SectionError(problems)
        return self

    @property
    def on_file_system_minutes(self) -> float:
        """How often the shared file system gets a save."""
        return self.every_minutes if self.file_system_minutes is None else self.file_system_minutes
