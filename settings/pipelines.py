"""Kubeflow Pipelines in the cluster: their database, the compiled pipelines, and the runs that a step may start."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.secrets import PIPELINES_DATABASE, SecretKey
from settings.sections import Path, Section, SectionError, repeated
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
    team: Annotated[
        Name | None, Field(description="the team of pipelines.teams that gets it; None = the stack's own")
    ] = None


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
    teams: Annotated[
        tuple[Name, ...],
        Field(description="teams that get Kubeflow Pipelines of their own, in namespaces that no other team sees"),
    ] = ()
    registry: Annotated[
        Literal["mlflow", "sagemaker"],
        Field(description="where models are registered: mlflow = the tracker's registry; sagemaker is refused"),
    ] = "mlflow"

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        said = "{} is listed twice; keep one"
        names = [each.name for each in self.uploads]
        lists = (("runs", self.runs), ("teams", self.teams))
        problems = [
            *repeated(names, said, "uploads", key="name"),
            *(twice for key, listed in lists for twice in repeated(listed, said, key)),
            *self._of_teams_without(),
        ]
        if problems:
            raise SectionError(problems)
        return self

    def _of_teams_without(self) -> Iterator[tuple[Path, str]]:
        for index, upload in enumerate(self.uploads):
            if upload.team is not None and upload.team not in self.teams:
                sentence = f"{upload.team} has no pipelines of its own; add it to training.pipelines.teams"
                yield ("uploads", index, "team"), sentence
