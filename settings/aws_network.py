"""What a stack's network on AWS has beyond subnets and a way out. Everything here is off unless it is asked for."""

from difflib import get_close_matches
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from catalogue.echo import echo
from catalogue.endpoints import ENDPOINTS
from settings.monitoring import LogDays
from settings.sections import Path, Section, SectionError


def _endpoint(value: str) -> str:
    if value in ENDPOINTS:
        return value
    near = get_close_matches(value, ENDPOINTS, n=1)
    meant = f"did you mean {near[0]}" if near else f"take some of {', '.join(ENDPOINTS)}"
    raise ValueError(f"{echo(value)} is no service that the program knows an interface endpoint of; {meant}")


class FlowLogs(Section):
    """Records of which address spoke with which one, accepted or rejected: in CloudWatch Logs, with the stack's key."""

    retention_days: LogDays = 30
    traffic: Annotated[Literal["all", "accept", "reject"], Field(description="which traffic is recorded")] = "all"


Nat = Literal["none", "one", "per-zone"]

EndpointName = Annotated[str, AfterValidator(_endpoint)]


class VpcNetwork(Section):
    """The VPC beyond its subnets."""

    nat: Annotated[
        Nat, Field(description="NAT gateways: one in gpuZone, one per-zone, or none: then nothing leads out")
    ] = "one"

    flow_logs: Annotated[FlowLogs | None, Field(description="None = nobody records who speaks with whom")] = None
    endpoints: Annotated[
        tuple[EndpointName, ...],
        Field(max_length=len(ENDPOINTS), description="services of AWS that are reached inside the VPC, as in ecr.api"),
    ] = ()
    endpoints_per_zone: Annotated[
        bool, Field(description="an interface of each endpoint in every zone, not in gpuZone alone")
    ] = False

    @model_validator(mode="after")
    def _endpoints_once(self) -> Self:
        problems: list[tuple[Path, str]] = []
        for index, each in enumerate(self.endpoints):
            if each in self.endpoints[:index]:
                problems.append((("endpoints", index), f"{each} is named twice; name each service once"))
        if self.endpoints_per_zone and not self.endpoints:
            problems.append((("endpointsPerZone",), "there are no endpoints; name some, or remove the key"))
        if problems:
            raise SectionError(problems)
        return self
