"""What runs on every platform before the first workload: namespaces, operators, the gang scheduler and its queues."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from catalogue import versions
from catalogue.images import pinned
from components.layers import Scheduling
from components.platform.charts import Chart, ChartArgs, ChartSource
from components.platform.efa_plugin import efa_plugin_values
from components.platform.gpu_operator import gpu_operator_values
from components.platform.gpu_readiness import GpuReadiness, GpuReadinessArgs
from components.platform.namespaces import Namespaces, NamespacesArgs, NamespaceSpec
from components.platform.priorities import Priorities
from components.platform.queues import Queues, QueuesArgs, QueueSpec
from components.platform.taints import tolerations_of_all_pools
from components.platform.training_operator import TrainingOperator, TrainingOperatorArgs
from components.platform.volcano import volcano_values
from components.storage.block import BlockStorage
from components.storage.lustre_claims import ClaimSpec
from settings.model import Settings
from stacks.platform import GpuPool, Platform

DATA, CHECKPOINTS, WEIGHTS = ("training", "training-data"), ("training", "checkpoints"), ("inference", "model-weights")


@dataclass(frozen=True, kw_only=True)
class Services:
    """What workloads refer to. Names resolve when the things exist; `claims` go by (namespace, claim).

    `gpus` is what shows that the nodes' GPUs work: nothing where no pool has GPUs.
    """

    namespaces: Mapping[str, pulumi.Output[str]]
    priorities: Mapping[str, pulumi.Output[str]]
    queues: Mapping[str, pulumi.Output[str]]
    claims: Mapping[tuple[str, str], pulumi.Output[str]]
    training_operator: pulumi.Resource
    monitors: pulumi.Resource
    gpus: Sequence[pulumi.Resource]


def namespace_specs(pools: Sequence[GpuPool]) -> list[NamespaceSpec]:
    """The namespaces. Training pods lock memory for EFA (NW03), which the baseline level forbids; operands of the
    GPU Operator mount the host. Quotas keep one side from taking the other's GPUs (A08)."""

    def gpus(role: str) -> int:
        return sum(pool.count * pool.gpus for pool in pools if pool.role == role)

    return [
        NamespaceSpec(name="training", pod_security="privileged", gpus=gpus("training"), limits=True),
        NamespaceSpec(name="inference", pod_security="baseline", gpus=gpus("inference"), limits=True),
        NamespaceSpec(name="gpu-operator", pod_security="privileged"),
        NamespaceSpec(name="volcano-system", pod_security="baseline"),
        NamespaceSpec(name="kubeflow", pod_security="baseline"),
        NamespaceSpec(name="monitoring", pod_security="baseline"),
    ]


def chart_source(chart: versions.Chart) -> ChartSource:
    """The catalogue's row as a component takes it."""
    return ChartSource(name=chart.name, version=chart.version, repository=chart.repository)


def deploy_services(settings: Settings, platform: Platform) -> Services:
    """Register the services; everything with pods comes after `platform.cluster.ready`."""
    kubernetes = platform.cluster.provider
    at_platform = pulumi.ResourceOptions(parent=platform.kube_layer, providers=[kubernetes])
    namespaces = Namespaces(
        "namespaces", NamespacesArgs(namespaces=namespace_specs(list(platform.pools.values()))), at_platform
    ).names
    BlockStorage("block-storage", at_platform)
    monitors = _monitors(platform, namespaces, at_platform)
    gpus = _devices(platform, namespaces, monitors, at_platform)
    scheduling = Scheduling("scheduling", pulumi.ResourceOptions(providers=[kubernetes]))
    at_scheduling = pulumi.ResourceOptions(parent=scheduling)
    volcano = Chart(
        "volcano",
        ChartArgs(
            source=chart_source(versions.VOLCANO),
            namespace=namespaces["volcano-system"],
            values=volcano_values(versions.VOLCANO.version),
            after=platform.cluster.ready,
        ),
        at_scheduling,
    ).release
    queues = [
        QueueSpec(name=queue.name, weight=queue.weight, gpus=queue.gpus, reclaimable=queue.reclaimable)
        for queue in settings.scheduling.queues
    ]
    operator = TrainingOperator(
        "training-operator",
        TrainingOperatorArgs(
            version=versions.TRAINING_OPERATOR,
            image=pinned(versions.TRAINING_OPERATOR_IMAGE),
            kubectl_image=pinned(versions.KUBECTL_IMAGE),
            wait_image=pinned(versions.WAIT_IMAGE),
            namespace=namespaces["kubeflow"],
            scheduler=volcano,
        ),
        at_scheduling,
    )
    return Services(
        namespaces=namespaces,
        priorities=Priorities("priorities", at_scheduling).names,
        queues=Queues("queues", QueuesArgs(queues=queues, scheduler=volcano), at_scheduling).names,
        claims=platform.file_system.claims("claims", _claims(namespaces)),
        training_operator=operator.ready,
        monitors=monitors,
        gpus=gpus,
    )


def _monitors(
    platform: Platform, namespaces: Mapping[str, pulumi.Output[str]], inside: pulumi.ResourceOptions
) -> pulumi.Resource:
    """The kinds of monitors. The GPU Operator skips monitors it has no CRD for, so it comes after them."""
    return Chart(
        "prometheus-operator-crds",
        ChartArgs(
            source=chart_source(versions.PROMETHEUS_OPERATOR_CRDS),
            namespace=namespaces["monitoring"],
            after=platform.cluster.ready,
        ),
        inside,
    ).release


def _devices(
    platform: Platform,
    namespaces: Mapping[str, pulumi.Output[str]],
    monitors: pulumi.Resource,
    inside: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """What makes GPUs and EFA schedulable; returns what shows that the GPUs are."""
    tolerations = tolerations_of_all_pools()
    if platform.fabric == "efa":
        Chart(
            "efa-plugin",
            ChartArgs(
                source=chart_source(versions.EFA_DEVICE_PLUGIN),
                namespace="kube-system",
                values=efa_plugin_values(tolerations),
                after=platform.cluster.ready,
            ),
            inside,
        )
    if not platform.pools:
        return []
    pools = platform.pools.values()
    values = gpu_operator_values(tolerations, slices=any(pool.slices for pool in pools))
    operator = Chart(
        "gpu-operator",
        ChartArgs(
            source=chart_source(versions.GPU_OPERATOR),
            namespace=namespaces["gpu-operator"],
            values=values,
            timeout_seconds=900,
            after=monitors,
        ),
        inside,
    )
    readiness = GpuReadinessArgs(
        namespace=namespaces["gpu-operator"],
        image=pinned(versions.KUBECTL_IMAGE),
        gpu_nodes=any(pool.nodes_now for pool in pools),
        revision=f"{versions.GPU_OPERATOR.version} {json.dumps(values, sort_keys=True)}",
        operator=operator.release,
    )
    return [GpuReadiness("gpu-readiness", readiness, inside).ready]


def _claims(namespaces: Mapping[str, pulumi.Output[str]]) -> list[ClaimSpec]:
    """Every claim that a workload names (G31), with the mode of its purpose (G32)."""
    return [
        ClaimSpec(
            namespace=namespace,
            name=name,
            namespace_ref=namespaces[namespace],
            access_mode="ReadOnlyMany" if (namespace, name) == DATA else "ReadWriteMany",
        )
        for namespace, name in (DATA, CHECKPOINTS, WEIGHTS)
    ]
