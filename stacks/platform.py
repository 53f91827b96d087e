"""The platform contract: all that services and workloads know about where they run.

A further platform is one file that returns a `Platform`. Nothing here names a vendor, and nothing that reads it may.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pulumi
import pulumi_kubernetes as k8s

from catalogue.versions import Chart
from components.monitoring.counters import NodeCounters
from components.monitoring.monitors import Target
from components.monitoring.stack_values import ControlPlanePart
from components.platform.copying import Copier, StoreAddress
from components.platform.hyper_nodes import HyperNodeSpec
from components.platform.network_rules import Reach
from components.platform.pods import PodNetwork
from components.platform.sandbox import CLASS, SANDBOX_KEY
from components.platform.taints import Taint, pool_labels, pool_taints
from components.serving.entry import Entry
from components.storage.claims import ClaimSpec
from planner.external_secrets import ExternalSecretPlan
from planner.pool_types import PoolPlan, Role

MIG_CONFIG_KEY, PLUGIN_CONFIG_KEY = "nvidia.com/mig.config", "nvidia.com/device-plugin.config"


@dataclass(frozen=True, kw_only=True)
class KubeCluster:
    """The cluster. `kubeconfig` is secret, `kubeconfig_command` what a person types to get one, from one of the
    networks `open_to`, or from inside only where there are none. `ready` is the resource after which ordinary pods run:
    nodes, network and name service are there.
    """

    name: str
    kubeconfig: pulumi.Output[str]
    kubeconfig_command: str
    endpoint: pulumi.Output[str]
    open_to: Sequence[str]
    provider: k8s.Provider
    ready: pulumi.Resource


@dataclass(frozen=True, kw_only=True)
class GpuPool:
    """A GPU pool. `nodes_ready` exists when the nodes do; `nodes_now` of its `count` are asked for today.

    `devices` is what pods can ask for on a node: its GPUs, or where `slices`, what MIG cuts them into, or as many turns
    on each as there are `time_slices`. `network` is
    what a pod that takes a whole node gets of the fabric, `local_gb` what a node's own disks hold, decimal GB.
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


@dataclass(frozen=True, kw_only=True)
class DeviceChart:
    """A chart that offers devices of the nodes to pods, in a namespace that exists."""

    name: str
    chart: Chart
    namespace: pulumi.Input[str]
    values: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class DeviceObject:
    """An object that a chart of the devices acts on, called `name`, of the cluster or in a `namespace`. It comes after
    the objects `after`, by their names, and where `ready` is given (a condition of pulumi.com/waitFor), is there when
    that holds.
    """

    name: str
    api_version: str
    kind: str
    spec: Mapping[str, Any]
    namespace: pulumi.Input[str] | None = None
    ready: str | None = None
    after: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Devices:
    """What makes GPUs and cards schedulable here. `gpu_operator` are the values of its chart that follow from the
    nodes: whether they own driver and toolkit or it does. `objects` come after `charts`, and each after those before it
    that it names.
    """

    gpu_operator: Mapping[str, Any]
    charts: Sequence[DeviceChart] = ()
    objects: Sequence[DeviceObject] = ()


class SharedFiles(Protocol):
    """A shared file system: that of the runs, or the one of people's own files."""

    def claims(self, name: str, claims: Sequence[ClaimSpec]) -> Mapping[tuple[str, str], pulumi.Output[str]]:
        """Claim names by (namespace, claim), each resolving when the claim is there."""
        ...


class LocalDisks(Protocol):
    """The nodes' own disks."""

    def volume(self, gb: int) -> Mapping[str, Any]:
        """Source of a pod's volume there of `gb` decimal GB at most, as pod specs write it."""
        ...


class ObjectStore(Protocol):
    """Object storage with the stack's own `bucket`, and the rights of service accounts in it.

    Its addresses are SCHEME://BUCKET/PREFIX.
    """

    @property
    def scheme(self) -> str: ...

    @property
    def bucket(self) -> pulumi.Output[str]: ...

    @property
    def copier(self) -> Copier: ...

    @property
    def address(self) -> StoreAddress:
        """Where programs with a client of their own ask it, in words of S3."""
        ...

    def prepare(self, namespaces: Mapping[str, pulumi.Output[str]], opts: pulumi.ResourceOptions) -> None:
        """Make in the namespaces, given by name, what every copier needs there, before the first right is asked for."""
        ...

    def reader(
        self, name: str, *, source: str, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        """Let pods of `account` read below the address `source`. The account's name resolves when they may."""
        ...

    def writer(
        self, name: str, *, prefix: str, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        """Let pods of `account` read and write below `prefix` of the stack's own bucket."""
        ...


@dataclass(frozen=True, kw_only=True)
class LogSink:
    """Where logs go: `outputs` are sections of Fluent Bit's configuration. Its pods run as `account`, whose name
    resolves when they may write there; `read` is what a person types to read them.
    """

    outputs: pulumi.Input[str]
    account: pulumi.Output[str]
    read: str


class LogStore(Protocol):
    """What keeps logs."""

    def sink(
        self, name: str, *, namespace: pulumi.Input[str], account: str, days: int, opts: pulumi.ResourceOptions
    ) -> LogSink:
        """Let pods of `account` write logs that are kept so many days."""
        ...


class MachineSensors(Protocol):
    """What tells of power supplies, fans and air of the machines."""

    def watch(self, *, namespace: pulumi.Input[str], opts: pulumi.ResourceOptions) -> Target:
        """Register it; where its metrics are."""


@dataclass(frozen=True, kw_only=True)
class Watching:
    """What watching the cluster takes here: parts of the `control_plane` whose metrics can be had, beside those of the
    API server, what keeps `logs`, and counters of nodes that the node exporter does not read. `audit` are files of
    control-plane nodes, below /var/log, that are logs too, None where the platform keeps them by itself. `targets` are
    what else of the platform has metrics, and `sensors` registers what tells of the machines themselves.
    """

    control_plane: Sequence[ControlPlanePart]
    logs: LogStore
    counters: NodeCounters | None = None
    audit: str | None = None
    targets: Sequence[Target] = ()
    sensors: MachineSensors | None = None


@dataclass(frozen=True, kw_only=True)
class Connections:
    """With whom pods speak here besides each other: `api` is where the API server is asked, and asks webhooks from;
    `nodes` are the nodes' own addresses, `objects` the object store's, `identity` what gives pods their rights there.
    `callers` ask model servers from outside of the cluster, None where nobody does. `services` are the platform's own
    that stand inside its network, where pods that ask the Internet would ask them there; None where there are none.
    """

    api: Reach
    nodes: Reach
    objects: Reach
    identity: Reach | None = None
    callers: Reach | None = None
    services: Reach | None = None


class Zones(Protocol):
    """Zones of the platform's name service."""

    def writer(
        self,
        name: str,
        *,
        zone: str,
        hostnames: Sequence[str],
        namespace: pulumi.Input[str],
        account: str,
        opts: pulumi.ResourceOptions,
    ) -> pulumi.Output[str]:
        """Let pods of an account answer for the hostnames in a zone; its name, when new pods have the right."""
        ...

    def records(self, zone: str) -> Mapping[str, Any]:
        """What cert-manager is told of a zone (its documentation, ACME, DNS01)."""
        ...


class Vault(Protocol):
    """What keeps secrets outside of the stack file. `provider` is what a SecretStore is told of it (external-secrets,
    SecretStoreProvider).
    """

    @property
    def provider(self) -> Mapping[str, Any]: ...

    def reader(
        self,
        name: str,
        *,
        secrets: Sequence[ExternalSecretPlan],
        namespace: pulumi.Input[str],
        account: str,
        opts: pulumi.ResourceOptions,
    ) -> pulumi.Output[str]:
        """Let pods of an account read these secrets; its name, when new pods have the right."""
        ...


class Images(Protocol):
    """The platform's own registry. `provider` is its cloud, as Kyverno calls it."""

    @property
    def provider(self) -> str: ...

    def reader(
        self, name: str, *, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        """Let pods of an account read images and signatures; its name, when new pods have the right."""
        ...


class People(Protocol):
    """Who is known to the platform by themselves, not by a group of the identity provider."""

    def admit(self, name: str, principals: Mapping[str, Sequence[str]]) -> None:
        """Let people into the cluster, each principal as a member of groups that RBAC binds."""


class Hosts(Protocol):
    """A network that knows hosts outside by their names."""

    def reach(self, name: str, namespace: pulumi.Input[str], hosts: Sequence[str]) -> None:
        """Let pods of a namespace ask the name service, and these hosts at port 443; *.HOST are those below HOST."""


@dataclass(frozen=True, kw_only=True)
class Platform:
    """A platform with a running cluster, its pools and its storage. `pools` are those with GPUs, by name.

    `block` is the storage class of single volumes, `remover` what removes those whose claims are gone, None where what
    they lie on waits for that by itself when it is destroyed. `entry` is what a gateway is published by, `people` None
    where only groups are known, `zones` None where pods have no right to any, `home` None where people have no files of
    their own, `vault` None where nothing keeps secrets, `images` None where images are read without signing in.
    `hosts` is None where the network knows addresses only. `hyper_nodes` are the parts of the fabric whose nodes are
    near each other, none where all are equally near. `layer` is the parent of what else runs the cluster, `providers`
    are those that the workloads' resources need, `outputs` the platform's own lines in the stack's outputs, by layer.
    """

    cluster: KubeCluster
    pools: Mapping[str, GpuPool]
    devices: Devices
    block: pulumi.Output[str]
    shared: SharedFiles
    local: LocalDisks
    objects: ObjectStore
    entry: Entry
    watching: Watching
    connections: Connections
    layer: pulumi.Resource
    providers: Sequence[pulumi.ProviderResource]
    outputs: Mapping[str, Mapping[str, Any]]
    people: People | None = None
    hosts: Hosts | None = None
    zones: Zones | None = None
    home: SharedFiles | None = None
    vault: Vault | None = None
    images: Images | None = None
    remover: pulumi.Resource | None = None
    hyper_nodes: Sequence[HyperNodeSpec] = ()
