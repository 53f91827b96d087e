"""VPC, subnets by role and zone, and the ways out of them.

Zones are given as zone ids: a zone's name stands for different places in different accounts. One NAT gateway serves
all private subnets, in the zone of the GPU nodes: the cluster cannot outlive that zone, so further gateways would only
add cost. S3 is reached through a gateway endpoint, which carries weights and checkpoints past the NAT.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pulumi
import pulumi_aws as aws

from components._base import Component

SubnetRole = Literal["public", "control-plane", "gpu", "system"]

# What a subnet's traffic is (F02): the reader of a network diagram looks for these words.
NETWORK_OF_ROLE = {"public": "edge", "control-plane": "management", "system": "frontend", "gpu": "backend"}


@dataclass(frozen=True, kw_only=True)
class SubnetSpec:
    """One subnet. `name` is unique in the network, `zone_id` is like use2-az1."""

    name: str
    role: SubnetRole
    zone_id: str
    cidr: str


@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    """`nat_zone_id` names the zone of the public subnet that holds the NAT gateway. The network is made after `after`,
    and with all that stands in it gone before it.
    """

    region: str
    cidr: str
    subnets: Sequence[SubnetSpec]
    nat_zone_id: str
    protect: bool = False
    after: pulumi.Resource | None = None


class Network(Component):
    """A VPC whose private subnets reach the internet through one NAT gateway.

    Subnet ids in the outputs resolve when the subnet's routes exist, so what starts in a subnet can reach out.
    """

    vpc_id: pulumi.Output[str]

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._specs = {spec.name: spec for spec in args.subnets}
        self._vpc = aws.ec2.Vpc(
            self.named("vpc"),
            aws.ec2.VpcArgs(
                cidr_block=args.cidr,
                enable_dns_hostnames=True,
                enable_dns_support=True,
                tags=self.tags("vpc"),
            ),
            self.child(protect=args.protect, depends_on=[args.after] if args.after else None),
        )
        self._subnets = {spec.name: self._create_subnet(spec) for spec in args.subnets}
        public, edge = self._create_public_routes()
        private, egress = self._create_private_routes(args.nat_zone_id, edge)
        self._create_s3_endpoint(args.region, private)
        self._ready = {
            spec.name: self._associate(spec.name, *((public, edge) if spec.role == "public" else (private, egress)))
            for spec in args.subnets
        }
        self.vpc_id = self._vpc.id
        self.register_outputs({"vpcId": self.vpc_id})

    def subnet_ids(self, role: SubnetRole) -> list[pulumi.Output[str]]:
        """Ids of the subnets that play `role`, in the order they were given."""
        return [self._ready[name] for name, spec in self._specs.items() if spec.role == role]

    def _create_subnet(self, spec: SubnetSpec) -> aws.ec2.Subnet:
        role = f"subnet-{spec.name}"
        return aws.ec2.Subnet(
            self.named(role),
            aws.ec2.SubnetArgs(
                vpc_id=self._vpc.id,
                cidr_block=spec.cidr,
                availability_zone_id=spec.zone_id,
                tags=self.tags(role, **{"gpucluster:network": NETWORK_OF_ROLE[spec.role]}),
            ),
            self.child(),
        )

    def _create_public_routes(self) -> tuple[aws.ec2.RouteTable, aws.ec2.Route]:
        gateway = aws.ec2.InternetGateway(
            self.named("internet"),
            aws.ec2.InternetGatewayArgs(vpc_id=self._vpc.id, tags=self.tags("internet")),
            self.child(),
        )
        return self._create_routes("public", gateway_id=gateway.id)

    def _create_private_routes(self, zone_id: str, edge: aws.ec2.Route) -> tuple[aws.ec2.RouteTable, aws.ec2.Route]:
        zones = {spec.zone_id: name for name, spec in self._specs.items() if spec.role == "public"}
        if zone_id not in zones:
            raise ValueError(f"{self.pulumi_resource_name}: no public subnet in {zone_id} for the NAT gateway; add one")
        address = aws.ec2.Eip(
            self.named("nat-address"),
            aws.ec2.EipArgs(domain="vpc", tags=self.tags("nat-address")),
            self.child(depends_on=[edge]),
        )
        nat = aws.ec2.NatGateway(
            self.named("nat"),
            aws.ec2.NatGatewayArgs(
                allocation_id=address.id, subnet_id=self._subnets[zones[zone_id]].id, tags=self.tags("nat")
            ),
            self.child(),
        )
        return self._create_routes("private", nat_gateway_id=nat.id)

    def _create_routes(
        self,
        kind: str,
        *,
        gateway_id: pulumi.Input[str] | None = None,
        nat_gateway_id: pulumi.Input[str] | None = None,
    ) -> tuple[aws.ec2.RouteTable, aws.ec2.Route]:
        table = aws.ec2.RouteTable(
            self.named(f"{kind}-routes"),
            aws.ec2.RouteTableArgs(vpc_id=self._vpc.id, tags=self.tags(f"{kind}-routes")),
            self.child(),
        )
        default = aws.ec2.Route(
            self.named(f"{kind}-default-route"),
            aws.ec2.RouteArgs(
                route_table_id=table.id,
                destination_cidr_block="0.0.0.0/0",
                gateway_id=gateway_id,
                nat_gateway_id=nat_gateway_id,
            ),
            self.child(),
        )
        return table, default

    def _create_s3_endpoint(self, region: str, routes: aws.ec2.RouteTable) -> None:
        aws.ec2.VpcEndpoint(
            self.named("s3"),
            aws.ec2.VpcEndpointArgs(
                vpc_id=self._vpc.id,
                service_name=f"com.amazonaws.{region}.s3",
                vpc_endpoint_type="Gateway",
                route_table_ids=[routes.id],
                tags=self.tags("s3"),
            ),
            self.child(),
        )

    def _associate(self, name: str, table: aws.ec2.RouteTable, default: aws.ec2.Route) -> pulumi.Output[str]:
        association = aws.ec2.RouteTableAssociation(
            self.named(f"subnet-{name}-routes"),
            aws.ec2.RouteTableAssociationArgs(route_table_id=table.id, subnet_id=self._subnets[name].id),
            self.child(),
        )
        return pulumi.Output.all(self._subnets[name].id, association.id, default.id).apply(lambda ids: str(ids[0]))
