"""What a stack file says about AWS: where, who may do what, and what it may cost."""

from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.aws_names import AccountId, Arn, AwsProfile, KeyArn, PolicyArn, Region, ZoneId
from settings.aws_network import VpcNetwork
from settings.monitoring import LogDays
from settings.pod_range import beside
from settings.sections import Path, Section, SectionError, repeated
from settings.types import SERVICE_CIDR, Cidr, Email, KubernetesMinor, Name, PublicCidr, VpcCidr
from settings.zones import zone_prefix


class Access(Section):
    """How deployers reach the private endpoint: from a network connected to the VPC, or from inside the VPC."""

    via: Annotated[
        Literal["peering", "transit-gateway", "vpn", "inside"],
        Field(description="what connects the network to the VPC; inside = a runner, tunnel or Client VPN in it"),
    ]
    network: Annotated[Name | None, Field(description="name of the connected network")] = None
    cidrs: Annotated[tuple[Cidr, ...], Field(max_length=40, description="addresses of the connected network")] = ()

    @model_validator(mode="after")
    def _network_is_described(self) -> Self:
        problems: list[tuple[Path, str]] = []
        for key, value, example in (("network", self.network, "head-office"), ("cidrs", self.cidrs, "[10.8.0.0/16]")):
            if self.via == "inside" and value:
                problems.append(((key,), "applies to a connected network, and via is inside; remove it"))
            elif self.via != "inside" and not value:
                problems.append(((key,), f"via {self.via} needs it, such as {example}"))
        if problems:
            raise SectionError(problems)
        return self


class Aws(Section):
    """The cluster's place on AWS. All GPU nodes, reservations and file systems are in `gpu_zone`."""

    kind: Literal["aws"]
    region: Region
    zones: Annotated[tuple[ZoneId, ...], Field(min_length=2, max_length=6, description="zones of the control plane")]
    gpu_zone: ZoneId
    account_id: Annotated[AccountId | None, Field(description="refuse any other account")] = None
    profile: Annotated[AwsProfile | None, Field(description="profile of the AWS configuration to deploy with")] = None
    role_arn: Annotated[Arn | None, Field(description="role to assume for the deployment")] = None
    vpc_cidr: Annotated[VpcCidr, Field(description="a private /16 to /20; it cannot change later")] = "10.64.0.0/16"
    kubernetes_version: KubernetesMinor
    public_access_cidrs: Annotated[
        tuple[PublicCidr, ...],
        Field(description="networks that may reach the Kubernetes API from outside; none = private"),
    ] = ()
    access: Annotated[
        Access | None, Field(description="how deployers reach the private endpoint of the Kubernetes API")
    ] = None
    network: Annotated[VpcNetwork, Field(description="further features of the VPC")] = Field(default_factory=VpcNetwork)

    @model_validator(mode="after")
    def _zones_belong_together(self) -> Self:
        problems: list[tuple[Path, str]] = []
        prefix = zone_prefix(self.region)
        problems += repeated(self.zones, "{} is named twice; name each zone once", "zones")
        problems += repeated(self.public_access_cidrs, "{} is named twice; name each network once", "publicAccessCidrs")
        for index, zone in enumerate(self.zones):
            if zone not in self.zones[:index] and not zone.startswith(f"{prefix}-"):
                problems.append((("zones", index), f"{zone} is not in {self.region}; its zones are {prefix}-az1, ..."))
        if self.gpu_zone not in self.zones:
            problems.append((("gpuZone",), f"{self.gpu_zone} is not one of zones; name it there too"))
        problems += self._in_the_existing_vpc()
        if pods := self.network.pod_cidr:
            problems += [(("network", "podCidr"), sentence) for sentence in beside(pods, self.vpc_cidr)]
        if problems:
            raise SectionError(problems)
        return self

    def _in_the_existing_vpc(self) -> Iterator[tuple[Path, str]]:
        if (existing := self.network.existing) is None:
            return
        if "vpc_cidr" not in self.model_fields_set:
            yield ("vpcCidr",), f"{existing.vpc_id} has its own range; write it here"
            return
        for path, sentence in existing.in_place(self.zones, self.gpu_zone, self.vpc_cidr):
            yield ("network", "existing", *path), sentence

    @model_validator(mode="after")
    def _connected_network_is_elsewhere(self) -> Self:
        """Answers to an address of the VPC or of the Services never leave the VPC (VPC peering guide)."""
        problems: list[tuple[Path, str]] = []
        for index, cidr in enumerate(self.access.cidrs if self.access else ()):
            pods = [(self.network.pod_cidr, "network.podCidr")] if self.network.pod_cidr else []
            for taken, owner in ((self.vpc_cidr, "vpcCidr"), (SERVICE_CIDR, "the cluster's Services"), *pods):
                if IPv4Network(cidr).overlaps(IPv4Network(taken)) and IPv4Network(cidr).prefixlen:
                    sentence = f"{cidr} overlaps {taken} of {owner}, and answers to it never leave the VPC"
                    remedy = "name addresses of the connected network only, or choose another vpcCidr"
                    problems.append((("access", "cidrs", index), f"{sentence}; {remedy}"))
        if problems:
            raise SectionError(problems)
        return self


class AuditLog(Section):
    """Control-plane and audit logs that outlive the stack."""

    key_arn: Annotated[
        KeyArn,
        Field(
            description="KMS key that encrypts it: not the stack's own, which is destroyed with it; CloudWatch"
            " Logs must be allowed to use it"
        ),
    ]
    retention_days: Annotated[LogDays, Field(description="retention in days, even after the stack is destroyed")] = 365


class AwsSecurity(Section):
    deployer_arn: Annotated[
        Arn | None, Field(description="who runs `pulumi up`; None = the caller, so set it if several people deploy")
    ] = None
    admin_arns: Annotated[tuple[Arn, ...], Field(description="further administrators of the cluster")] = ()
    permissions_boundary: Annotated[
        PolicyArn | None, Field(description="permissions boundary of every role of the stack; None = none")
    ] = None
    session_manager: Annotated[
        bool, Field(description="allow shells on nodes through AWS Systems Manager, subject to IAM")
    ] = False
    audit_log: Annotated[
        AuditLog | None, Field(description="None = control-plane logs are deleted with the stack, and after 30 days")
    ] = None


class SpendingAlerts(Section):
    """Alerts on the stack's actual cost, by AWS Budgets and Cost Anomaly Detection."""

    monthly_usd: Annotated[float, Field(gt=0, le=1_000_000_000, description="cost per month at which alerts are sent")]
    percents: Annotated[
        tuple[Annotated[int, Field(ge=1, le=1000)], ...],
        Field(min_length=1, max_length=4, description="shares of monthlyUsd at which alerts are sent, in per cent"),
    ] = (50, 80, 100)
    emails: Annotated[
        tuple[Email, ...],
        Field(min_length=1, max_length=10, description="recipients; each confirms by a link that AWS sends"),
    ]
    anomaly_usd: Annotated[
        float, Field(gt=0, le=1_000_000, description="cost above the expected at which an anomaly alert is sent")
    ] = 100

    @model_validator(mode="after")
    def _each_percent_once(self) -> Self:
        if len(set(self.percents)) < len(self.percents):
            raise SectionError(
                [(("percents",), "lists a share twice; AWS Budgets refuses two notifications at one share")]
            )
        return self


class HourlyBudget(Section):
    max_hourly_usd: Annotated[
        float, Field(gt=0, le=1_000_000, description="the planner refuses a stack that costs more per hour")
    ]
    max_gpus: Annotated[
        int | None, Field(ge=0, le=1_000_000, description="the planner refuses a stack with more GPUs; None = no limit")
    ] = None
    alerts: Annotated[SpendingAlerts | None, Field(description="None = AWS sends no cost alerts")] = None
