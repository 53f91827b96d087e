"""Kubeflow Pipelines: what their database is, what is uploaded to them, and which runs their steps may start."""

from dataclasses import dataclass

from settings.workloads import Training


@dataclass(frozen=True, kw_only=True)
class UploadPlan:
    """The compiled pipeline of a file beside the stack file."""

    name: str
    file: str


@dataclass(frozen=True, kw_only=True)
class PipelinesPlan:
    """MySQL on a volume of `gib` whose password is `secret` of the stack; steps may make jobs of `runs`. With
    `sandbox` pods of steps run in gVisor.
    """

    secret: str
    gib: int
    uploads: tuple[UploadPlan, ...]
    runs: tuple[str, ...]
    sandbox: bool = False


def plan_pipelines(training: Training) -> PipelinesPlan | None:
    """The pipelines; None without the section."""
    said = training.pipelines
    if said is None:
        return None
    uploads = tuple(UploadPlan(**each.model_dump()) for each in said.uploads)
    return PipelinesPlan(**said.model_dump(include={"secret", "gib", "runs", "sandbox"}), uploads=uploads)
