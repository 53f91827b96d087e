"""The pools whose nodes Karpenter makes, and Karpenter itself."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s

from catalogue.types import Architecture
from catalogue.versions import KARPENTER, KARPENTER_CRDS, KUBECTL_IMAGE, KUBERNETES, WAIT_IMAGE
from components.aws.cluster import Cluster
from components.aws.karpenter import NAMESPACE, KarpenterAccount, KarpenterAccountArgs, karpenter_values
from components.aws.karpenter_pool import KarpenterPool, KarpenterPoolArgs
from components.aws.node_role import NodeRole, NodeRoleArgs
from components.platform.charts import Chart, ChartArgs
from components.platform.crds import Crds, CrdsArgs
from components.platform.kubectl import Fetched
from components.platform.taints import GPU_PRODUCT_KEY
from planner.nodes import CONTROLLER_REQUEST, ScaledPlan
from planner.pool_types import AwsPoolPlan
from planner.types import AwsPlan
from stacks.aws_ground import Ground
from stacks.aws_pools import mirror_login
from stacks.charts import chart_source
from stacks.gpu_pools import node_labels, node_taints
from stacks.providers import mandatory_tags

_DEFINITIONS = f"https://raw.githubusercontent.com/aws/karpenter-provider-aws/v{KARPENTER.version}/pkg/apis/crds"


def scaled_pools(
    plan: AwsPlan,
    ground: Ground,
    cluster: Cluster,
    kubernetes: k8s.Provider,
    hardware: pulumi.Resource,
    cached: Sequence[pulumi.Input[str]],
    after: pulumi.Resource,
) -> Mapping[str, KarpenterPool]:
    """Register Karpenter and its pools, by name; nothing where no pool is its. `after` is what lets its pods run,
    `cached` are repositories of the image cache.
    """
    wanted = {name: (pool, pool.scaled) for name, pool in plan.pools.items() if pool.scaled}
    if not wanted:
        return {}
    inside = pulumi.ResourceOptions(parent=hardware)
    in_cluster = pulumi.ResourceOptions(parent=hardware, providers=[kubernetes])
    account = _account(plan, ground, cluster, cached, inside)
    release = _controller(plan, account, cluster, in_cluster, after)
    return {
        name: KarpenterPool(f"pool-{name}", _pool(plan, pool, scaled, ground, cluster, account, release), in_cluster)
        for name, (pool, scaled) in wanted.items()
    }


def _account(
    plan: AwsPlan,
    ground: Ground,
    cluster: Cluster,
    cached: Sequence[pulumi.Input[str]],
    inside: pulumi.ResourceOptions,
) -> KarpenterAccount:
    may = NodeRoleArgs(
        partition=ground.account.partition,
        session_manager=plan.deployment.session_manager,
        cached=cached,
        login=plan.supply.login.secret_arn if plan.supply.login else None,
        purpose="karpenter-nodes",
    )
    args = KarpenterAccountArgs(
        cluster_name=cluster.name,
        region=plan.deployment.region,
        partition=ground.account.partition,
        account_id=ground.account.id,
        node_role=NodeRole("karpenter-node-role", may, inside),
    )
    return KarpenterAccount("karpenter-account", args, inside)


def _controller(
    plan: AwsPlan,
    account: KarpenterAccount,
    cluster: Cluster,
    inside: pulumi.ResourceOptions,
    after: pulumi.Resource,
) -> pulumi.Resource:
    kinds = Crds(
        "karpenter-crds",
        CrdsArgs(
            files=[
                Fetched(
                    name=name.partition("_")[2],
                    url=f"{_DEFINITIONS}/{name}.yaml",
                    sha256=digest,
                    image=plan.supply.image(WAIT_IMAGE),
                )
                for name, digest in KARPENTER_CRDS.items()
            ],
            crds=[".".join(reversed(name.split("_"))) for name in KARPENTER_CRDS],
            namespace=NAMESPACE,
            image=plan.supply.image(KUBECTL_IMAGE),
            after=after,
        ),
        inside,
    ).established
    cpu, memory = CONTROLLER_REQUEST
    values = karpenter_values(
        account.service_account, account.queue, cluster.name, cpu_millicores=cpu, memory_mib=memory
    )
    chart = ChartArgs(source=chart_source(KARPENTER, plan.supply), namespace=NAMESPACE, values=values, after=kinds)
    return Chart("karpenter", chart, inside).release


def _labels(pool: AwsPoolPlan) -> dict[str, str]:
    """The labels of a node group's nodes, and the GPU's name, which pods ask for: feature discovery writes it on nodes
    that are there, and Karpenter starts none for a label of which it knows no value.
    """
    return node_labels(pool) | ({GPU_PRODUCT_KEY: pool.gpu_product} if pool.gpu_product else {})


def _pool(
    plan: AwsPlan,
    pool: AwsPoolPlan,
    scaled: ScaledPlan,
    ground: Ground,
    cluster: Cluster,
    account: KarpenterAccount,
    release: pulumi.Resource,
) -> KarpenterPoolArgs:
    return KarpenterPoolArgs(
        pool=pool.name,
        release=f"v{KUBERNETES[plan.kubernetes_version].ami_release.rpartition('-')[2]}",
        instance_profile=account.instance_profile,
        subnet_ids=ground.network.subnet_ids("gpu"),
        security_group_ids=[cluster.security_group_id],
        instance_types=[each.type for each in scaled.types],
        capacity_types=[str(each) for each in scaled.usages],
        architecture="arm64" if pool.instance.architecture is Architecture.ARM64 else "amd64",
        gpus=scaled.gpus,
        local_nvme=pool.nvme is not None,
        root_volume_gib=pool.root_volume_gib,
        labels=_labels(pool),
        taints=node_taints(pool),
        tags=mandatory_tags(plan.ownership),
        empty_seconds=scaled.empty_seconds,
        max_days=scaled.max_days,
        after=[release],
        login=mirror_login(plan),
        parallel_pulls=pool.parallel_pulls,
    )
