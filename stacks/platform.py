"""The platform contract: all that services and workloads know about where they run.

A further platform is one file that returns a `Platform`. Nothing here names a vendor, and nothing that reads it may.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from catalogue.versions import Chart
from components.monitoring.counters import NodeCounters
from components.monitoring.monitors import Target
from components.monitoring.stack_values import ControlPlanePart
from components.platform.hyper_nodes import HyperNodeSpec
from components.platform.network_rules import Reach
from components.serving.entry import Entry
from monitoring.limits import BlockLimits, MachineLimits
from stacks.gpu_pools import GpuPool
from stacks.platform_services import (
    Front,
    Hosts,
    Images,
    LocalDisks,
    LogStore,
    ObjectStore,
    People,
    PodFirewall,
    Reader,
    SharedFiles,
    Snapshots,
    Vault,
    Zones,
)


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


@dataclass(frozen=True, kw_only=True)
class Watching:
    """What watching the cluster takes here: parts of the `control_plane` whose metrics can be had, beside those of the
    API server, what keeps `logs`, and counters of nodes that the node exporter does not read. `audit` are files of
    control-plane nodes, below /var/log, that are logs too, None where the platform keeps them by itself. `targets` are
    what else of the platform has metrics, `sensors` registers what tells of the machines themselves, `files` what tells
    of the shared file system. `machines` are what alerts compare with of machines whose own controllers are asked,
    `blocks` the times that capacity was bought for.
    """

    control_plane: Sequence[ControlPlanePart]
    logs: LogStore
    counters: NodeCounters | None = None
    audit: str | None = None
    targets: Sequence[Target] = ()
    sensors: Reader | None = None
    files: Reader | None = None
    machines: Sequence[MachineLimits] = ()
    blocks: Sequence[BlockLimits] = ()


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


@dataclass(frozen=True, kw_only=True)
class Platform:
    """A platform with a running cluster, its pools and its storage. `pools` are those with GPUs, by name.

    `block` is the storage class of single volumes, `remover` what removes those whose claims are gone, None where what
    they lie on waits for that by itself when it is destroyed. `entry` is what a gateway is published by, `people` None
    where only groups are known, `zones` None where pods have no right to any, `front` None where the load balancer
    passes TLS on only, `home` None where people have no files of their own, `vault` None where nothing keeps secrets,
    `firewall` None where NetworkPolicies alone keep pods apart,
    `images` None where images are read without signing in. `hosts` is None where the network knows addresses only,
    `snapshots` where files have none. `hyper_nodes` are the
    parts of the fabric whose nodes are near each other, none where all are equally near. `layer` is the parent of what
    else runs the cluster, `providers` are those that the workloads' resources need, `outputs` the platform's own lines
    in the stack's outputs, by layer.
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
    front: Front | None = None
    home: SharedFiles | None = None
    snapshots: Snapshots | None = None
    vault: Vault | None = None
    firewall: PodFirewall | None = None
    images: Images | None = None
    remover: pulumi.Resource | None = None
    hyper_nodes: Sequence[HyperNodeSpec] = ()
