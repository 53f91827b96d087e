"""What node pools have in common on every platform."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.types import MigProfile, Name, Section, SectionError


class Pool(Section):
    """A node pool. What one node is follows from the hardware that the platform's own pool names."""

    name: Name
    role: Literal["system", "training", "inference"]
    count: int
    mig: Annotated[MigProfile | None, Field(description="slices that every GPU of an inference pool is cut into")] = (
        None
    )

    @model_validator(mode="after")
    def _slices_serve(self) -> Self:
        if self.mig is not None and self.role != "inference":
            sentence = f"slices are for pools of role inference, and the role is {self.role}; remove the key"
            raise SectionError([(("mig",), sentence)])
        return self
