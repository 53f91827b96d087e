"""Node pools with GPUs, as workloads know them on any platform."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components.platform.pods import PodNetwork
from components.platform.sandbox import CLASS, SANDBOX_KEY
from components.platform.taints import Taint, pool_labels, pool_taints
from planner.pool_types import PoolPlan, Role

MIG_CONFIG_KEY, PLUGIN_CONFIG_KEY = "nvidia.com/mig.config", "nvidia.com/device-plugin.config"


@dataclass(frozen=True, kw_only=True)
class GpuPool:
    """A GPU pool. `nodes_ready` exists when the nodes do; `nodes_now` of its `count` are asked for today.

    `devices` is what pods can ask for on a node: its GPUs, or where `slices`, what MIG cuts them into, or as many turns
    on each as there are `time_slices`. `network` is what a pod that takes a whole node gets of the fabric, `local_gb`
    what a node's own disks hold, decimal GB.
    """

    name: str
    role: Role
    gpu_product: str
    count: int
    nodes_now: int
    devices: int
    slices: bool
    time_slices: int
    labels: Mapping[str, str]
    taints: Sequence[Taint]
    local_gb: int
    network: PodNetwork
    nodes_ready: pulumi.Resource


def node_labels(pool: PoolPlan) -> dict[str, str]:
    """Labels of a pool's nodes; the GPU Operator's parts read how their GPUs are to be cut, or shared by turns."""
    read = {MIG_CONFIG_KEY: pool.mig_config, PLUGIN_CONFIG_KEY: pool.plugin_config}
    if pool.sandboxed:
        read[SANDBOX_KEY] = CLASS
    return pool_labels(pool.name, pool.role) | {key: value for key, value in read.items() if value}


def node_taints(pool: PoolPlan) -> tuple[Taint, ...]:
    """Taints of a pool's nodes."""
    return pool_taints(pool.name, pool.role, gpus=pool.gpus_per_node)


def gpu_pool(pool: PoolPlan, network: PodNetwork, nodes_ready: pulumi.Resource) -> GpuPool:
    """The planned pool as workloads know it. Raises ValueError for one without GPUs."""
    if pool.gpu_product is None:
        raise ValueError(f"pool {pool.name} has no GPUs")
    return GpuPool(
        name=pool.name,
        role=pool.role,
        gpu_product=pool.gpu_product,
        count=pool.count,
        nodes_now=pool.nodes_now,
        devices=pool.devices_per_node,
        slices=pool.mig is not None,
        time_slices=pool.time_slices,
        labels=node_labels(pool),
        taints=node_taints(pool),
        local_gb=pool.nvme.count * pool.nvme.size_gb if pool.nvme else 0,
        network=network,
        nodes_ready=nodes_ready,
    )
