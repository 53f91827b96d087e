"""What is done with a run's checkpoints: evaluations and exports, on a few GPUs of a node."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.sections import Path, Section, SectionError
from settings.types import Image, Name


class FollowUp(Section):
    """A job on a run's newest complete checkpoint: periodically for new ones, or once after the run has ended.

    Its script finds the checkpoint at `CHECKPOINT_PATH`, and leaves what it made in `RESULTS_DIR` or at `RESULTS_URI`.
    """

    name: Name
    pool: Name
    queue: Name
    script: Annotated[
        tuple[str, ...], Field(min_length=1, description="what torchrun runs, with its arguments, on one node")
    ]
    every_hours: Annotated[
        Literal[1, 2, 3, 4, 6, 8, 12, 24] | None,
        Field(description="how often to look for a new checkpoint; None = once, when the run has ended"),
    ] = None
    image: Annotated[Image | None, Field(description="None = the run's")] = None
    gpus: Annotated[int, Field(ge=1, le=64, description="of one node")] = 1
    deadline_hours: Annotated[
        float,
        Field(
            gt=0,
            le=8784,
            description="the job is terminated this many hours after its creation, time in the queue included",
        ),
    ] = 4
    keep_hours: Annotated[
        int, Field(ge=1, le=8784, description="hours after its end that the job and its log are kept")
    ] = 48

    @model_validator(mode="after")
    def _is_seen_before_it_goes(self) -> Self:
        problems: list[tuple[Path, str]] = []
        if self.every_hours is not None and self.keep_hours < 2 * self.every_hours:
            sentence = (
                f"is {self.keep_hours}, and the result of a job is recorded at the next check, every"
                f" {self.every_hours} "
                f"h; raise it to {2 * self.every_hours} or more"
            )
            problems.append((("keepHours",), sentence))
        if problems:
            raise SectionError(problems)
        return self


_JOB_NAME = 43
"""With the step of a checkpoint and the operator's `-master-0` behind it a name of 63 characters is left (RFC 1123)."""


def name_problems(run: str, follow_ups: Sequence[FollowUp]) -> list[tuple[Path, str]]:
    """Names of jobs that Kubernetes would refuse, or that are the same."""
    problems: list[tuple[Path, str]] = []
    names = [each.name for each in follow_ups]
    for index, name in enumerate(names):
        if len(run) + len(name) > _JOB_NAME:
            sentence = (
                f"{name} and the run's name have {len(run) + len(name)} characters, and the names of their jobs"
                f" leave room for {_JOB_NAME}; shorten one"
            )
            problems.append((("followUps", index, "name"), sentence))
        if name in names[:index]:
            problems.append((("followUps", index, "name"), f"{name} is already one of the run; choose another"))
    return problems
