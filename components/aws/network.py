"""VPC, subnets by role and zone, and the ways out of them.

Zones are given as zone ids: a zone's name stands for different places in different accounts. Where one NAT gateway
serves all private subnets, it is in the zone of the GPU nodes: the cluster cannot outlive that zone, so further ones
would only add cost. With one in each zone a system node's way out does not end with another zone; without any there is
no way out, and no internet gateway unless callers come in through it. S3 is reached through a gateway endpoint, which
carries weights and checkpoints past the NAT.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pulumi
import pulumi_aws as aws

from components._base import Component

SubnetRole = Literal["public", "control-plane", "gpu", "system", "pods"]

# What a subnet's traffic is (F02): the reader of a network diagram looks for these words.
NETWORK_OF_ROLE = {
    "public": "edge",
    "control-plane": "management",
    "system": "frontend",
    "gpu": "backend",
    "pods": "pods",
}


@dataclass(frozen=True, kw_only=True)
class SubnetSpec:
    """One subnet. `name` is unique in the network, `zone_id` is like use2-az1."""

    name: str
    role: SubnetRole
    zone_id: str
    cidr: str


@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    """`nat_zone_ids` name the zones whose public subnets hold a NAT gateway: the first serves every zone that has none.
    `pod_cidr` is a second range of the VPC, of which subnets in the role of pods are. `internet`: load balancers answer
    the Internet, which takes a gateway even where nothing leads out. The network is made after `after`, and with all
    that stands in it gone before it.
    """

    region: str
    cidr: str
    subnets: Sequence[SubnetSpec]
    nat_zone_ids: Sequence[str]
    internet: bool
    pod_cidr: str | None = None
    protect: bool = False
    after: pulumi.Resource | None = None


@dataclass(frozen=True)
class Table:
    """A route table, and its route to everywhere else; None where nothing leads out."""

    table: aws.ec2.RouteTable
    default: aws.ec2.Route | None = None


class Network(Component):
    """A VPC whose private subnets reach the internet through NAT gateways, if at all.

    Subnet ids in the outputs resolve when the subnet's routes exist, so what starts in a subnet can reach out.
    """

    vpc_id: pulumi.Output[str]

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._specs = {spec.name: spec for spec in args.subnets}
        self._vpc = aws.ec2.Vpc(
            self.named("vpc"),
            cidr_block=args.cidr,
            enable_dns_hostnames=True,
            enable_dns_support=True,
            tags=self.tags("vpc"),
            opts=self.child(protect=args.protect, depends_on=[args.after] if args.after else None),
        )
        pods = self._create_pod_range(args.pod_cidr) if args.pod_cidr else None
        self._subnets = {spec.name: self._create_subnet(spec, pods) for spec in args.subnets}
        self._public = self._create_public_routes(internet=args.internet or bool(args.nat_zone_ids))
        self._private = self._create_private_routes(args, self._public)
        self._create_s3_endpoint(args.region, list(dict.fromkeys(self._private.values())))
        self._ready = {spec.name: self._associate(spec) for spec in args.subnets}
        self.vpc_id = self._vpc.id
        self.register_outputs({"vpcId": self.vpc_id})

    def subnet_ids(self, role: SubnetRole) -> list[pulumi.Output[str]]:
        """Ids of the subnets that play `role`, in the order they were given."""
        return [self._ready[name] for name, spec in self._specs.items() if spec.role == role]

    def zone_names(self, role: SubnetRole) -> list[pulumi.Output[str]]:
        """Names of the zones of these subnets in this account, such as us-east-2a, in the same order."""
        return [self._subnets[name].availability_zone for name, spec in self._specs.items() if spec.role == role]

    def _create_pod_range(self, cidr: str) -> aws.ec2.VpcIpv4CidrBlockAssociation:
        return aws.ec2.VpcIpv4CidrBlockAssociation(
            self.named("pods"),
            aws.ec2.VpcIpv4CidrBlockAssociationArgs(vpc_id=self._vpc.id, cidr_block=cidr),
            self.child(),
        )

    def _create_subnet(self, spec: SubnetSpec, pods: aws.ec2.VpcIpv4CidrBlockAssociation | None) -> aws.ec2.Subnet:
        role = f"subnet-{spec.name}"
        return aws.ec2.Subnet(
            self.named(role),
            vpc_id=pods.vpc_id if pods and spec.role == "pods" else self._vpc.id,
            cidr_block=spec.cidr,
            availability_zone_id=spec.zone_id,
            tags=self.tags(role, **{"gpucluster:network": NETWORK_OF_ROLE[spec.role]}),
            opts=self.child(),
        )

    def _create_public_routes(self, *, internet: bool) -> Table:
        if not internet:
            return self._create_routes("public")
        gateway = aws.ec2.InternetGateway(
            self.named("internet"),
            aws.ec2.InternetGatewayArgs(vpc_id=self._vpc.id, tags=self.tags("internet")),
            self.child(),
        )
        return self._create_routes("public", gateway_id=gateway.id)

    def _create_private_routes(self, args: NetworkArgs, public: Table) -> dict[str, Table]:
        """By zone. The first gateway's names are without its zone, as those of an only one, so that it stays."""
        zones = list(dict.fromkeys(spec.zone_id for spec in args.subnets))
        if not args.nat_zone_ids:
            return dict.fromkeys(zones, self._create_routes("private"))
        made = {
            zone: self._create_routes(
                _of_zone("private", zone, first=index == 0), nat_gateway_id=self._create_nat(zone, index == 0, public)
            )
            for index, zone in enumerate(args.nat_zone_ids)
        }
        return {zone: made.get(zone, made[args.nat_zone_ids[0]]) for zone in zones}

    def _create_nat(self, zone_id: str, first: bool, public: Table) -> pulumi.Output[str]:
        beside = {spec.zone_id: name for name, spec in self._specs.items() if spec.role == "public"}
        if zone_id not in beside:
            raise ValueError(f"{self.pulumi_resource_name}: no public subnet in {zone_id} for the NAT gateway; add one")
        nat, address = _of_zone("nat", zone_id, first=first), _of_zone("nat-address", zone_id, first=first)
        held = aws.ec2.Eip(
            self.named(address),
            aws.ec2.EipArgs(domain="vpc", tags=self.tags(address)),
            self.child(depends_on=[public.default] if public.default else None),
        )
        return aws.ec2.NatGateway(
            self.named(nat),
            allocation_id=held.id,
            subnet_id=self._subnets[beside[zone_id]].id,
            tags=self.tags(nat),
            opts=self.child(),
        ).id

    def _create_routes(
        self,
        kind: str,
        *,
        gateway_id: pulumi.Input[str] | None = None,
        nat_gateway_id: pulumi.Input[str] | None = None,
    ) -> Table:
        """A table, with a route to everywhere else where a gateway is given."""
        table = aws.ec2.RouteTable(
            self.named(f"{kind}-routes"),
            aws.ec2.RouteTableArgs(vpc_id=self._vpc.id, tags=self.tags(f"{kind}-routes")),
            self.child(),
        )
        if gateway_id is None and nat_gateway_id is None:
            return Table(table)
        default = aws.ec2.Route(
            self.named(f"{kind}-default-route"),
            route_table_id=table.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=gateway_id,
            nat_gateway_id=nat_gateway_id,
            opts=self.child(),
        )
        return Table(table, default)

    def _create_s3_endpoint(self, region: str, routes: Sequence[Table]) -> None:
        aws.ec2.VpcEndpoint(
            self.named("s3"),
            vpc_id=self._vpc.id,
            service_name=f"com.amazonaws.{region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[each.table.id for each in routes],
            tags=self.tags("s3"),
            opts=self.child(),
        )

    def _associate(self, spec: SubnetSpec) -> pulumi.Output[str]:
        routes = self._public if spec.role == "public" else self._private[spec.zone_id]
        association = aws.ec2.RouteTableAssociation(
            self.named(f"subnet-{spec.name}-routes"),
            aws.ec2.RouteTableAssociationArgs(route_table_id=routes.table.id, subnet_id=self._subnets[spec.name].id),
            self.child(),
        )
        there = [association.id, *([routes.default.id] if routes.default else [])]
        return pulumi.Output.all(self._subnets[spec.name].id, *there).apply(lambda ids: str(ids[0]))


def _of_zone(role: str, zone_id: str, *, first: bool) -> str:
    return role if first else f"{role}-{zone_id}"
