"""What changes the replicas of a Deployment: a HorizontalPodAutoscaler on metrics of its own pods, or on how much they
use of the processors that they ask for (Q08, J12, DC11).

Of several metrics the one that asks for most replicas wins. Where one cannot be had the HPA still adds replicas by the
others and takes none away, and without all of them it leaves the Deployment as it is (Kubernetes documentation,
horizontal pod autoscaling, "Scaling on multiple metrics"). The Deployment states no replicas: the HPA owns them (IN06).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi_kubernetes as k8s

from components._base import Component


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """Bounds and pace. `targets` are what each pod should have at most, by the metric's name in the custom metrics API,
    as Kubernetes writes quantities.

    A replica is added when the metrics have asked for it for `up_seconds`, and one more each so many seconds; one is
    taken away when they have asked for fewer for `down_seconds`, likewise. Loading a replica takes minutes: what is
    added for a short peak comes too late for it, and what is given up early is missed at the next one. `cpu_percent` is
    what each pod should use of its request on average, None where that says nothing of its load.
    """

    least: int
    most: int
    targets: Mapping[str, str] = field(default_factory=dict)
    up_seconds: int
    down_seconds: int
    cpu_percent: int | None = None


SUPPORTING_PERCENT, SUPPORTING_UP_SECONDS, SUPPORTING_DOWN_SECONDS = 70, 15, 600
"""Of services that start in seconds: a pod more before its processors are the limit, and none taken away in a lull, as
its streams would have to end (assumed)."""


def supporting(least: int, most: int) -> Scaling | None:
    """Of a service beside the models that keeps nothing; None where its replicas are fixed."""
    if most == least:
        return None
    return Scaling(
        least=least,
        most=most,
        up_seconds=SUPPORTING_UP_SECONDS,
        down_seconds=SUPPORTING_DOWN_SECONDS,
        cpu_percent=SUPPORTING_PERCENT,
    )


def values(scaling: Scaling) -> dict[str, Any]:
    """The same in the values of a chart that hands them on to the API as they are; by `cpu_percent` alone."""
    target = {"type": "Utilization", "averageUtilization": scaling.cpu_percent}
    return {
        "enabled": True,
        "minReplicas": scaling.least,
        "maxReplicas": scaling.most,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        "behavior": one_each_way(scaling.up_seconds, scaling.down_seconds),
    }


def one_each_way(up_seconds: int, down_seconds: int) -> dict[str, Any]:
    """An HPA's behaviour, for those that hand it on to the API as it is."""
    return {
        name: {
            "stabilizationWindowSeconds": seconds,
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": seconds}],
        }
        for name, seconds in (("scaleUp", up_seconds), ("scaleDown", down_seconds))
    }


def autoscaled(
    owner: Component, scaling: Scaling, *, metadata: k8s.meta.v1.ObjectMetaArgs, target: k8s.apps.v1.Deployment
) -> k8s.autoscaling.v2.HorizontalPodAutoscaler:
    """The HPA of a Deployment, called as `metadata` says."""
    scale = k8s.autoscaling.v2
    return scale.HorizontalPodAutoscaler(
        owner.named("autoscaler"),
        scale.HorizontalPodAutoscalerInitArgs(
            metadata=metadata,
            spec=scale.HorizontalPodAutoscalerSpecArgs(
                scale_target_ref=scale.CrossVersionObjectReferenceArgs(
                    api_version="apps/v1", kind="Deployment", name=target.metadata.name.apply(str)
                ),
                min_replicas=scaling.least,
                max_replicas=scaling.most,
                metrics=[
                    *(_of_pods(name, quantity) for name, quantity in scaling.targets.items()),
                    *([_of_processors(scaling.cpu_percent)] if scaling.cpu_percent else []),
                ],
                behavior=scale.HorizontalPodAutoscalerBehaviorArgs(
                    scale_up=_one_each(scaling.up_seconds), scale_down=_one_each(scaling.down_seconds)
                ),
            ),
        ),
        owner.child(),
    )


def _of_pods(name: str, quantity: str) -> k8s.autoscaling.v2.MetricSpecArgs:
    scale = k8s.autoscaling.v2
    return scale.MetricSpecArgs(
        type="Pods",
        pods=scale.PodsMetricSourceArgs(
            metric=scale.MetricIdentifierArgs(name=name),
            target=scale.MetricTargetArgs(type="AverageValue", average_value=quantity),
        ),
    )


def _of_processors(percent: int) -> k8s.autoscaling.v2.MetricSpecArgs:
    scale = k8s.autoscaling.v2
    return scale.MetricSpecArgs(
        type="Resource",
        resource=scale.ResourceMetricSourceArgs(
            name="cpu", target=scale.MetricTargetArgs(type="Utilization", average_utilization=percent)
        ),
    )


def _one_each(seconds: int) -> k8s.autoscaling.v2.HPAScalingRulesArgs:
    one = k8s.autoscaling.v2.HPAScalingPolicyArgs(type="Pods", value=1, period_seconds=seconds)
    return k8s.autoscaling.v2.HPAScalingRulesArgs(stabilization_window_seconds=seconds, policies=[one])
