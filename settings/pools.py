"""What node pools have in common on every platform."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.sections import Path, Section, SectionError
from settings.types import MigProfile, Name

MOST_NODES = 4096
"""What count of a pool may be."""


class Pool(Section):
    """A node pool. A node's properties follow from the hardware that the platform's own pool names."""

    name: Name
    role: Literal["system", "training", "inference"]
    count: int
    mig: Annotated[
        MigProfile | None, Field(description="MIG profile that every GPU of an inference pool is partitioned into")
    ] = None
    exclusive_cpus: Annotated[
        bool,
        Field(
            description="pods of a training pool have the CPUs that they ask for to themselves, beside their GPUs (the "
            "kubelet's CPU manager is static), as whole cores; at least 4 more of each node are left for daemons. A "
            "change takes drained or new nodes"
        ),
    ] = False
    time_slices: Annotated[
        int | None, Field(ge=2, le=16, description="pods that time-share each GPU of an inference pool")
    ] = None

    @model_validator(mode="after")
    def _shared_gpus_serve(self) -> Self:
        shared = {"mig": self.mig is not None, "timeSlices": self.time_slices is not None}
        problems: list[tuple[Path, str]] = [
            ((key,), f"GPUs are shared in pools of role inference only, and role is {self.role}; remove the key")
            for key, given in shared.items()
            if given and self.role != "inference"
        ]
        if self.exclusive_cpus and self.role != "training":
            sentence = (
                "pods of training pools alone limit every container to whole CPUs, which a kubelet asks for, and "
                f"role is {self.role}; remove the key"
            )
            problems.append((("exclusiveCpus",), sentence))
        if all(shared.values()):
            problems.append((("timeSlices",), "the pool's GPUs are already partitioned by mig; remove one of the two"))
        if problems:
            raise SectionError(problems)
        return self
