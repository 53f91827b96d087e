"""The stack file's pools as managed node groups."""

from collections.abc import Mapping

import pulumi

from catalogue.types import Architecture
from catalogue.versions import KUBERNETES
from components.aws.cluster import Cluster
from components.aws.nodes import CapacityBlock, NodePool, NodePoolArgs, NodeRole, NodeRoleArgs
from components.layers import HardwarePool
from components.platform.taints import pool_labels, pool_taints
from planner.mig import mig_config, product_label
from planner.types import AwsPlan, AwsPoolPlan
from settings.aws import AwsPool
from settings.model import AwsSettings
from stacks.aws_ground import Ground
from stacks.platform import GpuPool
from stacks.providers import mandatory_tags

MIG_CONFIG_KEY = "nvidia.com/mig.config"
CAPACITY = {"on-demand": "ON_DEMAND", "spot": "SPOT", "capacity-block": "CAPACITY_BLOCK"}


def ami_type(pool: AwsPoolPlan) -> str:
    """EKS' AL2023 image for the pool's nodes: the NVIDIA one carries driver and container toolkit."""
    architecture = "ARM_64" if pool.instance.architecture is Architecture.ARM64 else "x86_64"
    return f"AL2023_{architecture}_{'NVIDIA' if pool.gpus_per_node else 'STANDARD'}"


def node_pools(
    settings: AwsSettings,
    plan: AwsPlan,
    ground: Ground,
    cluster: Cluster,
    hardware: HardwarePool,
    after: pulumi.Resource,
) -> Mapping[str, NodePool]:
    """Register the pools, by name. `after` is what a node needs before it can be Ready."""
    inside = pulumi.ResourceOptions(parent=hardware)
    role = NodeRole("node-role", NodeRoleArgs(partition=ground.account.partition), inside)

    def args(pool: AwsPool, planned: AwsPoolPlan) -> NodePoolArgs:
        return NodePoolArgs(
            pool=pool.name,
            cluster_name=cluster.name,
            kubernetes_version=settings.platform.kubernetes_version,
            ami_type=ami_type(planned),
            ami_release=KUBERNETES[settings.platform.kubernetes_version].ami_release,
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
            labels=_labels(planned),
            taints=pool_taints(pool.name, pool.role, gpus=planned.gpus_per_node),
            tags=mandatory_tags(settings.lifecycle),
            block=_block(planned),
            after=after,
        )

    return {
        pool.name: NodePool(f"pool-{pool.name}", args(pool, plan.pools[pool.name]), inside) for pool in settings.pools
    }


def _block(pool: AwsPoolPlan) -> CapacityBlock | None:
    return CapacityBlock(reservation_id=pool.block.reservation, nodes=pool.block.nodes) if pool.block else None


def _labels(pool: AwsPoolPlan) -> dict[str, str]:
    """Labels of the pool's nodes; the GPU Operator's MIG manager reads how their GPUs are to be cut."""
    cut = {MIG_CONFIG_KEY: mig_config(pool.mig.name)} if pool.mig else {}
    return {**pool_labels(pool.name, pool.role), **cut}


def gpu_pools(plan: AwsPlan, nodes: Mapping[str, NodePool]) -> dict[str, GpuPool]:
    """The pools with GPUs, as workloads know them."""
    return {
        pool.name: GpuPool(
            name=pool.name,
            role="inference" if pool.role == "inference" else "training",
            gpu_product=product_label(pool.gpu, pool.mig.name if pool.mig else None),
            count=pool.count,
            nodes_now=pool.block.nodes if pool.block else pool.count,
            gpus=pool.devices_per_node,
            efa=pool.efa,
            slices=pool.mig is not None,
            labels=_labels(pool),
            taints=pool_taints(pool.name, pool.role, gpus=pool.gpus_per_node),
            nodes_ready=nodes[pool.name].nodes,
        )
        for pool in plan.pools.values()
        if pool.gpu is not None and pool.role != "system"
    }
