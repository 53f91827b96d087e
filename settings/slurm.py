"""Slurm: which pools it has, and how it shares them. Kubernetes uses only the names of the pools."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.sections import Section, SectionError
from settings.types import Matching, Name

HostPath = Annotated[
    str, Matching(r"/[A-Za-z0-9][A-Za-z0-9._/-]{0,254}", "an absolute path of plain characters, such as /mnt/shared")
]
SHARED_PATH = "/mnt/shared"
"""Where machines that a stack prepares have the shared file system."""
Weight = Annotated[int, Field(ge=0, le=1_000_000)]


class PriorityWeights(Section):
    """Weights of a waiting job's priority; each factor is between 0 and 1."""

    age: Annotated[Weight, Field(description="how long the job has waited")] = 1000
    fair_share: Annotated[Weight, Field(description="how little its account has used of its share")] = 10_000
    job_size: Annotated[Weight, Field(description="how much of the cluster it asks for")] = 1000
    partition: Annotated[Weight, Field(description="the priority of its partition")] = 1000
    qos: Annotated[Weight, Field(description="puts runs of priority training ahead of experiments")] = 10_000


class Slurm(Section):
    """Limits and shares of Slurm. Queues become accounts, with their weight as the share; runs become batch scripts.

    Machines of `pools` get Slurm and are no nodes of Kubernetes; its controllers and its database run on machines of
    system pools.
    """

    pools: Annotated[
        tuple[Name, ...],
        Field(
            max_length=100,
            description="training pools whose machines run Slurm, installed with the stack, instead of Kubernetes;"
            " () = `make slurm` writes files and nothing is installed",
        ),
    ] = ()
    max_jobs_per_user: Annotated[
        int | None, Field(ge=1, le=100_000, description="running jobs per user; None = no limit")
    ] = None
    max_hours: Annotated[float | None, Field(gt=0, le=8784, description="longest job; None = no limit")] = None
    preempt: Annotated[
        Literal["requeue", "cancel", "off"],
        Field(description="what happens to experiments when a run of priority training needs their GPUs"),
    ] = "requeue"
    half_life_days: Annotated[int, Field(ge=1, le=365, description="half-life of past usage in days")] = 7
    weights: PriorityWeights = Field(default_factory=PriorityWeights, description="weights of a waiting job's priority")
    shared_path: Annotated[HostPath, Field(description="mount point of the shared file system on every machine")] = (
        SHARED_PATH
    )
    scratch_path: Annotated[HostPath, Field(description="mount point of the local disks on machines with GPUs")] = (
        "/scratch"
    )

    @model_validator(mode="after")
    def _shared_files_are_where_machines_have_them(self) -> Self:
        if self.pools and self.shared_path != SHARED_PATH:
            said = f"is {self.shared_path}, and machines that the stack prepares have it at {SHARED_PATH}"
            raise SectionError([(("sharedPath",), f"{said}; remove the key, or remove pools")])
        return self
