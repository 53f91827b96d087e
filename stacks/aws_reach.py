"""What pods on AWS reach beside each other, and the load balancer by which callers reach the gateway."""

import pulumi

from components.platform.network_rules import Reach, internet
from components.serving.entry import Entry
from planner.types import AwsPlan
from stacks.aws_ground import Ground
from stacks.platform import Connections
from stacks.providers import lasting_tags

API_SERVICE = "172.20.0.1/32"
"""The address of the Service `kubernetes`, the first of the range that EKS gives clusters of VPCs in 10.0.0.0/8.

Source: EKS API reference, KubernetesNetworkConfigRequest.
"""


def connections(vpc_cidr: str, *, services: bool) -> Connections:
    """Pods ask the API server at the Service's address and reach its interfaces in the VPC. S3's addresses are public
    ones, to which a gateway endpoint leads; pod identity answers at one of the link. Where other services of AWS have
    endpoints, their names lead to addresses of the VPC.

    Source: EKS user guide, "Learn how EKS Pod Identity grants pods access": the agent at 169.254.170.23, port 80.
    """
    return Connections(
        api=Reach(cidrs=[vpc_cidr, API_SERVICE], ports=[443]),
        nodes=Reach(cidrs=[vpc_cidr]),
        objects=internet(),
        identity=Reach(cidrs=["169.254.170.23/32"], ports=[80]),
        services=Reach(cidrs=[vpc_cidr], ports=[443]) if services else None,
    )


def entry(plan: AwsPlan, base: Ground) -> Entry:
    """A network load balancer of the controller that EKS runs itself; it lets callers' networks in to the nodes' group.

    Source: kubernetes/cloud-provider-aws, docs/service_controller.md; its default is a Classic Load Balancer. It gives
    tags when it makes one, and changes none afterwards (pkg/providers/v1/aws_loadbalancer.go, ensureLoadBalancerv2).
    """
    internet = plan.gateway is not None and plan.gateway.internet
    where = base.network.subnet_ids("public" if internet else "system")
    begin = "service.beta.kubernetes.io/aws-load-balancer"
    return Entry(
        annotations={
            f"{begin}-type": "nlb",
            f"{begin}-additional-resource-tags": ",".join(
                f"{key}={value}" for key, value in lasting_tags(plan.ownership).items()
            ),
            f"{begin}-subnets": pulumi.Output.all(*where).apply(",".join),
            **({} if internet else {f"{begin}-internal": "true"}),
        }
    )
