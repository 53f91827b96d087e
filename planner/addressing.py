"""The VPC's subnets. Their borders depend on the VPC's network and the order of zones only, never on node counts:
a subnet that moved would be replaced, with everything in it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Network

from planner.interfaces import PREFIX_ADDRESSES
from planner.pool_types import AwsPoolPlan
from planner.types import Subnet, SubnetRole
from planner.vpc import VpcPlan
from settings.existing_vpc import ExistingSubnet

AWS_RESERVED_ADDRESSES = 5
CONTROL_PLANE_ADDRESSES = 6
"""Free addresses EKS needs in each subnet it is given (EKS user guide, network requirements)."""

_NAT_ADDRESSES = 1
FSX_ADDRESSES = 16
"""One per file server and one for the metadata server; 16 leaves room to grow the file system."""


def subnets(
    vpc_cidr: str,
    zones: Sequence[str],
    gpu_zone: str,
    pools: Iterable[AwsPoolPlan],
    nat_zones: Sequence[str],
    vpc: VpcPlan,
    *,
    home: bool = False,
) -> tuple[Subnet, ...]:
    """Carve a /16 to /20 for up to six zones.

    The upper half is the GPU zone's. Of the lower half's eighths, the first holds the public subnets, the second the
    control plane's, both cut into sixteenths, and the others are the zones' system subnets. `home`: the file system of
    people's own files has an address in each of those.
    """
    lower, upper = IPv4Network(vpc_cidr).subnets(1)
    edge, control, *system = lower.subnets(3)
    placed = list(pools)
    each, kept = _of_prefixes(vpc)
    gpu_addresses = _addresses(placed, gpu=True, zones=1) + FSX_ADDRESSES * each
    system_addresses = _addresses(placed, gpu=False, zones=len(zones))
    result = [_subnet(f"gpu-{gpu_zone}", "gpu", gpu_zone, upper, gpu_addresses, kept)]
    result += _pod_subnets(vpc.pod_cidr, zones, gpu_zone, placed, prefixes=vpc.prefixes) if vpc.pod_cidr else ()
    for zone, public, private, nodes in zip(zones, edge.subnets(4), control.subnets(4), system, strict=False):
        nat = _NAT_ADDRESSES if zone in nat_zones else 0
        inside = (len(vpc.endpoints) if zone in vpc.endpoint_zones else 0) + home
        result += (
            _subnet(f"public-{zone}", "public", zone, public, nat),
            _subnet(f"control-plane-{zone}", "control-plane", zone, private, CONTROL_PLANE_ADDRESSES),
            _subnet(f"system-{zone}", "system", zone, nodes, system_addresses + inside * each, kept),
        )
    return tuple(result)


def _of_prefixes(vpc: VpcPlan) -> tuple[int, int]:
    """What a single address takes of a subnet of nodes with pods, and what AWS keeps of that. Where pods' addresses
    come as /28, a single one spoils a /28 at worst, and so do those that AWS keeps, at both ends.
    """
    if vpc.prefixes and not vpc.pod_cidr:
        return PREFIX_ADDRESSES, 2 * PREFIX_ADDRESSES
    return 1, AWS_RESERVED_ADDRESSES


def _pod_subnets(
    pod_cidr: str, zones: Sequence[str], gpu_zone: str, pools: Sequence[AwsPoolPlan], *, prefixes: bool
) -> Iterator[Subnet]:
    """Of the pods' range, the upper half is the GPU zone's, whose nodes are of all kinds, and each other zone has an
    eighth of the lower one.
    """
    lower, upper = IPv4Network(pod_cidr).subnets(1)
    system = _of_pods(pools, gpu=False, zones=len(zones))
    kept = 2 * PREFIX_ADDRESSES if prefixes else AWS_RESERVED_ADDRESSES
    yield _subnet(f"pods-{gpu_zone}", "pods", gpu_zone, upper, system + _of_pods(pools, gpu=True, zones=1), kept)
    others = (zone for zone in zones if zone != gpu_zone)
    for zone, network in zip(others, lower.subnets(3), strict=False):
        yield _subnet(f"pods-{zone}", "pods", zone, network, system, kept)


def existing_subnets(
    given: Iterable[ExistingSubnet], zones: int, pools: Iterable[AwsPoolPlan], vpc: VpcPlan, *, home: bool = False
) -> tuple[Subnet, ...]:
    """Subnets that somebody else made, one for each role that they play, with what the plan puts there."""
    placed = list(pools)
    each_takes, kept = _of_prefixes(vpc)
    needed = {
        "gpu": _addresses(placed, gpu=True, zones=1) + FSX_ADDRESSES * each_takes,
        "control-plane": CONTROL_PLANE_ADDRESSES,
        "system": _addresses(placed, gpu=False, zones=zones) + home * each_takes,
        "public": 0,
    }

    def planned(each: ExistingSubnet) -> Subnet:
        inside = len(vpc.endpoints) if each.role == "system" and each.zone in vpc.endpoint_zones else 0
        whole = kept if each.role in ("gpu", "system") else AWS_RESERVED_ADDRESSES
        network = IPv4Network(each.cidr)
        made = _subnet(f"{each.role}-{each.zone}", each.role, each.zone, network, needed[each.role], whole)
        return replace(made, needed=made.needed + inside * each_takes, existing=each.id)

    return tuple(planned(each) for each in given)


def _subnet(
    name: str, role: SubnetRole, zone: str, network: IPv4Network, needed: int, kept: int = AWS_RESERVED_ADDRESSES
) -> Subnet:
    usable = network.num_addresses - kept
    return Subnet(name=name, role=role, zone_id=zone, cidr=str(network), usable=usable, needed=needed)


def _addresses(pools: Iterable[AwsPoolPlan], gpu: bool, zones: int) -> int:
    """Worst case of the pools' nodes in one of their zones.

    A system pool may lose all zones but one, so each zone counts all its nodes, and its part of what an update runs
    beside them: two in each zone (EKS user guide, "Understand each phase of node updates").
    """
    return sum(nodes * pool.addresses_per_node for pool, nodes in _at_worst(pools, gpu, zones))


def _of_pods(pools: Iterable[AwsPoolPlan], gpu: bool, zones: int) -> int:
    """The same for what pods have in subnets of their own."""
    return sum(nodes * pool.pod_addresses_per_node for pool, nodes in _at_worst(pools, gpu, zones))


def _at_worst(pools: Iterable[AwsPoolPlan], gpu: bool, zones: int) -> Iterator[tuple[AwsPoolPlan, int]]:
    placed = (pool for pool in pools if (pool.role != "system") is gpu)
    return ((pool, pool.count + -(-pool.surge // zones) * (2 if pool.falls_back else 1)) for pool in placed)
