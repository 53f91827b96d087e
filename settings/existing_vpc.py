"""An existing VPC, for a stack that creates none."""

from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from settings.aws_names import ZoneId
from settings.endpoint_names import TWICE, EndpointName
from settings.sections import Path, Section, SectionError, repeated
from settings.types import Matching, PrivateCidr

NODES_STAND = ("control-plane", "system")
"""Roles that take a subnet in each zone of the stack."""


VpcId = Annotated[str, Matching(r"vpc-[0-9a-f]{8,17}", "the id of a VPC such as vpc-0123456789abcdef0")]
SubnetId = Annotated[str, Matching(r"subnet-[0-9a-f]{8,17}", "the id of a subnet such as subnet-0123456789abcdef0")]


def _of_a_vpc(value: str) -> str:
    if not 16 <= IPv4Network(value).prefixlen <= 28:
        raise ValueError(
            f"{value} is not a subnet's range, which is a /16 to a /28 (VPC user guide); write the subnet's"
        )
    return value


class ExistingSubnet(Section):
    """A subnet of the VPC in one role; list a subnet with several roles once for each."""

    id: Annotated[SubnetId, Field(description="of a subnet of the VPC")]
    role: Annotated[Literal["control-plane", "system", "gpu", "public"], Field(description="what is put there")]
    zone: Annotated[ZoneId, Field(description="where it stands")]
    cidr: Annotated[
        PrivateCidr, AfterValidator(_of_a_vpc), Field(description="its address range, which limits the number of nodes")
    ]


class ExistingVpc(Section):
    """The existing VPC of the cluster. Its routes, gateways and subnets are not changed, and outlive the stack."""

    vpc_id: Annotated[VpcId, Field(description="of a VPC of the account, in platform.region")]
    subnets: Annotated[
        tuple[ExistingSubnet, ...],
        Field(
            min_length=1,
            max_length=64,
            description="one subnet of role gpu in gpuZone; one control-plane and one system subnet in each zone",
        ),
    ]
    leads_out: Annotated[
        bool, Field(description="whether its control-plane, system and gpu subnets have a route to the Internet")
    ] = True
    endpoints: Annotated[
        tuple[EndpointName, ...],
        Field(max_length=64, description="interface endpoints that the VPC has already, as in ecr.api"),
    ] = ()

    @model_validator(mode="after")
    def _subnets_are_themselves(self) -> Self:
        problems = [*self._told_twice(), *self._overlapping()]
        if problems:
            raise SectionError(problems)
        return self

    def _told_twice(self) -> Iterator[tuple[Path, str]]:
        seen: dict[str, ExistingSubnet] = {}
        placed: dict[tuple[str, str], str] = {}
        for index, each in enumerate(self.subnets):
            first = seen.setdefault(each.id, each)
            if (first.zone, first.cidr) != (each.zone, each.cidr):
                sentence = f"{each.id} is {each.cidr} in {each.zone} here, and {first.cidr} in {first.zone} above"
                yield ("subnets", index), f"{sentence}; write what the subnet is"
            other = placed.setdefault((each.role, each.zone), each.id)
            if index and (other != each.id or any(each == one for one in self.subnets[:index])):
                sentence = f"{each.zone} has its {each.role} subnet already, {other}"
                yield ("subnets", index, "role"), f"{sentence}; name one for each role and zone"
        yield from repeated(self.endpoints, TWICE, "endpoints")

    def _overlapping(self) -> Iterator[tuple[Path, str]]:
        for index, each in enumerate(self.subnets):
            for other in self.subnets[:index]:
                if other.id != each.id and IPv4Network(other.cidr).overlaps(IPv4Network(each.cidr)):
                    sentence = f"{each.cidr} overlaps {other.cidr} of {other.id}, which subnets of one VPC cannot"
                    yield ("subnets", index, "cidr"), f"{sentence}; write what each subnet is"
                    break

    def in_place(self, zones: tuple[str, ...], gpu_zone: str, vpc_cidr: str) -> Iterator[tuple[Path, str]]:
        """What is wrong with the subnets where the platform stands in these zones and this range."""
        for index, each in enumerate(self.subnets):
            if not IPv4Network(each.cidr).subnet_of(IPv4Network(vpc_cidr)):
                sentence = f"{each.cidr} is outside of vpcCidr {vpc_cidr}"
                remedy = "write the VPC's own range there; subnets in a second range of a VPC are not built yet"
                yield ("subnets", index, "cidr"), f"{sentence}; {remedy}"
            if each.zone not in zones:
                yield ("subnets", index, "zone"), f"{each.zone} is not one of zones; name it there, or leave this out"
            elif each.role == "gpu" and each.zone != gpu_zone:
                remedy = "name the one in gpuZone, or move gpuZone"
                yield ("subnets", index, "zone"), f"GPU nodes stand in {gpu_zone}, this is in {each.zone}; {remedy}"
        there = {(each.role, each.zone) for each in self.subnets}
        needed = [("gpu", gpu_zone), *((role, zone) for zone in zones for role in NODES_STAND)]
        for role, zone in needed:
            if (role, zone) not in there:
                begin = f"no {role} subnet in {zone}"
                remedy = "list a subnet with several roles once for each"
                yield ("subnets",), f"{begin}; add {{id: subnet-..., role: {role}, zone: {zone}, cidr: ...}} ({remedy})"
