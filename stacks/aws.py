"""A GPU cluster on AWS: fabric, control plane, nodes and storage, in the order of their needs."""

import pulumi

from catalogue.versions import ADDONS
from components.aws.addons import NODE_ADDONS, SERVICE_ADDONS, Addons, AddonsArgs, AddonSpec
from components.aws.cluster import Cluster, ClusterArgs
from components.layers import Fabric, HardwarePool, KubePlatform, Storage
from planner.types import AwsPlan
from settings.aws import Aws
from settings.model import AwsSettings
from stacks.aws_ground import Ground, cluster_name, ground
from stacks.aws_pools import gpu_pools, node_pools
from stacks.aws_storage import LustreSource, S3Store, StoragePlace, bucket, lustre
from stacks.platform import KubeCluster, Platform
from stacks.providers import aws_provider, kubernetes_provider


def kubeconfig_command(platform: Aws) -> str:
    """What a person types to reach the cluster with kubectl."""
    words = ["aws eks update-kubeconfig", f"--region {platform.region}", f"--name {cluster_name()}"]
    words += [f"--profile {platform.profile}"] if platform.profile else []
    words += [f"--role-arn {platform.role_arn}"] if platform.role_arn else []
    return " ".join(words)


def deploy_aws(settings: AwsSettings, plan: AwsPlan) -> Platform:
    """Register everything of the platform and return what services and workloads need of it."""
    provider = aws_provider(settings.platform, settings.lifecycle)
    through_aws = pulumi.ResourceOptions(providers=[provider])
    fabric = Fabric("fabric", through_aws)
    kube = KubePlatform("kube-platform", through_aws)
    hardware = HardwarePool("hardware", through_aws)

    base = ground(settings, plan, provider, fabric)
    cluster = Cluster("cluster", _cluster_args(settings, base), pulumi.ResourceOptions(parent=kube))
    kubernetes = kubernetes_provider(cluster, kube)
    daemons = _addons("node-addons", NODE_ADDONS, cluster, base, kube)
    pools = node_pools(settings, plan, base, cluster, hardware, after=daemons.installed["vpc-cni"])
    system = next(pools[pool.name] for pool in settings.pools if pool.role == "system")
    services = _addons("service-addons", SERVICE_ADDONS, cluster, base, kube, after=system.nodes)

    storage = pulumi.ResourceOptions(
        parent=Storage("storage", pulumi.ResourceOptions(providers=[provider, kubernetes]))
    )
    file_system = lustre(settings, base.keys, _storage_place(base, cluster), storage)
    objects = bucket(settings, base.keys, base.account.id, storage)
    return Platform(
        cluster=KubeCluster(
            name=cluster_name(),
            kubeconfig=cluster.kubeconfig,
            kubeconfig_command=kubeconfig_command(settings.platform),
            endpoint=cluster.endpoint,
            provider=kubernetes,
            ready=services.installed["coredns"],
        ),
        pools=gpu_pools(plan, pools),
        fabric="efa" if base.efa_group_id is not None else "ethernet",
        file_system=LustreSource(
            file_system=file_system,
            capacity_gib=settings.storage.lustre.capacity_gib,
            driver=services.installed["aws-fsx-csi-driver"],
            opts=storage,
        ),
        object_store=S3Store(
            bucket_name=objects.bucket_name,
            key_arn=base.keys.arn,
            cluster_name=cluster.name,
            partition=base.account.partition,
        ),
        kube_layer=kube,
        providers=[provider, kubernetes],
        outputs={
            "fabric": {"vpc": base.network.vpc_id, "gpuZone": settings.platform.gpu_zone},
            "storage": {"fileSystem": file_system.file_system_id, "bucket": objects.bucket_name},
        },
    )


def _cluster_args(settings: AwsSettings, base: Ground) -> ClusterArgs:
    return ClusterArgs(
        name=cluster_name(),
        region=settings.platform.region,
        partition=base.account.partition,
        version=settings.platform.kubernetes_version,
        subnet_ids=base.network.subnet_ids("control-plane"),
        key_arn=base.keys.arn,
        deployer_arn=base.account.deployer_arn,
        admin_arns=settings.security.admin_arns,
        public_access_cidrs=settings.platform.public_access_cidrs,
        profile=settings.platform.profile,
        role_arn=settings.platform.role_arn,
        protect=settings.lifecycle.protect,
    )


def _addons(
    name: str,
    specs: tuple[AddonSpec, ...],
    cluster: Cluster,
    base: Ground,
    kube: KubePlatform,
    after: pulumi.Resource | None = None,
) -> Addons:
    args = AddonsArgs(
        cluster_name=cluster.name, partition=base.account.partition, addons=specs, versions=ADDONS, after=after
    )
    return Addons(name, args, pulumi.ResourceOptions(parent=kube))


def _storage_place(base: Ground, cluster: Cluster) -> StoragePlace:
    return StoragePlace(
        vpc_id=base.network.vpc_id,
        subnet_id=base.network.subnet_ids("gpu")[0],
        nodes_group_id=cluster.security_group_id,
        efa_group_id=base.efa_group_id,
    )
