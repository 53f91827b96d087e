"""A GPU cluster on AWS: fabric, control plane, nodes and storage, in the order of their needs."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from catalogue.types import Architecture
from catalogue.versions import ADDONS, KUBERNETES
from components._base import physical_name
from components.aws.addons import NODE_ADDONS, SERVICE_ADDONS, Addons, AddonsArgs
from components.aws.cluster import CLUSTER_NAME_LIMIT, Cluster, ClusterArgs, log_group_name
from components.aws.keys import Keys, KeysArgs
from components.aws.network import Network, NetworkArgs, SubnetSpec
from components.aws.nodes import NodePool, NodePoolArgs, NodeRole, NodeRoleArgs
from components.aws.security_groups import EfaGroup, EfaGroupArgs
from components.layers import Fabric, HardwarePool, KubePlatform, Storage
from components.platform.taints import pool_labels, pool_taints
from planner.types import Plan, PoolPlan
from settings.model import Aws, Pool, Settings
from stacks.aws_storage import LustreSource, S3Store, StoragePlace, bucket, lustre
from stacks.platform import GpuPool, KubeCluster, Platform
from stacks.providers import aws_provider, kubernetes_provider, mandatory_tags

CAPACITY = {"on-demand": "ON_DEMAND", "spot": "SPOT"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """Who deploys, and where: all known only when AWS answers."""

    id: pulumi.Output[str]
    partition: pulumi.Output[str]
    deployer_arn: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ground:
    """Network, key and EFA group: what the rest of the stack stands on."""

    network: Network
    keys: Keys
    efa_group_id: pulumi.Output[str] | None


def ami_type(pool: PoolPlan) -> str:
    """EKS' AL2023 image for the pool's nodes: the NVIDIA one carries driver and container toolkit."""
    architecture = "ARM_64" if pool.instance.architecture is Architecture.ARM64 else "x86_64"
    return f"AL2023_{architecture}_{'NVIDIA' if pool.gpus_per_node else 'STANDARD'}"


def cluster_name() -> str:
    """The EKS cluster's name: project and stack."""
    return physical_name(pulumi.get_project(), pulumi.get_stack(), limit=CLUSTER_NAME_LIMIT)


def kubeconfig_command(platform: Aws) -> str:
    """What a person types to reach the cluster with kubectl."""
    words = ["aws eks update-kubeconfig", f"--region {platform.region}", f"--name {cluster_name()}"]
    words += [f"--profile {platform.profile}"] if platform.profile else []
    words += [f"--role-arn {platform.role_arn}"] if platform.role_arn else []
    return " ".join(words)


def deploy_aws(settings: Settings, plan: Plan) -> Platform:
    """Register everything of the platform and return what services and workloads need of it."""
    provider = aws_provider(settings.aws, settings.lifecycle)
    account = _account(settings, provider)
    through_aws = pulumi.ResourceOptions(providers=[provider])
    fabric, kube, hardware = (
        Fabric("fabric", through_aws),
        KubePlatform("kube-platform", through_aws),
        HardwarePool("hardware", through_aws),
    )
    ground = _ground(settings, plan, account, fabric)
    cluster = _cluster(settings, account, ground, kube)
    kubernetes = kubernetes_provider(cluster, kube)
    pools = _pools(settings, plan, account, ground, cluster, kube, hardware)
    system = next(pools[pool.name] for pool in settings.pools if pool.role == "system")
    services = Addons(
        "service-addons",
        AddonsArgs(
            cluster_name=cluster.name,
            partition=account.partition,
            addons=SERVICE_ADDONS,
            versions=ADDONS,
            after=system.nodes,
        ),
        pulumi.ResourceOptions(parent=kube),
    )
    storage = Storage("storage", pulumi.ResourceOptions(providers=[provider, kubernetes]))
    at_storage = pulumi.ResourceOptions(parent=storage)
    place = StoragePlace(
        vpc_id=ground.network.vpc_id,
        subnet_id=ground.network.subnet_ids("gpu")[0],
        nodes_group_id=cluster.security_group_id,
        efa_group_id=ground.efa_group_id,
    )
    file_system = lustre(settings.storage.lustre, settings.lifecycle.protect, ground.keys, place, at_storage)
    objects = bucket(settings, ground.keys, account.id, at_storage)
    return Platform(
        cluster=KubeCluster(
            name=cluster_name(),
            kubeconfig=cluster.kubeconfig,
            kubeconfig_command=kubeconfig_command(settings.aws),
            endpoint=cluster.endpoint,
            provider=kubernetes,
            ready=services.installed["coredns"],
        ),
        pools={pool.name: _handle(pool, pools[pool.name]) for pool in plan.pools.values() if pool.gpus_per_node},
        fabric="efa" if ground.efa_group_id is not None else "ethernet",
        file_system=LustreSource(
            file_system=file_system,
            capacity_gib=settings.storage.lustre.capacity_gib,
            driver=services.installed["aws-fsx-csi-driver"],
            opts=at_storage,
        ),
        object_store=S3Store(
            bucket_name=objects.bucket_name,
            key_arn=ground.keys.arn,
            cluster_name=cluster.name,
            partition=account.partition,
        ),
        kube_layer=kube,
        providers=[provider, kubernetes],
        outputs={
            "fabric": {"vpc": ground.network.vpc_id, "gpuZone": settings.aws.gpu_zone},
            "storage": {"fileSystem": file_system.file_system_id, "bucket": objects.bucket_name},
        },
    )


def _account(settings: Settings, provider: aws.Provider) -> Account:
    options = pulumi.InvokeOutputOptions(provider=provider)
    caller = aws.get_caller_identity_output(opts=options)
    session = aws.iam.get_session_context_output(arn=caller.arn, opts=options)
    return Account(
        id=caller.account_id,
        partition=aws.get_partition_output(opts=options).partition,
        # A caller's session ends; the role behind it is what an access entry can name.
        deployer_arn=settings.security.deployer_arn or session.issuer_arn,
    )


def _ground(settings: Settings, plan: Plan, account: Account, fabric: Fabric) -> Ground:
    inside = pulumi.ResourceOptions(parent=fabric)
    protect = settings.lifecycle.protect
    network = Network(
        "network",
        NetworkArgs(
            region=settings.aws.region,
            cidr=settings.aws.vpc_cidr,
            subnets=[
                SubnetSpec(name=each.name, role=each.role, zone_id=each.zone_id, cidr=each.cidr)
                for each in plan.subnets
            ],
            nat_zone_id=plan.nat_zones[0],
            protect=protect,
        ),
        inside,
    )
    keys = Keys(
        "keys",
        KeysArgs(
            partition=account.partition,
            account_id=account.id,
            region=settings.aws.region,
            log_group_prefix=log_group_name(cluster_name()),
            deletion_days=30 if protect else 7,
            protect=protect,
        ),
        inside,
    )
    if not any(pool.efa for pool in plan.pools.values()):
        return Ground(network=network, keys=keys, efa_group_id=None)
    efa = EfaGroup("efa", EfaGroupArgs(vpc_id=network.vpc_id), inside)
    return Ground(network=network, keys=keys, efa_group_id=efa.group_id)


def _cluster(settings: Settings, account: Account, ground: Ground, kube: KubePlatform) -> Cluster:
    return Cluster(
        "cluster",
        ClusterArgs(
            name=cluster_name(),
            region=settings.aws.region,
            partition=account.partition,
            version=settings.aws.kubernetes_version,
            subnet_ids=ground.network.subnet_ids("control-plane"),
            key_arn=ground.keys.arn,
            deployer_arn=account.deployer_arn,
            admin_arns=settings.security.admin_arns,
            public_access_cidrs=settings.aws.public_access_cidrs,
            profile=settings.aws.profile,
            role_arn=settings.aws.role_arn,
            protect=settings.lifecycle.protect,
        ),
        pulumi.ResourceOptions(parent=kube),
    )


def _pools(
    settings: Settings,
    plan: Plan,
    account: Account,
    ground: Ground,
    cluster: Cluster,
    kube: KubePlatform,
    hardware: HardwarePool,
) -> Mapping[str, NodePool]:
    inside = pulumi.ResourceOptions(parent=hardware)
    daemons = Addons(
        "node-addons",
        AddonsArgs(cluster_name=cluster.name, partition=account.partition, addons=NODE_ADDONS, versions=ADDONS),
        pulumi.ResourceOptions(parent=kube),
    )
    role = NodeRole("node-role", NodeRoleArgs(partition=account.partition), inside)
    tags = mandatory_tags(settings.lifecycle)

    def create(pool: Pool, planned: PoolPlan) -> NodePool:
        system = pool.role == "system"
        return NodePool(
            f"pool-{pool.name}",
            NodePoolArgs(
                pool=pool.name,
                cluster_name=cluster.name,
                kubernetes_version=settings.aws.kubernetes_version,
                ami_type=ami_type(planned),
                ami_release=KUBERNETES[settings.aws.kubernetes_version].ami_release,
                node_role_arn=role.arn,
                subnet_ids=ground.network.subnet_ids("system" if system else "gpu"),
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
                tags=tags,
                after=daemons.installed["vpc-cni"],
            ),
            inside,
        )

    return {pool.name: create(pool, plan.pools[pool.name]) for pool in settings.pools}


def _handle(pool: PoolPlan, nodes: NodePool) -> GpuPool:
    if pool.role == "system" or pool.instance.gpu is None:
        raise ValueError(f"pool {pool.name} is not a GPU pool")
    return GpuPool(
        name=pool.name,
        role=pool.role,
        gpu_product=pool.instance.gpu.product,
        count=pool.count,
        gpus=pool.gpus_per_node,
        efa=pool.efa,
        labels=pool_labels(pool.name, pool.role),
        taints=pool_taints(pool.name, pool.role, gpus=pool.gpus_per_node),
        nodes_ready=nodes.nodes,
    )
