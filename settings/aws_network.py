"""What a stack's network on AWS has beyond subnets and a way out. Everything here is off unless it is asked for."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from catalogue.endpoints import ENDPOINTS
from settings.endpoint_names import TWICE, EndpointName
from settings.existing_vpc import ExistingVpc
from settings.monitoring import LogDays
from settings.sections import Path, Section, SectionError, repeated
from settings.types import Cidr


class FlowLogs(Section):
    """VPC flow logs, accepted or rejected traffic, in CloudWatch Logs, encrypted with the stack's key."""

    retention_days: LogDays = 30
    traffic: Annotated[Literal["all", "accept", "reject"], Field(description="which traffic is recorded")] = "all"


Nat = Literal["none", "one", "per-zone"]


class VpcNetwork(Section):
    """Features of the VPC besides its subnets."""

    pod_cidr: Annotated[
        Cidr | None,
        Field(
            description="a second range of the VPC, /16 to /20, for pods only; None = pods are in their node's subnet"
        ),
    ] = None
    prefix_delegation: Annotated[
        bool, Field(description="assign pod addresses to nodes in blocks of 16 (/28), on all of their interfaces")
    ] = False
    existing: Annotated[ExistingVpc | None, Field(description="None = the stack creates its own VPC")] = None
    nat: Annotated[
        Nat, Field(description="NAT gateways: one in gpuZone, one per-zone, or none: no Internet access")
    ] = "one"

    flow_logs: Annotated[FlowLogs | None, Field(description="None = no flow logs")] = None
    endpoints: Annotated[
        tuple[EndpointName, ...],
        Field(
            max_length=len(ENDPOINTS), description="AWS services with an interface endpoint in the VPC, such as ecr.api"
        ),
    ] = ()
    endpoints_per_zone: Annotated[
        bool, Field(description="an interface of each endpoint in every zone, not only in gpuZone")
    ] = False

    @model_validator(mode="after")
    def _endpoints_once(self) -> Self:
        problems: list[tuple[Path, str]] = list(repeated(self.endpoints, TWICE, "endpoints"))
        if self.endpoints_per_zone and not self.endpoints:
            problems.append((("endpointsPerZone",), "there are no endpoints; list some, or remove the key"))
        problems += self._beside_the_existing()
        if problems:
            raise SectionError(problems)
        return self

    def _beside_the_existing(self) -> Iterator[tuple[Path, str]]:
        """The way out of an existing VPC is its owner's, and a name leads to one endpoint of it."""
        if self.existing is None:
            return
        if self.pod_cidr is not None:
            remedy = "remove it; only the stack's own VPC can have one"
            yield ("podCidr",), f"the ranges of an existing VPC are not the stack's; {remedy}"
        if "nat" in self.model_fields_set:
            remedy = "remove it, and say in existing.leadsOut whether its routes lead to the Internet"
            yield ("nat",), f"the routes of an existing VPC are not the stack's; {remedy}"
        for index, each in enumerate(self.endpoints):
            if each in self.existing.endpoints:
                sentence = f"existing.endpoints says that the VPC has one of {each}, and its name leads to one only"
                yield ("endpoints", index), f"{sentence}; remove it here or there"
