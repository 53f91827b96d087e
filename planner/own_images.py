"""Images that the program names itself for what a stack file asks for."""

from catalogue.images import own_images
from planner.tracking import has_mlflow
from settings.serving import Serving
from settings.workloads import Training


def images_of(training: Training, serving: Serving | None = None) -> tuple[str, ...]:
    """Each once; without `serving` those for runs alone."""
    return own_images(
        experiments=bool(training.experiments),
        mpi=training.by_mpi,
        mlflow=has_mlflow(training),
        pipelines=training.pipelines is not None,
        people=serving is not None and serving.gateway is not None and serving.gateway.people is not None,
    )
