"""Services without replicas while nobody asks: what counts the requests, room to come back, and who waits for it."""

from collections.abc import Iterable, Iterator
from math import ceil

from planner.draft import Draft, rule, warning
from planner.findings import Observation
from planner.pool_types import AwsPoolPlan
from planner.rules.known import services
from planner.serving.replicas import room_for
from planner.workload_types import ServicePlan
from settings.serving import Service

_MINUTE = 60


def _from_zero(draft: Draft) -> Iterator[tuple[str, Service, ServicePlan]]:
    """Services that may have no replica, where enough is known to plan them (settings path first)."""
    for path, service in services(draft):
        plan = draft.services.get(service.name)
        if plan is not None and plan.to_zero:
            yield path, service, plan


@rule(
    "Q08 X12",
    each=services,
    formula="scaleToZero: a section monitoring",
    source="KEDA v2.20.2, pkg/scalers/prometheus_scaler.go: a trigger asks Prometheus; Traefik v3.7.13, "
    "pkg/middlewares/metrics: the gateway counts requests there",
)
def zero_uncounted(draft: Draft, service: Service) -> Iterable[Observation]:
    """Something remembers how many requests came to a service while it has no replica."""
    if service.scale_to_zero is not None and draft.monitoring is None:
        yield Observation(
            path="scaleToZero",
            sentence=f"{service.name} is to come back when the gateway sees a request, and without Prometheus nobody "
            "learns of it",
            remedy="add a section gpucluster:monitoring, or remove scaleToZero",
        )


@rule(
    "Q08 A08",
    each=_from_zero,
    formula="room for one replica beside the fewest of the pool's other services and its Triton servers",
    source="kube-scheduler: a pod that finds no node stays Pending",
)
def zero_without_a_way_back(draft: Draft, service: Service, plan: ServicePlan) -> Iterable[Observation]:
    """The first replica of a service that has none finds a node, or its callers get 503 until somebody makes room."""
    pool = draft.pools[plan.pool]
    others = [
        *(each.fewest for each in draft.services.values() if each.pool == pool.name and each.name != plan.name),
        *(each.always for each in draft.triton.values() if each.pool == pool.name),
    ]
    if any(each.gpus > pool.devices_per_node for each in (plan.most, *others)):
        return
    if room_for(pool.count, pool.devices_per_node, plan.most, others) < 1:
        yield Observation(
            path="scaleToZero",
            sentence=f"pool {pool.name} has no {plan.pod.gpus} GPUs on one node left beside what always runs there: "
            f"{service.name} would never come back",
            remedy=f"raise the count of pool {pool.name}, or lower minReplicas of its other services",
            inputs={
                "wanted": f"{plan.pod.gpus} GPUs",
                "nodes": f"{pool.count} nodes x {pool.devices_per_node} GPUs",
            },
        )


@rule(
    "Q08 IN04",
    each=_from_zero,
    formula="idleMinutes x 60 >= seconds that the startup probe waits",
    source="KEDA v2.20.2, pkg/scaling/executor/scale_scaledobjects.go: cooldownPeriod runs from the last time that a "
    "trigger was active, also while the replica loads",
)
def zero_before_it_answers(_: Draft, service: Service, plan: ServicePlan) -> Iterable[Observation]:
    """A replica that comes back for a request has time to load before it is taken away again."""
    idle, scaling = service.scale_to_zero, plan.scaling
    if idle is None or scaling is None or (scaling.idle_seconds or 0) >= plan.startup_seconds:
        return
    least = ceil(plan.startup_seconds / _MINUTE)
    yield Observation(
        path="scaleToZero.idleMinutes",
        sentence=f"after {idle.idle_minutes} min without a request the replica of {service.name} goes, "
        f"and it may need {plan.startup_seconds:,} s to load: it could go before it has answered anybody",
        remedy=f"set it to {least} or more",
        inputs={"idle": f"{scaling.idle_seconds:,} s", "startup": f"{plan.startup_seconds:,} s"},
    )


@warning(
    "Q08",
    each=_from_zero,
    formula="seconds until Prometheus reads the gateway + until KEDA asks + image and weights of a replica",
    source="Traefik v3.7.13, pkg/server/service/loadbalancer/wrr: 503 without a server; planner/serving/startup.py",
)
def zero_callers_wait(draft: Draft, service: Service, plan: ServicePlan) -> Iterable[Observation]:
    """Whoever asks a service that has no replica gets 503 until it has loaded; everybody at the gateway can wake it."""
    pool, idle = draft.pools[plan.pool], service.scale_to_zero
    if idle is None:
        return
    node = isinstance(pool, AwsPoolPlan) and pool.scaled is not None
    yield Observation(
        path="scaleToZero",
        sentence=f"after {idle.idle_minutes} min without a request {service.name} has no replica: callers get 503 for "
        f"about {plan.wake_seconds:,} s, {plan.startup_seconds:,} s at most"
        + (", and for the minutes that Karpenter needs for a node" if node else "; the nodes stay, and cost as before")
        + ". A request wakes it with a wrong key too, since keys are checked beside the model",
        remedy="tell callers to try again for so long, keep serving.gateway.callers narrow, and waive "
        "zero-callers-wait; or remove scaleToZero",
        inputs={"wake": f"{plan.wake_seconds:,} s", "startup": f"{plan.startup_seconds:,} s"},
    )
