"""How many replicas of services find room on a pool, and what no order of coming and going can take from them."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from planner.placement import Replicas, has_room, placed, shared_nodes
from planner.pool_types import PoolPlan
from planner.workload_types import ServicePlan


def limited(
    services: Mapping[str, ServicePlan], pools: Mapping[str, PoolPlan], beside: Mapping[str, Sequence[Replicas]]
) -> dict[str, ServicePlan]:
    """The services, none with more replicas than its pool has room for, and whether an update has room for one more.

    `beside` are replicas of other servers, which always run, by the pool's name.
    """
    fitting = {
        name: replace(each, max_replicas=_room(each, services, pools[each.pool], beside.get(each.pool, ())))
        for name, each in services.items()
    }
    taken: Counter[str] = Counter(
        {pool: sum(each.gpus * each.count for each in there) for pool, there in beside.items()}
    )
    for each in fitting.values():
        taken[each.pool] += each.max_replicas * each.pod.gpus
    return {
        name: replace(each, spare_replica=_has_spare(each, pools[each.pool], taken[each.pool]))
        for name, each in fitting.items()
    }


def always_nodes(
    services: Mapping[str, ServicePlan], pools: Mapping[str, PoolPlan], beside: Mapping[str, Sequence[Replicas]]
) -> dict[str, int]:
    """Fewest nodes of each pool on which its services' fewest replicas find room, `beside` what always runs there.

    A replica that is larger than a node counts as none: there is a finding about it.
    """
    found: dict[str, int] = {}
    for name, pool in pools.items():
        fewest = [each.fewest for each in services.values() if each.pool == name]
        fitting = [each for each in (*fewest, *beside.get(name, ())) if each.gpus <= pool.devices_per_node]
        found[name] = shared_nodes(0, pool.devices_per_node, fitting)
    return found


def _room(service: ServicePlan, services: Mapping[str, ServicePlan], pool: PoolPlan, beside: Sequence[Replicas]) -> int:
    mates = [each for each in services.values() if each.pool == service.pool and each.name != service.name]
    others = [*(each.fewest for each in mates), *beside]
    if any(each.gpus > pool.devices_per_node for each in (service.most, *others)):
        return service.max_replicas
    found = room_for(pool.count, pool.devices_per_node, service.most, others)
    # Where not even the fewest fit, or the first of a service that has none, there is a finding about those.
    return max(found, service.min_replicas, 1)


def _has_spare(service: ServicePlan, pool: PoolPlan, taken: int) -> bool:
    """Whether an update may start a replica before it stops one. Of replicas that spread a new one may find room only
    beside another new one, and the update would wait for itself.
    """
    if service.spread and service.max_replicas > 1:
        return False
    return has_room(pool.count, pool.devices_per_node, taken, service.pod.gpus)


def room_for(nodes: int, gpus_per_node: int, service: Replicas, others: Sequence[Replicas]) -> int:
    """The most replicas, up to the service's count, that find a node beside the others."""

    def too_many(count: int) -> bool:
        return placed(nodes, gpus_per_node, [replace(service, count=count), *others]) is None

    return bisect_right(range(service.count + 1), False, key=too_many) - 1


def always_fits(nodes: int, gpus_per_node: int, service: Replicas, others: Iterable[Replicas]) -> bool:
    """Whether the service's last replica finds a node wherever all other replicas lie, as they come and go.

    A node has no room when the others take more of it than it can spare. They take at least `least` of it then, the
    smallest sum of their sizes that is enough, and no replica counts for more than that on a node: so there are not
    more such nodes than their sum, counted so, is a multiple of it. Two replicas of 4 GPUs can leave no node with 8.
    """
    own = replace(service, count=service.count - 1)
    apart = own.count if own.spread else 0
    rest = [*others] if own.spread else [own, *others]
    spared = gpus_per_node - service.gpus + 1
    least = min((total for total in _sums(rest, gpus_per_node) if total >= spared), default=0)
    if least == 0:
        return nodes > apart
    blocked = sum(min(each.gpus, least) * each.count for each in rest) // least
    return nodes - apart > blocked


def _sums(services: Iterable[Replicas], most: int) -> set[int]:
    """Sums of sizes, up to `most`, that some of the replicas have together."""
    reached = {0}
    for each in services:
        times = min(each.count, most // each.gpus)
        reached = {total for base in reached for n in range(times + 1) if (total := base + n * each.gpus) <= most}
    return reached


def fits_in_any_order(gpus_per_node: int, services: Iterable[Replicas]) -> bool:
    """Whether replicas that share nodes and stay find room in whichever order they come, if there is room at all.

    They do where of any two sizes, the node's among them, the smaller divides the larger: nodes then fill without gaps
    (Coffman, Garey and Johnson, Bin packing with divisible item sizes, 1987).
    """
    sizes = sorted({each.gpus for each in services})
    return all(larger % smaller == 0 for smaller, larger in pairwise(chain(sizes, [gpus_per_node])))
