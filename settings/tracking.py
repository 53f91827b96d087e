"""Where runs report parameters and metrics: MLflow in the cluster, or a service outside."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.secrets import TRACKING_DATABASE, TRACKING_KEY, SecretKey
from settings.sections import Section, SectionError
from settings.types import BackupHours, Matching

Host = Annotated[
    str,
    Matching(r"[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?", "a name of a host without https://, such as api.wandb.ai"),
]
Project = Annotated[
    str,
    Matching(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", "a name of letters, digits and _ . -, a letter or digit first"),
]
_OF_MLFLOW = {"gib": "gib", "backup_hours": "backupHours"}
_OF_WANDB = {"host": "host", "entity": "entity", "project": "project"}
_KEYS = {**_OF_MLFLOW, **_OF_WANDB}


class Tracking(Section):
    """A tracker. `gib` and `backupHours` are MLflow's; `host`, `entity` and `project` those of Weights & Biases."""

    kind: Annotated[
        Literal["mlflow", "wandb", "neptune"],
        Field(description="mlflow = a server in the cluster; wandb = Weights & Biases; neptune was discontinued"),
    ] = "mlflow"
    secret: Annotated[
        SecretKey | None,
        Field(
            description="the secret of this file that holds the database's password (mlflow) or the key (wandb);"
            " None = {TRACKING_DATABASE}, {TRACKING_KEY}"
        ),
    ] = None
    gib: Annotated[int, Field(ge=5, le=16_384, description="size of the database's volume in GiB")] = 20
    backup_hours: BackupHours = 24
    host: Annotated[Host, Field(description="host of Weights & Biases")] = "api.wandb.ai"
    entity: Annotated[Project | None, Field(description="team or user there; None = the key's owner")] = None
    project: Annotated[Project | None, Field(description="project there; None = the stack's name")] = None

    @model_validator(mode="after")
    def _keys_are_of_its_kind(self) -> Self:
        own = {"mlflow": _OF_MLFLOW, "wandb": _OF_WANDB}.get(self.kind, {})
        lost = [name for name in _KEYS if name in self.model_fields_set and name not in own]
        if lost:
            whose = "mlflow" if lost[0] in _OF_MLFLOW else "wandb"
            raise SectionError([((_KEYS[lost[0]],), f"is of kind {whose}, and kind is {self.kind}; remove it")])
        return self

    @property
    def key(self) -> str:
        """The secret by its name."""
        return self.secret or (TRACKING_DATABASE if self.kind == "mlflow" else TRACKING_KEY)
