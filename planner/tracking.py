"""The tracker: what keeps what runs tell, and what they are told of where it is."""

from dataclasses import dataclass
from typing import Literal

from catalogue.units import SECONDS_PER_HOUR
from settings.workloads import Training

MLFLOW_REQUEST, DATABASE_REQUEST = (500, 2048), (250, 1024)
"""Millicores and MiB that the tracker and its database ask for: two workers of about half a GiB each (assumed)."""


@dataclass(frozen=True, kw_only=True)
class MlflowPlan:
    """MLflow in the cluster: its database on a volume of `gib`, copied to the object store every `backup_s`."""

    gib: int
    backup_s: int | None


@dataclass(frozen=True, kw_only=True)
class WandbPlan:
    """Weights & Biases at `host`; None where it, or the stack, has a name for what runs are told below."""

    host: str
    entity: str | None
    project: str | None


@dataclass(frozen=True, kw_only=True)
class TrackingPlan:
    """Where runs tell how they get on. `secret` of the stack is the database's password, or the key of `wandb`.

    Exactly one of `mlflow` and `wandb` is there, none of a kind that is refused.
    """

    kind: Literal["mlflow", "wandb", "neptune"]
    secret: str
    mlflow: MlflowPlan | None = None
    wandb: WandbPlan | None = None


def plan_tracking(training: Training) -> TrackingPlan | None:
    """The tracker; None without the section."""
    said = training.tracking
    if said is None:
        return None
    mlflow = wandb = None
    if said.kind == "mlflow":
        backup = None if said.backup_hours is None else said.backup_hours * SECONDS_PER_HOUR
        mlflow = MlflowPlan(gib=said.gib, backup_s=backup)
    if said.kind == "wandb":
        wandb = WandbPlan(host=said.host, entity=said.entity, project=said.project)
    return TrackingPlan(kind=said.kind, secret=said.key, mlflow=mlflow, wandb=wandb)


def has_mlflow(training: Training) -> bool:
    """Whether a tracker runs in the cluster."""
    return training.tracking is not None and training.tracking.kind == "mlflow"
