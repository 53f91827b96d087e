"""Replicas of model services: what they scale by, and whether their pool has room for them."""

from collections.abc import Iterable

from planner.draft import Draft, rule, warning
from planner.findings import Observation
from planner.placement import Replicas, placed
from planner.pool_types import PoolPlan
from planner.rules.known import known_pools, services
from planner.serving.replicas import always_fits, fits_in_any_order
from planner.workload_types import ServicePlan
from settings.serving import Service

_SCHEDULER = "kube-scheduler, plugins interpodaffinity and podtopologyspread; the pods' affinity and constraints"
_UNFED = "autoscaler-unfed"
_METRICS = "vllm_num_requests_waiting and vllm_kv_cache_usage_perc"


def _shared_pools(draft: Draft) -> Iterable[tuple[str, PoolPlan, list[ServicePlan]]]:
    """Pools with their services (settings path first), where each replica fits on a node by itself."""
    for path, _, pool in known_pools(draft):
        sharing = [service for service in draft.services.values() if service.pool == pool.name]
        if sharing and all(service.pod.gpus <= pool.devices_per_node for service in sharing):
            yield path, pool, sharing


@rule(
    "Q08 X12 LF06",
    each=services,
    formula="minReplicas = maxReplicas, or a section monitoring",
    source="Kubernetes documentation, horizontal pod autoscaling; kubernetes-sigs/prometheus-adapter, README",
)
def autoscaler_unfed(draft: Draft, service: Service) -> Iterable[Observation]:
    """Replicas that are to change have something that counts the requests waiting, or they never change."""
    if service.scale_to_zero is None and service.min_replicas < service.max_replicas and draft.monitoring is None:
        yield Observation(
            path="maxReplicas",
            sentence=f"nothing in the stack serves the metrics by which {service.name} would scale between "
            f"{service.min_replicas} and {service.max_replicas} replicas: its autoscaler would say "
            f"FailedGetPodsMetric and stay at {service.min_replicas}",
            remedy="add a section gpucluster:monitoring, or set minReplicas and maxReplicas to the same number; "
            f"where an adapter of your own serves {_METRICS}, waive this rule with that as the reason",
            inputs={"minReplicas": str(service.min_replicas), "maxReplicas": str(service.max_replicas)},
        )


@rule(
    "X12 LF06",
    formula="one server of custom.metrics.k8s.io",
    source="Kubernetes documentation, aggregation layer: an APIService has one Service; chart prometheus-adapter",
)
def metric_owner(draft: Draft) -> Iterable[Observation]:
    """An adapter installed beside the stack and the stack's own do not both serve metrics of pods: there is one API."""
    if not draft.adapted:
        return
    for index, waiver in enumerate(draft.settings.waivers):
        if waiver.rule == _UNFED:
            yield Observation(
                path=f"waivers[{index}]",
                sentence="it says that an adapter of your own serves custom.metrics.k8s.io, and with the section "
                "monitoring the stack registers prometheus-adapter for it: the second to be installed is refused",
                remedy="remove the waiver and your adapter, or the section gpucluster:monitoring",
                subject=waiver.subject,
            )


def _fit(pool: PoolPlan, replicas: Iterable[Replicas]) -> bool:
    return placed(pool.count, pool.devices_per_node, replicas) is not None


@rule(
    "Q09 IN10",
    each=services,
    formula="maxReplicas <= nodes of the pool",
    source="Kubernetes documentation, pod topology spread constraints (DoNotSchedule)",
)
def spread_needs_nodes(draft: Draft, service: Service) -> Iterable[Observation]:
    """A service that spreads has a node for each replica."""
    pool = draft.pools.get(service.pool)
    if service.placement == "spread" and pool is not None and service.max_replicas > pool.count:
        fewer = f"lower maxReplicas to {pool.count}, " if service.min_replicas <= pool.count else ""
        yield Observation(
            path="placement",
            sentence=f"spread gives each of up to {service.max_replicas} replicas of {service.name} a node of its "
            f"own, and pool {pool.name} has {pool.count}: the others would stay Pending",
            remedy=f"set it to pack, {fewer}or raise the pool's count",
            inputs={"maxReplicas": str(service.max_replicas), "nodes": f"{pool.count} nodes"},
        )


@rule(
    "A08 IN08 IN09 IN10",
    each=_shared_pools,
    formula="minReplicas x tensorParallel of all services <= GPUs, each replica on one node, largest first; "
    "of a service that spreads each on another",
    source=_SCHEDULER,
)
def replicas_fit_pool(_: Draft, pool: PoolPlan, sharing: list[ServicePlan]) -> Iterable[Observation]:
    """The replicas that always run fit on the pool, none across two nodes."""
    if not _fit(pool, (service.fewest for service in sharing)):
        gpus = sum(item.gpus for item in sharing)
        yield Observation(
            path="count",
            sentence=f"its services always run replicas on {gpus} GPUs ({_words(sharing)}), "
            f"and {pool.count} x {pool.hardware} with {pool.devices_per_node} each cannot hold them",
            remedy="raise the count, or lower minReplicas or tensorParallel"
            + (", or let them pack" if any(item.spread for item in sharing) else ""),
            inputs={"wanted": f"{gpus} GPUs", "nodes": f"{pool.count} nodes x {pool.devices_per_node} GPUs"},
        )


def _words(sharing: Iterable[ServicePlan]) -> str:
    """Example: 2 of 4 for chat, each on another node."""
    return ", ".join(
        f"{item.min_replicas} of {item.pod.gpus} for {item.name}"
        + (", each on another node" if item.spread and item.min_replicas > 1 else "")
        for item in sharing
    )


@warning(
    "A08 Q08",
    each=services,
    formula="maxReplicas <= replicas that find room beside the fewest of the pool's other services",
    source=_SCHEDULER,
)
def autoscaler_ceiling(draft: Draft, service: Service) -> Iterable[Observation]:
    """The autoscaler's upper end is one that the pool has room for; a higher one is lowered to that."""
    plan = draft.services.get(service.name)
    if plan is not None and plan.max_replicas < service.max_replicas:
        pool = draft.pools[plan.pool]
        yield Observation(
            path="maxReplicas",
            sentence=f"pool {pool.name} has room for {plan.max_replicas} replicas of {plan.pod.gpus} GPUs of "
            f"{service.name} beside the fewest of its other services, and not for {service.max_replicas}: "
            f"the autoscaler stops at {plan.max_replicas}",
            remedy=f"set it to {plan.max_replicas}, or raise the pool's count",
            inputs={
                "maxReplicas": str(service.max_replicas),
                "nodes": f"{pool.count} nodes x {pool.devices_per_node} GPUs",
            },
        )


@warning(
    "A08",
    each=_shared_pools,
    formula="maxReplicas x tensorParallel of all services <= GPUs, each replica on one node, largest first",
    source=_SCHEDULER,
)
def replicas_may_wait(_: Draft, pool: PoolPlan, sharing: list[ServicePlan]) -> Iterable[Observation]:
    """All services find room at once with the most replicas of each, or further ones stay Pending."""
    now = _fit(pool, (service.fewest for service in sharing))
    if now and not _fit(pool, (service.most for service in sharing)):
        gpus = sum(service.max_replicas * service.pod.gpus for service in sharing)
        yield Observation(
            path="count",
            sentence=f"at maxReplicas its services want {gpus} GPUs, and the pool has "
            f"{pool.devices_per_node * pool.count}",
            remedy="replicas beyond that stay Pending; raise the count or lower maxReplicas",
            inputs={"wanted": f"{gpus} GPUs", "nodes": f"{pool.count} nodes x {pool.devices_per_node} GPUs"},
        )


@warning(
    "Q09 IN10",
    each=services,
    formula="nodes - nodes that other replicas can keep from having tensorParallel GPUs free > 0, wherever they lie",
    source=_SCHEDULER + "; replicaset controller: of replicas that are taken away, those on shared nodes go first",
)
def room_in_pieces(draft: Draft, service: Service) -> Iterable[Observation]:
    """Replicas that come and go, or that spread, never leave the pool's free GPUs in pieces too small for a larger
    replica.
    """
    for _, pool, sharing in _shared_pools(draft):
        plan = draft.services.get(service.name)
        if plan is None or plan not in sharing or not _fit(pool, (each.most for each in sharing)):
            continue
        others = [each.most for each in sharing if each is not plan]
        kept = all(each.scaling is None and not each.spread for each in sharing)
        if kept and fits_in_any_order(pool.devices_per_node, (each.most for each in sharing)):
            continue
        if not always_fits(pool.count, pool.devices_per_node, plan.most, others):
            beside = ", ".join(each.name for each in sharing if each is not plan) or "its other replicas"
            yield Observation(
                path="pool",
                sentence=f"as replicas of {beside} come and go they can lie so that none of the {pool.count} nodes "
                f"of pool {pool.name} has {plan.pod.gpus} of its {pool.devices_per_node} GPUs free: a replica of "
                f"{service.name} then stays Pending, though so many are free in all",
                remedy="give it a pool of its own, raise the pool's count, or let the others pack with the same "
                "minReplicas and maxReplicas",
                inputs={
                    "wanted": f"{plan.pod.gpus} GPUs",
                    "nodes": f"{pool.count} nodes x {pool.devices_per_node} GPUs",
                },
            )
