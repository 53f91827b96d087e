"""What stands on a site: the control plane's nodes, and ranges of addresses."""

from collections.abc import Iterable
from ipaddress import IPv4Network
from itertools import combinations

from planner.findings import Observation, Severity
from planner.metal_draft import MetalDraft, metal_rule
from planner.nodes import METAL_MAX_PODS

_POD_RANGE_BITS = 8
"""Bits of the range of pod addresses that kube-controller-manager gives a node by default (a /24 of them)."""

_RESERVED = 2
"""Addresses of a range that no host can have: the network's own, and broadcast."""


@metal_rule(
    "control-plane-nodes",
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
            sentence=f"the control plane takes {wanted} nodes, and the system pools have {there}",
            remedy=f"raise the count of a system pool by {wanted - there}, or take fewer of them on purpose",
            inputs={"control plane nodes": str(wanted), "system nodes": str(there)},
        )


@metal_rule(
    "control-plane-alone",
    "KJ29",
    severity=Severity.WARNING,
    formula="controlPlaneNodes >= 3",
    source="etcd documentation, FAQ: failure tolerance by cluster size",
)
def control_plane_alone(draft: MetalDraft) -> Iterable[Observation]:
    """One control plane node means that the cluster stands still with it."""
    if draft.settings.platform.control_plane_nodes == 1:
        yield Observation(
            path="platform.controlPlaneNodes",
            sentence="with 1 control plane node, nothing is scheduled or repaired while that node is away",
            remedy="take 3 where work must go on",
            inputs={"control plane nodes": "1"},
        )


@metal_rule(
    "addresses-overlap",
    "F02",
    "F08",
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
                remedy="take a range of its own",
                subject=path,
                inputs={"range": str(other), "overlapped": str(one)},
            )


@metal_rule(
    "addresses-too-few",
    "F02",
    "F09",
    formula="needed <= 2^(32 - prefix) - 2; pods: nodes <= 2^(24 - prefix)",
    source="kube-controller-manager reference, --node-cidr-mask-size-ipv4: 24",
)
def addresses_too_few(draft: MetalDraft) -> Iterable[Observation]:
    """Every range has an address for each node after its growth; the pods' has a /24 for each."""
    most = sum(pool.most for pool in draft.settings.pools)
    ports = sum(pool.most * pool.rails for pool in draft.pools.values())
    needed = {"platform.managementCidr": most, "platform.bmcCidr": most, "fabric.railCidr": ports}
    for path, network in _ranges(draft).items():
        wanted, room = needed.get(path, 0), network.num_addresses - _RESERVED
        if wanted > room:
            yield Observation(
                path=path,
                sentence=f"{network} has {room} addresses, and {wanted} are needed",
                remedy=f"take a /{_prefix(wanted)}",
                inputs={"addresses": str(room), "needed": str(wanted)},
            )
    pods = _ranges(draft)["platform.podCidr"]
    nodes = pods.num_addresses >> _POD_RANGE_BITS
    if most > nodes:
        yield Observation(
            path="platform.podCidr",
            sentence=f"{pods} has a /{32 - _POD_RANGE_BITS} (for {METAL_MAX_PODS} pods) for {nodes} nodes, and {most} "
            "are declared",
            remedy=f"take a /{_prefix((most << _POD_RANGE_BITS) - _RESERVED)}",
            inputs={"nodes": str(most), "ranges": str(nodes)},
        )


def _prefix(addresses: int) -> int:
    """The longest prefix whose range holds so many hosts."""
    return 32 - (addresses + _RESERVED - 1).bit_length()


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
