"""How the processes of a training run are started: the framework, its options, and how many nodes it can do with."""

from typing import Annotated, Literal, Self
from xml.etree import ElementTree

from pydantic import AfterValidator, Field, model_validator

from settings.sections import Section, SectionError
from settings.types import Matching

Framework = Literal["script", "torchrun", "fsdp2", "deepspeed", "megatron", "nemo", "reference"]
"""Who reads what the planner computed. `script`: nobody, its words go to torchrun as they stand there."""

NumaBinding = Literal["node", "socket", "exclusive", "core-complex"]
"""torchrun's own words (--numa-binding, PyTorch 2.9 and later)."""

VariableName = Annotated[
    str,
    Matching(r"(NCCL|TORCH_NCCL|FI)_[A-Z0-9_]+", "a variable of NCCL, PyTorch's NCCL or libfabric, such as NCCL_DEBUG"),
]


TOPOLOGY_VARIABLE = "NCCL_TOPO_FILE"


def _is_a_topology(text: str) -> str:
    """Raises ValueError unless it is a document of one `system` (NCCL, src/graph/xml.cc, ncclTopoGetXmlFromFile)."""
    if len(text) > _TOPOLOGY_BYTES or "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError(f"is no topology of a node: at most {_TOPOLOGY_BYTES} characters of XML without a DOCTYPE")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - whoever deploys wrote it, and it has no entities
    except ElementTree.ParseError as error:
        raise ValueError(f"is no XML ({error}); take what NCCL_TOPO_DUMP_FILE wrote on such a node") from None
    if root.tag != "system":
        raise ValueError(f"is XML of {root.tag}, not of system; take what NCCL_TOPO_DUMP_FILE wrote on such a node")
    return text


_TOPOLOGY_BYTES = 200_000
Topology = Annotated[str, AfterValidator(_is_a_topology)]


class Elastic(Section):
    """A run that continues with fewer nodes: at least `min_nodes`, at most the run's `nodes`."""

    min_nodes: Annotated[int, Field(ge=1, le=4096)]


class Profile(Section):
    """The steps that rank 0 profiles."""

    from_step: Annotated[int, Field(ge=1, le=1_000_000_000)]
    to_step: Annotated[int, Field(ge=1, le=1_000_000_000)]

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        if self.to_step < self.from_step:
            raise SectionError([(("toStep",), f"is {self.to_step}, below fromStep {self.from_step}; raise it")])
        return self


class Variable(Section):
    """A variable of the network libraries that a run overrides."""

    name: VariableName
    value: Annotated[str, Field(min_length=1, max_length=256)]
