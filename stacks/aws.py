"""A GPU cluster on AWS: fabric, control plane, nodes and storage, in the order of their needs."""

import pulumi

from catalogue.versions import ADDONS, AWS_CLI_IMAGE, EFA_DEVICE_PLUGIN
from components.aws.addons import (
    HOME_ADDONS,
    SERVICE_ADDONS,
    SNAPSHOT_ADDONS,
    Addons,
    AddonsArgs,
    AddonSpec,
    node_addons,
)
from components.aws.cluster import Cluster, ClusterArgs
from components.aws.devices import BOTTLEROCKET_VALUES, GPU_OPERATOR_VALUES, efa_plugin_values
from components.layers import Fabric, HardwarePool, KubePlatform, Storage
from components.platform.taints import tolerations_of_all_pools
from planner.faces.outputs import aws_numbers
from planner.stack import AwsDeployment
from planner.types import AwsPlan
from stacks.aws_block import block_storage
from stacks.aws_cache import image_cache
from stacks.aws_front import CertificateManager
from stacks.aws_ground import Ground, ask_account, cluster_name, ground, key
from stacks.aws_home import home
from stacks.aws_images import ecr_images
from stacks.aws_karpenter import scaled_pools
from stacks.aws_keeper import keeper
from stacks.aws_people import EksPeople
from stacks.aws_pod_groups import SecurityGroups
from stacks.aws_pod_range import pod_range
from stacks.aws_pools import gpu_pools, node_pools
from stacks.aws_reach import connections, entry
from stacks.aws_registry import registry
from stacks.aws_spending import spending
from stacks.aws_storage import InstanceStore, LustreSource, S3Store, StoragePlace, bucket, lustre, purpose_buckets
from stacks.aws_vault import SecretsManager, rotate
from stacks.aws_watching import watching
from stacks.aws_zones import HostedZones
from stacks.platform import DeviceChart, Devices, KubeCluster, Platform
from stacks.providers import aws_provider, bounded, kubernetes_provider
from stacks.standing import keep, standing

LOG_DAYS = 30
"""For which control-plane logs are kept where the stack file says nothing of them."""


def kubeconfig_command(where: AwsDeployment) -> str:
    """What a person types to reach the cluster with kubectl."""
    words = ["aws eks update-kubeconfig", f"--region {where.region}", f"--name {cluster_name()}"]
    words += [f"--profile {where.profile}"] if where.profile else []
    words += [f"--role-arn {where.role_arn}"] if where.role_arn else []
    return " ".join(words)


def deploy_aws(plan: AwsPlan) -> Platform:
    """Register everything of the platform and return what services and workloads need of it."""
    there = standing()
    if there:
        keep(there, cluster_name(), plan.deployment, plan.vpc.existing)
    if plan.deployment.permissions_boundary:
        pulumi.runtime.register_stack_transformation(bounded(plan.deployment.permissions_boundary))
    provider = aws_provider(plan.deployment, plan.ownership)
    through_aws = pulumi.ResourceOptions(providers=[provider])
    fabric = Fabric("fabric", through_aws)
    kube = KubePlatform("kube-platform", through_aws)
    hardware = HardwarePool("hardware", through_aws)

    account = ask_account(plan, provider)
    keys = key(plan, account, fabric)
    kept = keeper(plan, account, keys, hardware)
    base = ground(plan, account, keys, fabric, after=kept.watches if kept else None)
    told = spending(plan.spending, base, hardware)
    cluster = Cluster(
        "cluster", _cluster_args(plan, base, stands=there is not None), pulumi.ResourceOptions(parent=kube)
    )
    kubernetes = kubernetes_provider(cluster, kube)
    daemons = _addons(
        "node-addons",
        node_addons(apart=plan.vpc.pod_cidr is not None, prefixes=plan.vpc.prefixes, grouped=bool(plan.vpc.pod_groups)),
        cluster,
        base,
        kube,
        base.endpoints,
    )
    cached = image_cache(plan, base.account, pulumi.ResourceOptions(parent=hardware))
    ready = pod_range(plan, base, cluster, daemons.installed["vpc-cni"], kubernetes, kube)
    pools = node_pools(plan, base, cluster, hardware, cached, after=ready)
    system = next(pools[name] for name, pool in plan.pools.items() if pool.role == "system")
    wanted = SERVICE_ADDONS + (HOME_ADDONS if plan.home else ())
    services = _addons("service-addons", wanted, cluster, base, kube, after=system.nodes)
    scaled = scaled_pools(plan, base, cluster, kubernetes, hardware, cached, after=services.installed["coredns"])
    driver = services.installed["aws-ebs-csi-driver"]
    snapshots = _snapshots(plan, cluster, base, kube, after=driver)
    block = block_storage(plan, driver, snapshots, pulumi.ResourceOptions(parent=kube, providers=[kubernetes]))

    storage = pulumi.ResourceOptions(
        parent=Storage("storage", pulumi.ResourceOptions(providers=[provider, kubernetes]))
    )
    file_system = lustre(plan, base.keys, _storage_place(base, cluster), storage)
    homes = home(plan, base, cluster.security_group_id, services.installed, storage)
    objects = bucket(plan, base.keys, base.account.id, storage)
    beside = purpose_buckets(plan, base.keys, base.account.id, storage)
    images = registry(plan, base.keys, storage)
    if plan.external_secrets:
        rotate(plan.external_secrets.secrets, pulumi.ResourceOptions(parent=kube))
    numbers = aws_numbers(plan)
    return Platform(
        cluster=KubeCluster(
            name=cluster_name(),
            kubeconfig=cluster.kubeconfig,
            kubeconfig_command=kubeconfig_command(plan.deployment),
            endpoint=cluster.endpoint,
            open_to=(*plan.endpoint.public_cidrs, *plan.endpoint.private_cidrs),
            provider=kubernetes,
            ready=services.installed["coredns"],
        ),
        pools=gpu_pools(plan, {**pools, **scaled}),
        devices=_devices(plan, base),
        block=block.storage_class,
        remover=snapshots or driver,
        shared=LustreSource(
            file_system=file_system,
            plan=plan.file_system,
            driver=services.installed["aws-fsx-csi-driver"],
            opts=storage,
        ),
        home=homes,
        local=InstanceStore(),
        objects=S3Store(
            account_id=base.account.id,
            sources=plan.sources,
            bucket=objects.bucket_name,
            by_purpose=beside,
            key_arn=base.keys.arn,
            cluster_name=cluster.name,
            partition=base.account.partition,
            region=plan.deployment.region,
            client=plan.supply.image(AWS_CLI_IMAGE),
        ),
        entry=entry(plan, base),
        watching=watching(plan, base, cluster.name, file_system, services.installed["coredns"]),
        connections=connections(plan.deployment.vpc_cidr, services=bool(plan.vpc.reached_inside)),
        front=CertificateManager(account_id=base.account.id),
        zones=HostedZones(cluster_name=cluster.name, partition=base.account.partition),
        vault=SecretsManager(
            cluster_name=cluster.name,
            partition=base.account.partition,
            region=plan.deployment.region,
            account_id=base.account.id,
        ),
        firewall=SecurityGroups(wanted=plan.vpc.pod_groups, cluster_group_id=cluster.security_group_id)
        if plan.vpc.pod_groups
        else None,
        images=ecr_images(plan, base.account, cluster.name),
        people=EksPeople(cluster_name=cluster.name, opts=pulumi.ResourceOptions(parent=kube)),
        layer=kube,
        providers=[provider, kubernetes],
        outputs={
            "fabric": {
                "vpc": base.network.vpc_id,
                "gpuZone": plan.deployment.gpu_zone,
                "kind": "efa" if base.efa_group_id is not None else "ethernet",
                "efaInterfaces": plan.totals.efa_interfaces,
                "subnets": numbers["subnets"],
            },
            "hardware": {
                "priceUsd": numbers["priceUsd"],
                "quotas": numbers["quotas"],
                **({"spendingTopic": told.topic_arn} if told else {}),
                **({"endsParameter": kept.ends_parameter, "keeperTopic": kept.topic_arn} if kept else {}),
            },
            "storage": {
                "fileSystem": file_system.file_system_id,
                "bucket": objects.bucket_name,
                **({"buckets": beside} if beside else {}),
                **({"home": homes.files.file_system_id} if homes else {}),
                **numbers["storage"],
                **({"repositories": images.urls} if images else {}),
            },
        },
    )


def _devices(plan: AwsPlan, base: Ground) -> Devices:
    """The plugin offers EFA to pods where nodes have any; the GPUs' driver is in the nodes' image."""
    theirs = any(pool.bottlerocket and pool.gpus_per_node for pool in plan.pools.values())
    values = BOTTLEROCKET_VALUES if theirs else GPU_OPERATOR_VALUES
    if base.efa_group_id is None:
        return Devices(gpu_operator=values)
    plugin = DeviceChart(
        name="efa-plugin",
        chart=EFA_DEVICE_PLUGIN,
        namespace="kube-system",
        values=efa_plugin_values(tolerations_of_all_pools()),
    )
    return Devices(gpu_operator=values, charts=[plugin])


def _cluster_args(plan: AwsPlan, base: Ground, *, stands: bool) -> ClusterArgs:
    audit = plan.deployment.audit
    return ClusterArgs(
        name=cluster_name(),
        region=plan.deployment.region,
        partition=base.account.partition,
        account_id=base.account.id,
        version=plan.kubernetes_version,
        subnet_ids=base.network.subnet_ids("control-plane"),
        key_arn=base.keys.arn,
        deployer_arn=base.account.deployer_arn,
        admin_arns=plan.deployment.admin_arns,
        log_retention_days=audit.retention_days if audit else LOG_DAYS,
        log_key_arn=audit.key_arn if audit else None,
        public_access_cidrs=plan.endpoint.public_cidrs,
        private_access_cidrs=plan.endpoint.private_cidrs,
        private_access_from=plan.endpoint.private_from,
        profile=plan.deployment.profile,
        role_arn=plan.deployment.role_arn,
        standing=stands,
        protect=plan.ownership.protect,
        pod_groups=bool(plan.vpc.pod_groups),
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


def _snapshots(
    plan: AwsPlan, cluster: Cluster, base: Ground, kube: KubePlatform, after: pulumi.Resource
) -> pulumi.Resource | None:
    """The controller of snapshots, where they are wanted. It comes after the driver and goes before it: a namespace
    with a snapshot ends when both have let go of that.
    """
    if plan.block.snapshots is None:
        return None
    (controller,) = _addons("snapshot-addons", SNAPSHOT_ADDONS, cluster, base, kube, after).installed.values()
    return controller


def _storage_place(base: Ground, cluster: Cluster) -> StoragePlace:
    return StoragePlace(
        vpc_id=base.network.vpc_id,
        subnet_id=base.network.subnet_ids("gpu")[0],
        nodes_group_id=cluster.security_group_id,
        efa_group_id=base.efa_group_id,
    )
