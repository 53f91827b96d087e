"""Samples of the tracker."""

from collections.abc import Mapping, Sequence

import pulumi

from components.platform.copying import ClientValue
from components.tracking.database import TrackingDatabase, TrackingDatabaseArgs
from components.tracking.key import TrackingKey, TrackingKeyArgs
from components.tracking.mlflow import Mlflow, MlflowArgs
from tests.components.samples.common import Make, done, of


def mlflow_args(pages: Sequence[str] = (), client: Mapping[str, ClientValue] | None = None) -> MlflowArgs:
    return MlflowArgs(
        namespace="tracking",
        image="mlflow:3",
        artifacts="s3://artefacts/tracking",
        client=client or {"AWS_REGION": "us-east-2"},
        granted="mlflow",
        password="mlflow-database",
        database=done(),
        millicores=300,
        memory_mib=600,
        pages=pages,
    )


SAMPLES: Mapping[str, Make] = {
    "tracking-database": of(
        TrackingDatabase,
        lambda: TrackingDatabaseArgs(
            namespace="tracking",
            password=pulumi.Output.secret("hush"),
            storage_class="block",
            gib=7,
            image="postgres:17",
            millicores=250,
            memory_mib=512,
        ),
    ),
    "mlflow": of(Mlflow, mlflow_args),
    "tracking-key": of(TrackingKey, lambda: TrackingKeyArgs(namespace="training", key="hush")),
}
