"""How Slurm shares the machines, where a site lets Slurm do that (`make slurm`). Kubernetes reads nothing of it."""

from typing import Annotated, Literal

from pydantic import Field

from settings.sections import Section
from settings.types import Matching

HostPath = Annotated[
    str, Matching(r"/[A-Za-z0-9][A-Za-z0-9._/-]{0,254}", "an absolute path of plain characters, such as /mnt/shared")
]
Weight = Annotated[int, Field(ge=0, le=1_000_000)]


class PriorityWeights(Section):
    """What a waiting job's place in the queue is made of. Each part is between 0 and 1 before it is weighed."""

    age: Annotated[Weight, Field(description="how long the job has waited")] = 1000
    fair_share: Annotated[Weight, Field(description="how little its account has used of its share")] = 10_000
    job_size: Annotated[Weight, Field(description="how much of the cluster it asks for")] = 1000
    partition: Annotated[Weight, Field(description="the priority of its partition")] = 1000
    qos: Annotated[Weight, Field(description="runs of priority training stand before experiments by it")] = 10_000


class Slurm(Section):
    """Limits and shares of Slurm. Queues become accounts, with their weight as the share; runs become batch scripts."""

    max_jobs_per_user: Annotated[
        int | None, Field(ge=1, le=100_000, description="jobs of one user that run at once; None = no limit")
    ] = None
    max_hours: Annotated[float | None, Field(gt=0, le=8784, description="longest job; None = no limit")] = None
    preempt: Annotated[
        Literal["requeue", "cancel", "off"],
        Field(description="what becomes of experiments whose GPUs a run of priority training needs"),
    ] = "requeue"
    half_life_days: Annotated[
        int, Field(ge=1, le=365, description="after so many days what was used counts half against its account")
    ] = 7
    weights: PriorityWeights = Field(
        default_factory=PriorityWeights, description="what the priority of a waiting job is made of"
    )
    shared_path: Annotated[HostPath, Field(description="where every machine has the shared file system")] = (
        "/mnt/shared"
    )
    scratch_path: Annotated[HostPath, Field(description="where a machine with GPUs has its own disks")] = "/scratch"
