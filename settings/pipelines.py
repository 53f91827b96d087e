"""Kubeflow Pipelines in the cluster: their database, the compiled pipelines, and the runs that a step may start."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.secrets import PIPELINES_DATABASE, SecretKey
from settings.sections import Section, SectionError, repeated
from settings.types import BackupHours, Matching, Name

CompiledFile = Annotated[
    str,
    Matching(
        r"(?=.{1,200}$)([A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*\.yaml",
        "a file below the stack file's own directory, such as pipelines/pretraining.yaml: no name in it begins with a "
        "dot",
    ),
]


class Upload(Section):
    """A compiled pipeline. It is uploaded as a new version when its content has changed."""

    name: Annotated[Name, Field(description="its name in Kubeflow Pipelines")]
    file: Annotated[CompiledFile, Field(description="the compiled pipeline, as kfp's compiler writes it")]


class Pipelines(Section):
    secret: Annotated[SecretKey, Field(description="the secret of this file that holds its database's password")] = (
        PIPELINES_DATABASE
    )
    gib: Annotated[int, Field(ge=5, le=16_384, description="size of the database's volume in GiB")] = 20
    backup_hours: BackupHours = 24
    uploads: Annotated[tuple[Upload, ...], Field(description="compiled pipelines to upload")] = ()
    sandbox: Annotated[
        bool, Field(description="run steps in gVisor, on pools with sandbox; runs that steps start are not sandboxed")
    ] = False
    runs: Annotated[
        tuple[Name, ...],
        Field(description="runs of training.runs that pipeline steps start instead of `up`"),
    ] = ()

    registry: Annotated[
        Literal["mlflow", "sagemaker"],
        Field(description="where models are registered: mlflow = the tracker's registry; sagemaker is refused"),
    ] = "mlflow"

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        said = "{} is listed twice; keep one"
        names = [each.name for each in self.uploads]
        if twice := [*repeated(names, said, "uploads", key="name"), *repeated(self.runs, said, "runs")]:
            raise SectionError(twice)
        return self
