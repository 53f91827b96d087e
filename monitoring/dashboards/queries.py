"""PromQL expressions that several panels share."""

from collections.abc import Mapping

from monitoring.dashboards.model import Query

LABEL_OF_RUN = "label_gpucluster_run"
"""What kube-state-metrics calls the pods' label `gpucluster/run` (its option metric-labels-allowlist)."""


def line(name: str, value: float) -> Query:
    """One value to compare with."""
    return Query(f"vector({value:.6g})", name, reference=True)


def told(label: str, values: Mapping[str, float]) -> str:
    """A vector of numbers that Prometheus does not measure: prices by pool, for example. Empty values have none.

    Raises ValueError without any value: there is no empty vector in PromQL that is short.
    """
    if not values:
        raise ValueError(f"no value by {label} is told")
    rows = (f'label_replace(vector({value:.6g}), "{label}", "{name}", "", "")' for name, value in values.items())
    return f"({' or '.join(rows)})"


def planned(label: str, values: Mapping[str, float | None], measured: str, name: str = "planned") -> tuple[Query, ...]:
    """What was planned for those of which `measured` has a series; nothing where no plan says it."""
    known = {key: value for key, value in values.items() if value is not None}
    if not known:
        return ()
    legend = f"{{{{{label}}}}} {name}"
    return (Query(f"{told(label, known)} and on ({label}) {measured}", legend, reference=True),)


def of_pods(expr: str, label: str, key: str) -> str:
    """Adds to series of pods (namespace, pod) one of the pods' labels, as `label`; drops pods without it."""
    named = f'label_replace(kube_pod_labels{{{key}!=""}}, "{label}", "$1", "{key}", "(.+)")'
    return f"{expr} * on (namespace, pod) group_left ({label}) max by (namespace, pod, {label}) ({named})"


def gpus_of_pods() -> str:
    """GPUs that pods on nodes hold, by namespace, pod and node: a pod that has ended holds none."""
    asked = 'kube_pod_container_resource_requests{resource="nvidia_com_gpu", node!=""}'
    alive = 'kube_pod_status_phase{phase=~"Pending|Running"} == 1'
    return f"sum by (namespace, pod, node) ({asked} and on (namespace, pod) ({alive}))"


def by_pool(expr: str) -> str:
    """Adds the pool of its node to a series with the label `node`."""
    return f"({expr}) * on (node) group_left (pool) gpucluster:node:pool"


def per_second(series: str) -> str:
    """How fast counters rise, over a stretch that fits the picture's."""
    return f"rate({series}[$__rate_interval])"
