"""What stands on a site: the control plane's nodes, and ranges of addresses."""

from collections.abc import Iterable
from ipaddress import IPv4Network
from itertools import combinations

from planner.draft import MetalDraft, metal_rule, metal_warning
from planner.findings import Observation
from planner.nodes import METAL_MAX_PODS
from planner.wording import counted

_POD_RANGE_BITS = 8
"""Bits of the range of pod addresses that kube-controller-manager gives a node by default (a /24 of them)."""

_SERVICE_PREFIXES = (12, 28)
"""Shortest and longest prefix of the range of Services."""

_LARGEST_PRIVATE = 8
"""Prefix of 10.0.0.0/8 (RFC 1918)."""

_RESERVED = 2
"""Addresses of a range that no host can have: the network's own, and broadcast."""


@metal_rule(
    "KJ29",
    formula="nodes of system pools >= controlPlaneNodes",
    source='kubeadm documentation, "Control plane node isolation"; Definition of the stack file',
)
def control_plane_nodes(draft: MetalDraft) -> Iterable[Observation]:
    """The control plane runs on nodes of its own, never on those with GPUs."""
    wanted = draft.settings.platform.control_plane_nodes
    system = [pool for pool in draft.settings.pools if pool.role == "system"]
    there = sum(pool.count for pool in system)
    if there < wanted:
        yield Observation(
            path="platform.controlPlaneNodes",
            sentence=f"the control plane takes {counted(wanted, 'node')}, and the system pools have {there}",
            remedy=f"raise the count of a system pool by {wanted - there}, or take fewer of them on purpose",
            inputs={"control plane nodes": str(wanted), "system nodes": str(there)},
        )


@metal_warning(
    "KJ29", formula="controlPlaneNodes >= 3", source="etcd documentation, FAQ: failure tolerance by cluster size"
)
def control_plane_alone(draft: MetalDraft) -> Iterable[Observation]:
    """The control plane has three nodes or more: with one, the cluster stops when it does."""
    if draft.settings.platform.control_plane_nodes == 1:
        yield Observation(
            path="platform.controlPlaneNodes",
            sentence="with 1 control plane node, nothing is scheduled or repaired while that node is away",
            remedy="take 3 where work must go on",
            inputs={"control plane nodes": "1"},
        )


@metal_rule(
    "F02 F08",
    formula="no address lies in two ranges",
    source='Kubernetes documentation, "Cluster Networking": Pods, Services and Nodes do not overlap',
)
def addresses_overlap(draft: MetalDraft) -> Iterable[Observation]:
    """No two ranges share an address: hosts, management controllers, pods, Services, compute ports."""
    for (path, one), (other_path, other) in combinations(_ranges(draft).items(), 2):
        if one.overlaps(other):
            yield Observation(
                path=other_path,
                sentence=f"{other} overlaps {one} of {path}",
                remedy="take a range that shares no address with the other",
                subject=path,
                inputs={"range": str(other), "overlapped": str(one)},
            )


@metal_rule(
    "F02 F09",
    formula="needed <= 2^(32 - prefix) - 2; pods: nodes <= 2^(24 - prefix)",
    source="kube-controller-manager reference, --node-cidr-mask-size-ipv4: 24",
)
def addresses_too_few(draft: MetalDraft) -> Iterable[Observation]:
    """Every range holds what gets an address after the growth: hosts, storage servers, the management controllers of
    both, of switches and of power strips, compute ports; the pods' has a /24 for each node."""
    most = sum(pool.most for pool in draft.settings.pools)
    stores = sum(each.count for each in draft.settings.storage.servers)
    ports = sum(pool.most * pool.rails for pool in draft.pools.values()) + draft.settings.fabric.storage_ports
    switches = sum(each.design.switches for each in draft.networks)
    switches += draft.fabric.growth.at_maximum.switches if draft.fabric else 0
    room = draft.settings.facility
    strips = room.power_strips(max(room.racks.count, len(draft.facility.racks)), draft.facility.circuits)
    needed = {
        "platform.managementCidr": most + stores,
        "platform.bmcCidr": most + stores + switches + strips,
        "fabric.railCidr": ports,
    }
    for path, network in _ranges(draft).items():
        wanted, there = needed.get(path, 0), max(0, network.num_addresses - _RESERVED)
        if wanted > there:
            yield Observation(
                path=path,
                sentence=f"{network} has {there} addresses, and {wanted} are needed",
                remedy=_range_for(wanted),
                inputs={"addresses": str(there), "needed": str(wanted)},
            )
    pods = _ranges(draft)["platform.podCidr"]
    nodes = pods.num_addresses >> _POD_RANGE_BITS
    if most > nodes:
        yield Observation(
            path="platform.podCidr",
            sentence=f"{pods} has a /{32 - _POD_RANGE_BITS} (for {METAL_MAX_PODS} pods) for {nodes} nodes, and {most} "
            "are declared",
            remedy=_range_for((most << _POD_RANGE_BITS) - _RESERVED),
            inputs={"nodes": str(most), "ranges": str(nodes)},
        )


@metal_rule(
    "F02",
    formula="12 <= prefix of serviceCidr <= 28",
    source="kube-apiserver, cmd/kube-apiserver/app/options/validation.go: at most 20 bits; kubeadm, "
    "cmd/kubeadm/app/apis/kubeadm/validation/validation.go: at least 10 addresses",
)
def service_range(draft: MetalDraft) -> Iterable[Observation]:
    """The range of Services is one that kube-apiserver and kubeadm take."""
    network = IPv4Network(draft.settings.platform.service_cidr)
    if not _SERVICE_PREFIXES[0] <= network.prefixlen <= _SERVICE_PREFIXES[1]:
        wide = network.prefixlen < _SERVICE_PREFIXES[0]
        said = "kube-apiserver takes at most 2^20 of them" if wide else "kubeadm asks for 10 at least"
        yield Observation(
            path="platform.serviceCidr",
            sentence=f"{network} has {network.num_addresses} addresses for Services, and {said}",
            remedy=f"take a /{_SERVICE_PREFIXES[0]}" if wide else "take a /24, or larger",
            inputs={"prefix": str(network.prefixlen)},
        )


def _range_for(addresses: int) -> str:
    """What to do for so many hosts: a range that holds them, as far as private ranges go."""
    prefix = 32 - (addresses + _RESERVED - 1).bit_length()
    if prefix >= _LARGEST_PRIVATE:
        return f"take a /{prefix}"
    return f"no private range is larger than a /{_LARGEST_PRIVATE}: lower the pools' count or maxCount"


def _ranges(draft: MetalDraft) -> dict[str, IPv4Network]:
    platform, rails = draft.settings.platform, draft.settings.fabric.rail_cidr
    written = {
        "platform.managementCidr": platform.management_cidr,
        "platform.bmcCidr": platform.bmc_cidr,
        "platform.podCidr": platform.pod_cidr,
        "platform.serviceCidr": platform.service_cidr,
        **({"fabric.railCidr": rails} if rails is not None else {}),
    }
    return {path: IPv4Network(network) for path, network in written.items()}


@metal_warning(
    "Y06",
    formula="inventory.objectStore.endpoint is https",
    source="S3 API, Signature Version 4: a request's words are signed, and nothing is encrypted",
)
def store_in_clear(draft: MetalDraft) -> Iterable[Observation]:
    """Checkpoints and weights are read and written by TLS: who is on the network could read them, or give others."""
    store = draft.settings.inventory.object_store if draft.settings.inventory else None
    if store and store.endpoint.startswith("http:"):
        yield Observation(
            path="inventory.objectStore.endpoint",
            sentence=f"{store.endpoint} has no TLS: checkpoints and weights pass the network in clear",
            remedy="let the store answer https, or waive store-in-clear where the network itself is encrypted",
            inputs={"endpoint": store.endpoint},
        )
