"""The plan's pools as managed node groups."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

from catalogue.types import Architecture
from catalogue.versions import KUBERNETES
from components.aws.block_pool import BlockPool, BlockPoolArgs
from components.aws.capacity import CapacityBlock, HeldCapacity
from components.aws.cluster import Cluster
from components.aws.devices import efa_network
from components.aws.karpenter_pool import KarpenterPool
from components.aws.node_repair import Repair, RepairOverride
from components.aws.node_role import NodeRole, NodeRoleArgs
from components.aws.node_scripts import MirrorLogin, SandboxSource
from components.aws.nodes import NodePool, NodePoolArgs
from components.aws.spot_pool import SpotPool, SpotPoolArgs
from components.layers import HardwarePool
from planner.blocks import BlockShare
from planner.nodes import exclusive_spare_millicores, hugepages_mib
from planner.pool_types import AwsPoolPlan
from planner.replacement import MAX_UNAVAILABLE, RepairPlan
from planner.types import AwsPlan
from stacks.aws_ground import Ground
from stacks.aws_own_image import own_image
from stacks.gpu_pools import GpuPool, gpu_pool, node_labels, node_taints
from stacks.providers import mandatory_tags

NodeGroups = NodePool | BlockPool | SpotPool


def ami_type(pool: AwsPoolPlan) -> str:
    """EKS' image for the pool's nodes: the NVIDIA one carries driver and container toolkit."""
    architecture = "ARM_64" if pool.instance.architecture is Architecture.ARM64 else "x86_64"
    plain = "" if pool.bottlerocket else "_STANDARD"
    return f"{pool.ami_family.upper()}_{architecture}{'_NVIDIA' if pool.gpus_per_node else plain}"


def mirror_login(plan: AwsPlan) -> MirrorLogin | None:
    """Where nodes read who they are at the mirror; None where it does not ask."""
    login = plan.supply.login
    if login is None or login.secret_arn is None:
        return None
    return MirrorLogin(registry=plan.supply.host, secret_arn=login.secret_arn, region=plan.deployment.region)


def node_pools(
    plan: AwsPlan,
    ground: Ground,
    cluster: Cluster,
    hardware: HardwarePool,
    cached: Sequence[pulumi.Input[str]],
    after: Sequence[pulumi.Resource],
) -> Mapping[str, NodeGroups]:
    """Register the pools that are node groups, by name. `after` is what a node needs before it can be Ready,
    `cached` are repositories of the image cache.
    """
    inside = pulumi.ResourceOptions(parent=hardware)
    may = NodeRoleArgs(
        partition=ground.account.partition,
        session_manager=plan.deployment.session_manager,
        cached=cached,
        fetched=sorted({pool.sandbox.source.removeprefix("s3://") for pool in plan.pools.values() if pool.sandbox}),
        login=plan.supply.login.secret_arn if plan.supply.login else None,
    )
    role = NodeRole("node-role", may, inside)
    release = KUBERNETES[plan.kubernetes_version]

    def args(pool: AwsPoolPlan, share: BlockShare | None = None) -> NodePoolArgs:
        return NodePoolArgs(
            pool=share.group if share else pool.name,
            cluster_name=cluster.name,
            kubernetes_version=plan.kubernetes_version,
            ami_type=ami_type(pool),
            ami_release=release.bottlerocket_release if pool.bottlerocket else release.ami_release,
            node_role_arn=role.arn,
            subnet_ids=ground.network.subnet_ids("system" if pool.role == "system" else "gpu"),
            security_group_ids=[cluster.security_group_id],
            efa_group_id=ground.efa_group_id,
            instance_type=pool.instance.type,
            count=share.count if share else pool.count,
            capacity_type=pool.capacity_type,
            interfaces=pool.interfaces,
            placement_group=pool.placement_group,
            local_nvme=pool.nvme is not None,
            root_volume_gib=pool.root_volume_gib,
            labels=node_labels(pool),
            taints=node_taints(pool),
            tags=mandatory_tags(plan.ownership),
            update_strategy=pool.update_strategy,
            max_unavailable=MAX_UNAVAILABLE,
            repair=_repair(pool.repair, share) if pool.repair else None,
            block=CapacityBlock(reservation_id=share.reservation, nodes=share.nodes) if share else None,
            reservation_id=pool.capacity_reservation,
            held=_held(plan, pool, hardware),
            lustre_efa=pool.lustre_efa,
            further_types=[each.type for each in pool.spot.types[1:]] if pool.spot else (),
            kept=share is not None and plan.keeper is not None and bool(plan.keeper.blocks),
            sandbox=SandboxSource(**pool.sandbox.model_dump()) if pool.sandbox else None,
            own=own_image(pool, pool.ami, cluster, hardware) if pool.ami else None,
            login=mirror_login(plan),
            parallel_pulls=pool.parallel_pulls,
            exclusive_spare_millicores=exclusive_spare_millicores(pool.instance.vcpu) if pool.exclusive_cpus else 0,
            hugepages=hugepages_mib(pool.efa) // 2,
            after=after,
        )

    def made(pool: AwsPoolPlan) -> NodeGroups:
        if pool.spot and pool.falls_back:
            both = SpotPoolArgs(spot=args(pool), on_demand=pool.spot.group)
            return SpotPool(f"pool-{pool.name}", both, inside)
        if len(pool.shares) > 1:
            groups = BlockPoolArgs(groups=[args(pool, share) for share in pool.shares])
            return BlockPool(f"pool-{pool.name}", groups, inside)
        return NodePool(f"pool-{pool.name}", args(pool, *pool.shares), inside)

    return {name: made(pool) for name, pool in plan.pools.items() if pool.scaled is None}


def _held(plan: AwsPlan, pool: AwsPoolPlan, hardware: HardwarePool) -> HeldCapacity | None:
    """What the pool's nodes start in, in the GPU zone, by the name that it has in this account."""
    if pool.held is None:
        return None
    zone = aws.get_availability_zone_output(
        zone_id=plan.deployment.gpu_zone, opts=pulumi.InvokeOutputOptions(parent=hardware)
    )
    ends = pool.held.ends.strftime("%Y-%m-%dT%H:%M:%SZ") if pool.held.ends else None
    return HeldCapacity(count=pool.held.count, zone=zone.name, ends=ends)


def _repair(plan: RepairPlan, share: BlockShare | None) -> Repair:
    return Repair(
        parallel=plan.parallel,
        max_unhealthy=share.max_unhealthy if share else plan.max_unhealthy,
        overrides=[
            RepairOverride(
                condition=each.condition, reason=each.reason, wait_minutes=each.wait_minutes, action=each.action
            )
            for each in plan.overrides
        ],
    )


def gpu_pools(plan: AwsPlan, nodes: Mapping[str, NodeGroups | KarpenterPool]) -> dict[str, GpuPool]:
    """The pools with GPUs, as workloads know them."""
    return {
        name: gpu_pool(pool, efa_network(pool.efa), nodes[name].nodes)
        for name, pool in plan.pools.items()
        if pool.gpu is not None and pool.role != "system"
    }
