"""What services and workloads know of a platform, and no more. A further platform is one file that returns this."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import pulumi
import pulumi_kubernetes as k8s

from components.platform.taints import Taint
from components.storage.lustre_claims import ClaimSpec


@dataclass(frozen=True, kw_only=True)
class KubeCluster:
    """The cluster. `ready` is the resource after which ordinary pods run: nodes, network and name service are there."""

    name: str
    kubeconfig: pulumi.Output[str]
    kubeconfig_command: str
    endpoint: pulumi.Output[str]
    provider: k8s.Provider
    ready: pulumi.Resource


@dataclass(frozen=True, kw_only=True)
class GpuPool:
    """A GPU pool. Counts of `gpus` and `efa` are per node; `nodes_ready` exists when the nodes do.

    `nodes_now` is how many of its `count` nodes are asked for today: none while its capacity block has not begun.

    Where `slices`, MIG cuts every GPU, and `gpus` counts the slices, as pods ask for them.
    """

    name: str
    role: Literal["training", "inference"]
    gpu_product: str
    count: int
    nodes_now: int
    gpus: int
    efa: int
    slices: bool
    labels: Mapping[str, str]
    taints: Sequence[Taint]
    nodes_ready: pulumi.Resource


class ClaimSource(Protocol):
    """A shared file system that claims can be made of."""

    def claims(self, name: str, claims: Sequence[ClaimSpec]) -> Mapping[tuple[str, str], pulumi.Output[str]]:
        """Claim names by (namespace, claim), each resolving when the claim is there."""
        ...


class ObjectStore(Protocol):
    """Object storage, and the rights of service accounts in it."""

    @property
    def bucket_name(self) -> pulumi.Output[str]:
        """The stack's own bucket."""
        ...

    def reader(
        self, name: str, *, source: str, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        """Let pods of `account` read below `source` (s3://bucket/prefix). The account's name resolves when they may."""
        ...

    def writer(
        self, name: str, *, prefix: str, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        """Let pods of `account` read and write below `prefix` of the stack's own bucket."""
        ...


@dataclass(frozen=True, kw_only=True)
class Platform:
    """A platform with a running cluster, its pools and its storage.

    `kube_layer` is the parent of what else runs the cluster. `providers` are those that the workloads' resources need.
    `outputs` are the platform's own lines in the stack's outputs, by layer.
    """

    cluster: KubeCluster
    pools: Mapping[str, GpuPool]
    fabric: Literal["efa", "ethernet"]
    file_system: ClaimSource
    object_store: ObjectStore
    kube_layer: pulumi.Resource
    providers: Sequence[pulumi.ProviderResource]
    outputs: Mapping[str, Mapping[str, Any]]
