"""prometheus-adapter: serves vLLM's metrics in the custom metrics API, which HPAs read (X12, DC11, LF06).

It serves two metrics of pods, and no more: the chart's own rules would claim every series of the cluster. It has no
rules for external metrics either, since the chart would register `v1beta1.external.metrics.k8s.io` for them, which is
KEDA's (chart prometheus-adapter 5.3.0, templates/external-metrics-apiservice.yaml). The API server does not check the
adapter's certificate, which it makes itself at its start, as in the chart's own values.
"""

from collections.abc import Mapping
from typing import Any

LABELS = {"app.kubernetes.io/name": "prometheus-adapter"}
WAITING = "vllm_num_requests_waiting"
KV_CACHE = "vllm_kv_cache_usage_perc"
"""Names in the custom metrics API, which has no colons; the second goes from 0 to 1, whatever it is called."""

_SERIES = {
    # A server with several engines has a series for each: requests add up, and its fullest cache makes them wait.
    WAITING: ("vllm:num_requests_waiting", "sum"),
    KV_CACHE: ("vllm:kv_cache_usage_perc", "max"),
}


def rule(name: str, series: str, over: str) -> dict[str, Any]:
    """A series of pods as a custom metric (kubernetes-sigs/prometheus-adapter, docs/config.md).

    A question names pods by a Deployment's selector, and the adapter asks Prometheus for those alone: what another
    model's pods wait for does not count.
    """
    return {
        "seriesQuery": f'{series}{{namespace!="",pod!=""}}',
        "resources": {"overrides": {"namespace": {"resource": "namespace"}, "pod": {"resource": "pod"}}},
        "name": {"matches": f"^{series}$", "as": name},
        "metricsQuery": f"{over}(<<.Series>>{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)",
    }


def adapter_values(prometheus: str, scrape_seconds: int) -> Mapping[str, Any]:
    """Values of the `prometheus-adapter` chart. `prometheus` is Prometheus' address with its port.

    The adapter forgets a metric of which it finds no sample since it last looked, so it looks every two scrapes (its
    README, --metrics-relist-interval: at least the scrape interval). Two replicas, since without any no HPA moves.
    """
    url, _, port = prometheus.rpartition(":")
    return {
        "prometheus": {"url": url, "port": int(port)},
        "metricsRelistInterval": f"{2 * scrape_seconds}s",
        "rules": {
            "default": False,
            "custom": [rule(name, series, over) for name, (series, over) in _SERIES.items()],
        },
        "replicas": 2,
        "podDisruptionBudget": {"enabled": True, "maxUnavailable": 1},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": LABELS},
            }
        ],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        # Its default, 4, logs every question.
        "logLevel": 2,
    }
