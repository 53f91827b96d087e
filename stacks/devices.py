"""Device plugins: the GPU Operator, the fabric's plugins, and checks that GPUs work."""

import json
from collections.abc import Mapping

import pulumi
import pulumi_kubernetes as k8s

from catalogue import versions
from components.platform.charts import Chart, ChartArgs
from components.platform.gpu_checks import GpuChecks, GpuChecksArgs
from components.platform.gpu_operator import GpuCounters, GpuCountersArgs, gpu_operator_values
from components.platform.gpu_operator_crds import GpuOperatorCrds, GpuOperatorCrdsArgs
from components.platform.gpu_readiness import GpuReadiness, GpuReadinessArgs
from components.platform.taints import GPU_RESOURCE, tolerations_of_all_pools
from monitoring.counters import dcgm_csv
from planner.pool_types import plugin_config
from planner.types import Plan
from stacks.charts import chart_source
from stacks.gpu_pools import GpuPool
from stacks.platform import DeviceObject, Platform

SCRAPE_S = 30
"""Between two looks at the GPUs' exporter by a Prometheus of somebody else's: it collects so often by itself."""


def deploy_devices(
    plan: Plan,
    platform: Platform,
    namespaces: Mapping[str, pulumi.Output[str]],
    monitors: pulumi.Resource,
    inside: pulumi.ResourceOptions,
) -> dict[str, list[pulumi.Resource]]:
    """What makes GPUs and the fabric's cards schedulable; returns what shows that the GPUs are, by pool."""
    releases = [
        Chart(
            each.name,
            ChartArgs(
                source=chart_source(each.chart, plan.supply),
                namespace=each.namespace,
                values=each.values,
                after=platform.cluster.ready,
            ),
            inside,
        ).release
        for each in platform.devices.charts
    ]
    objects: dict[str, pulumi.Resource] = {}
    for wanted in platform.devices.objects:
        before = [*releases, *(objects[name] for name in wanted.after)]
        objects[wanted.name] = _object(wanted, f"{platform.layer.pulumi_resource_name}-{wanted.name}", before, inside)
    if not platform.pools:
        return {}
    pools = platform.pools.values()
    slices = any(pool.slices for pool in pools)
    tolerations = tolerations_of_all_pools(taint for pool in pools for taint in pool.taints)
    counters = GpuCounters(
        "gpu-counters", GpuCountersArgs(namespace=namespaces["gpu-operator"], csv=dcgm_csv()), inside
    )
    turns = {plugin_config(pool.time_slices): pool.time_slices for pool in pools if pool.time_slices > 1}
    values = gpu_operator_values(
        tolerations,
        platform.devices.gpu_operator,
        counters=counters.name,
        scrape_s=plan.monitoring.scrape_s if plan.monitoring else SCRAPE_S,
        slices=slices,
        turns=turns,
    )
    definitions = GpuOperatorCrdsArgs(
        namespace=namespaces["gpu-operator"], image=plan.supply.image(versions.GPU_OPERATOR_IMAGE), after=monitors
    )
    operator = Chart(
        "gpu-operator",
        ChartArgs(
            source=chart_source(versions.GPU_OPERATOR, plan.supply),
            namespace=namespaces["gpu-operator"],
            values=values,
            timeout_seconds=900,
            after=[GpuOperatorCrds("gpu-operator-crds", definitions, inside).established, counters.kept],
        ),
        inside,
    )
    revision = f"{versions.GPU_OPERATOR.version} {json.dumps(values, sort_keys=True)}"
    readiness = GpuReadinessArgs(
        namespace=namespaces["gpu-operator"],
        image=plan.supply.image(versions.KUBECTL_IMAGE),
        gpu_nodes=any(pool.nodes_now for pool in pools),
        revision=revision,
        operator=operator.release,
    )
    ready = GpuReadiness("gpu-readiness", readiness, inside).ready

    def works(pool: GpuPool) -> list[pulumi.Resource]:
        """A pool's checks; none where its nodes come later, with a block of capacity."""
        if not pool.nodes_now:
            return []
        network = pool.network
        cards = {name: count * network.shares for name, count in network.resources.items()}
        args = GpuChecksArgs(
            namespace=namespaces["gpu-operator"],
            pool=pool.name,
            gpu_product=pool.gpu_product,
            taints=pool.taints,
            offered={GPU_RESOURCE: pool.devices, **cards},
            image=plan.supply.image(versions.KUBECTL_IMAGE),
            smoke_image=plan.supply.image(versions.GPU_OPERATOR_IMAGE),
            revision=revision,
            # Who is attached to a network needs more of it than its devices.
            after=[pool.nodes_ready, ready, *(objects.values() if network.annotations else ())],
        )
        return [GpuChecks(f"gpu-checks-{pool.name}", args, inside).works]

    return {pool.name: [ready, *works(pool)] for pool in pools}


def _object(
    wanted: DeviceObject, name: str, before: list[pulumi.Resource], inside: pulumi.ResourceOptions
) -> pulumi.Resource:
    """Drivers of cards, which an object may wait for, are built on each node where they come in containers."""
    timeouts = pulumi.CustomTimeouts(create="40m", update="40m") if wanted.ready else None
    return k8s.apiextensions.CustomResource(
        name,
        api_version=wanted.api_version,
        kind=wanted.kind,
        metadata=k8s.meta.v1.ObjectMetaArgs(
            name=wanted.name,
            namespace=wanted.namespace,
            annotations={"pulumi.com/waitFor": wanted.ready} if wanted.ready else None,
        ),
        spec=wanted.spec,
        opts=pulumi.ResourceOptions.merge(inside, pulumi.ResourceOptions(depends_on=before, custom_timeouts=timeouts)),
    )
