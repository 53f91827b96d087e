"""The stack file's pools as managed node groups."""

from collections.abc import Mapping

import pulumi

from catalogue.types import Architecture
from catalogue.versions import KUBERNETES
from components.aws.cluster import Cluster
from components.aws.nodes import NodePool, NodePoolArgs, NodeRole, NodeRoleArgs
from components.layers import HardwarePool
from components.platform.taints import pool_labels, pool_taints
from planner.types import Plan, PoolPlan
from settings.model import Pool, Settings
from stacks.aws_ground import Ground
from stacks.platform import GpuPool
from stacks.providers import mandatory_tags

CAPACITY = {"on-demand": "ON_DEMAND", "spot": "SPOT"}


def ami_type(pool: PoolPlan) -> str:
    """EKS' AL2023 image for the pool's nodes: the NVIDIA one carries driver and container toolkit."""
    architecture = "ARM_64" if pool.instance.architecture is Architecture.ARM64 else "x86_64"
    return f"AL2023_{architecture}_{'NVIDIA' if pool.gpus_per_node else 'STANDARD'}"


def node_pools(
    settings: Settings,
    plan: Plan,
    ground: Ground,
    cluster: Cluster,
    hardware: HardwarePool,
    after: pulumi.Resource,
) -> Mapping[str, NodePool]:
    """Register the pools, by name. `after` is what a node needs before it can be Ready."""
    inside = pulumi.ResourceOptions(parent=hardware)
    role = NodeRole("node-role", NodeRoleArgs(partition=ground.account.partition), inside)

    def args(pool: Pool, planned: PoolPlan) -> NodePoolArgs:
        return NodePoolArgs(
            pool=pool.name,
            cluster_name=cluster.name,
            kubernetes_version=settings.aws.kubernetes_version,
            ami_type=ami_type(planned),
            ami_release=KUBERNETES[settings.aws.kubernetes_version].ami_release,
            node_role_arn=role.arn,
            subnet_ids=ground.network.subnet_ids("system" if pool.role == "system" else "gpu"),
            security_group_ids=[cluster.security_group_id],
            efa_group_id=ground.efa_group_id,
            instance_type=pool.instance_type,
            count=pool.count,
            capacity_type=CAPACITY[pool.capacity],
            interfaces=planned.interfaces,
            placement_group=planned.placement_group,
            max_pods=planned.max_pods,
            local_nvme=planned.instance.nvme is not None,
            root_volume_gib=pool.root_volume_gib,
            labels=pool_labels(pool.name, pool.role),
            taints=pool_taints(pool.name, pool.role, gpus=planned.gpus_per_node),
            tags=mandatory_tags(settings.lifecycle),
            after=after,
        )

    return {
        pool.name: NodePool(f"pool-{pool.name}", args(pool, plan.pools[pool.name]), inside) for pool in settings.pools
    }


def gpu_pools(plan: Plan, nodes: Mapping[str, NodePool]) -> dict[str, GpuPool]:
    """The pools with GPUs, as workloads know them."""
    return {
        pool.name: GpuPool(
            name=pool.name,
            role="inference" if pool.role == "inference" else "training",
            gpu_product=pool.instance.gpu.product,
            count=pool.count,
            gpus=pool.gpus_per_node,
            efa=pool.efa,
            labels=pool_labels(pool.name, pool.role),
            taints=pool_taints(pool.name, pool.role, gpus=pool.gpus_per_node),
            nodes_ready=nodes[pool.name].nodes,
        )
        for pool in plan.pools.values()
        if pool.instance.gpu is not None and pool.role != "system"
    }
