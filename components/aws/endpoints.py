"""AWS services inside a VPC: an interface of each in the network's own subnets, which their usual names lead to.

With private DNS an agent asks the name that it always asks, and the answer is an address of the VPC. So whoever asks
needs a rule to the VPC's own addresses in place of the Internet's, NetworkPolicies of pods included.
Source: PrivateLink guide, "Access an AWS service using an interface VPC endpoint"; EKS user guide, "Deploy private
clusters with limited internet access": the endpoints' group lets the nodes' subnets in.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components._base import Component

HTTPS = 443


@dataclass(frozen=True, kw_only=True)
class EndpointsArgs:
    """`services` by the end of their names, as in ecr.api; one of `subnet_ids` in a zone. `cidrs` may ask them."""

    vpc_id: pulumi.Input[str]
    region: str
    services: Sequence[str]
    subnet_ids: Sequence[pulumi.Input[str]]
    cidrs: Sequence[str]


class Endpoints(Component):
    """Interface endpoints, all behind one group."""

    def __init__(self, name: str, args: EndpointsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        group = self._create_group(args)
        for service in args.services:
            aws.ec2.VpcEndpoint(
                self.named(service),
                vpc_id=args.vpc_id,
                service_name=f"com.amazonaws.{args.region}.{service}",
                vpc_endpoint_type="Interface",
                subnet_ids=args.subnet_ids,
                security_group_ids=[group],
                private_dns_enabled=True,
                tags=self.tags(service),
                opts=self.child(),
            )
        self.register_outputs({"services": list(args.services)})

    def _create_group(self, args: EndpointsArgs) -> pulumi.Output[str]:
        """Lets in only; an endpoint opens no connections. Its id resolves when the rules are in force."""
        group = aws.ec2.SecurityGroup(
            self.named("group"),
            name=self.physical("endpoints", limit=255),
            description="AWS services inside the network",
            vpc_id=args.vpc_id,
            tags=self.tags("group"),
            opts=self.child(),
        )
        rules = [
            aws.vpc.SecurityGroupIngressRule(
                self.named(f"in-{index}"),
                security_group_id=group.id,
                cidr_ipv4=cidr,
                ip_protocol="tcp",
                from_port=HTTPS,
                to_port=HTTPS,
                tags=self.tags(f"in-{index}"),
                opts=self.child(),
            )
            for index, cidr in enumerate(args.cidrs)
        ]
        return pulumi.Output.all(group.id, *(rule.id for rule in rules)).apply(lambda ids: str(ids[0]))
