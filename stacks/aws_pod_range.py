"""Pods in a range of their own, where the stack file gives them one."""

from collections.abc import Sequence

import pulumi
import pulumi_kubernetes as k8s

from components.aws.cluster import Cluster
from components.aws.network import Network
from components.aws.pod_range import PodRange, PodRangeArgs, PodSubnet
from components.layers import KubePlatform
from planner.types import AwsPlan
from stacks.aws_ground import Ground


def pod_range(
    plan: AwsPlan,
    ground: Ground,
    cluster: Cluster,
    plugin: pulumi.Resource,
    kubernetes: k8s.Provider,
    kube: KubePlatform,
) -> Sequence[pulumi.Resource]:
    """What a node needs of the network before it can be Ready: the plugin, and where its pods have addresses."""
    network = ground.network
    if plan.vpc.pod_cidr is None or not isinstance(network, Network):
        return [plugin]
    zones = [subnet.zone_id for subnet in plan.subnets if subnet.role == "pods"]
    placed = zip(zones, network.subnet_ids("pods"), network.zone_names("pods"), strict=True)
    made = PodRange(
        "pod-range",
        PodRangeArgs(
            subnets={zone: PodSubnet(subnet, name) for zone, subnet, name in placed},
            security_group_ids=[cluster.security_group_id],
            plugin=plugin,
        ),
        pulumi.ResourceOptions(parent=kube, providers=[kubernetes]),
    )
    return [plugin, *made.ready]
