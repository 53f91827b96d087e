"""Images that the program names itself for what a stack file's training asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catalogue.images import own_images
from planner.tracking import has_mlflow

if TYPE_CHECKING:
    from settings.workloads import Training


def images_of(training: Training) -> tuple[str, ...]:
    """Each once."""
    return own_images(
        experiments=bool(training.experiments),
        mpi=training.by_mpi,
        mlflow=has_mlflow(training),
        pipelines=training.pipelines is not None,
    )
