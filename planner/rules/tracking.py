"""Trackers that no longer exist, or that a run cannot reach."""

from collections.abc import Iterator

from planner.draft import Draft, rule, warning
from planner.findings import Observation
from planner.rules.known import runs
from settings.workloads import TrainingRun

ENDED = "2026-03-05"
"""The day on which Neptune's hosted service ended and its customers' data were deleted (Neptune, transition notice)."""


@rule(
    "R05 PF02",
    formula="training.tracking.kind is a tracker that there is",
    source=f"Neptune's transition notice: acquired in December 2025, the service ended on {ENDED}",
)
def tracker_ended(draft: Draft) -> Iterator[Observation]:
    """Runs report to a tracking service that still exists."""
    tracking = draft.settings.training.tracking
    if tracking is not None and tracking.kind == "neptune":
        yield Observation(
            path="training.tracking.kind",
            sentence=f"Neptune's service ended on {ENDED} and its data were deleted, so nobody hears what runs tell",
            remedy="take mlflow, which this stack then has, or wandb",
            subject="neptune",
        )


@warning(
    "R05",
    each=runs,
    formula="the tracker is MLflow, where a run's framework is reference",
    source="node/trainer/tracking.py: the reference trainer speaks MLflow's REST API and nothing else",
)
def tracker_unheard(draft: Draft, run: TrainingRun) -> Iterator[Observation]:
    """The reference trainer reports to MLflow only; a run that should report elsewhere needs its own script."""
    tracking = draft.settings.training.tracking
    if tracking is None or tracking.kind != "wandb":
        return
    if run.framework == "reference":
        yield Observation(
            path="framework",
            sentence=f"run {run.name} is trained by the reference trainer, which tells MLflow alone and nothing to "
            f"{tracking.host}",
            remedy="set training.tracking.kind to mlflow, or train by a script that imports wandb",
        )
