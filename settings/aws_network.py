"""What a stack's network on AWS has beyond subnets and a way out. Everything here is off unless it is asked for."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from catalogue.endpoints import ENDPOINTS
from settings.aws_names import SecurityGroupId
from settings.endpoint_names import TWICE, EndpointName
from settings.existing_vpc import ExistingVpc
from settings.monitoring import LogDays
from settings.sections import Path, Section, SectionError, repeated
from settings.types import Cidr, Name


class FlowLogs(Section):
    """VPC flow logs, accepted or rejected traffic, in CloudWatch Logs, encrypted with the stack's key."""

    retention_days: LogDays = 30
    traffic: Annotated[Literal["all", "accept", "reject"], Field(description="which traffic is recorded")] = "all"


class PodGroups(Section):
    """Security groups of pods, beside the cluster's own, which they keep: EC2 tells these pods from others."""

    service: Annotated[Name | None, Field(description="a model service, whose pods they are of")] = None
    team: Annotated[Name | None, Field(description="a team, all of whose pods they are of")] = None
    groups: Annotated[
        tuple[SecurityGroupId, ...],
        Field(min_length=1, max_length=4, description="their ids, in the cluster's VPC; an interface has five at most"),
    ]

    @model_validator(mode="after")
    def _of_one_thing(self) -> Self:
        problems: list[tuple[Path, str]] = []
        if (self.service is None) is (self.team is None):
            problems.append(((), "needs either service or team, not both; set one of them"))
        problems += repeated(self.groups, "{} is named twice; name each group once", "groups")
        if problems:
            raise SectionError(problems)
        return self


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
    pod_groups: Annotated[
        tuple[PodGroups, ...], Field(max_length=100, description="security groups of single services and teams")
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
        for key in ("service", "team"):
            named = [getattr(each, key) or "" for each in self.pod_groups]
            problems += [
                (("pod_groups", index, key), f"{name} is named twice; list its groups in one place")
                for index, name in enumerate(named)
                if name and name in named[:index]
            ]
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
