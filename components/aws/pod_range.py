"""A separate address range for pods: the subnet that the VPC CNI uses, by the node's zone.

Sources: EKS user guide, "Deploy Pods in alternate subnets with custom networking"; amazon-vpc-cni-k8s, README,
AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG and ENI_CONFIG_LABEL_DEF.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

CUSTOM_NETWORKING = {
    "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true",
    "ENI_CONFIG_LABEL_DEF": "topology.kubernetes.io/zone",
}
"""Variables of the plugin: pods get addresses as the ENIConfig says that is named as their node's zone."""


@dataclass(frozen=True)
class PodSubnet:
    """A subnet for pods, and the name of its zone in this account (us-east-2a)."""

    id: pulumi.Input[str]
    zone_name: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True)
class PodRangeArgs:
    """`subnets` by the zone's id. Interfaces that hold pods' addresses are in `security_group_ids`, and in no other:
    what reaches a pod is what these say. `plugin` brings the definition of an ENIConfig.
    """

    subnets: Mapping[str, PodSubnet]
    security_group_ids: list[pulumi.Input[str]]
    plugin: pulumi.Resource


class PodRange(Component):
    """An ENIConfig for each zone. They come before the nodes: a node without one has no address for any pod."""

    ready: list[pulumi.Resource]

    def __init__(self, name: str, args: PodRangeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.ready = [
            k8s.apiextensions.CustomResource(
                self.named(zone),
                api_version="crd.k8s.amazonaws.com/v1alpha1",
                kind="ENIConfig",
                metadata=k8s.meta.v1.ObjectMetaArgs(name=subnet.zone_name),
                spec={"subnet": subnet.id, "securityGroups": args.security_group_ids},
                opts=self.child(depends_on=[args.plugin]),
            )
            for zone, subnet in args.subnets.items()
        ]
        self.register_outputs({"zones": sorted(args.subnets)})
