"""The switches of the compute fabric as they stand in their racks: ranges, as of machines."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import Field, model_validator

from settings.ranges import MOST_HOSTS, HostNames, RackNames, members
from settings.sections import Path, Section, SectionError
from settings.types import Matching

Guid = Annotated[
    str, Matching(r"0x[0-9a-f]{16}", "the GUID of a switch such as 0x900a840300d2a1c0 (on its label, or by ibswitches)")
]


@dataclass(frozen=True)
class SwitchMember:
    """One switch of a range, with its own values. `place` is where the stack file has the range."""

    name: str
    place: int
    rack: str | None
    unit: int | None
    guid: int | None


class Switches(Section):
    """Switches of the compute fabric, named as in the plan's cable list, with their location and identity.

    A managed switch reports its host name on the fabric; name it as in the cable list. One that is not managed
    says its model alone, and is known by its GUID.
    """

    name: Annotated[HostNames, Field(description="names, such as leaf-r[0-7]-01")]
    racks: Annotated[RackNames | None, Field(description="racks, each with as many switches as units has")] = None
    units: Annotated[
        tuple[Annotated[int, Field(ge=1, le=60)], ...],
        Field(max_length=60, description="units that a rack's switches take"),
    ] = ()
    guids: Annotated[tuple[Guid, ...], Field(max_length=MOST_HOSTS, description="GUID of each")] = ()

    @model_validator(mode="after")
    def _one_of_everything(self) -> Self:
        count, problems = len(members(self.name)), list[tuple[Path, str]]()
        if self.guids and len(self.guids) != count:
            problems.append(
                (("guids",), f"has {len(self.guids)} for {count} switches ({self.name}); give one for each")
            )
        places = (len(members(self.racks)) if self.racks else 0) * len(self.units)
        if (self.racks is not None or self.units) and places != count:
            sentence = (
                f"racks and units make {places} places for {count} switches ({self.name}); give the same number of each"
            )
            problems.append((("units",), sentence))
        if problems:
            raise SectionError(problems)
        return self

    def members(self, place: int) -> Iterator[SwitchMember]:
        """The switches one by one, in the order of their names."""
        racks = [(rack, unit) for rack in (members(self.racks) if self.racks else ()) for unit in self.units]
        for index, name in enumerate(members(self.name)):
            rack, unit = racks[index] if racks else (None, None)
            guid = int(self.guids[index], 16) if self.guids else None
            yield SwitchMember(name=name, place=place, rack=rack, unit=unit, guid=guid)
