"""What watches a rehearsed cluster, and which alerts reach people now: asked of its own Prometheus and Alertmanager.

Both are found by the objects of the Prometheus operator, whoever deployed them; the Services are those that it makes
for every one (prometheus-operator, pkg/prometheus/server/statefulset.go and pkg/alertmanager/statefulset.go,
governingServiceName), and they answer by the cluster's proxy.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from rehearsal.cluster.proxy import admitting
from rehearsal.engine.look import Look

GROUP = "monitoring.coreos.com/v1"
PROMETHEUS, ALERTMANAGER = ("prometheus-operated", 9090), ("alertmanager-operated", 9093)
PATIENCE_SECONDS = 5.0
QUIET = "none"
"""The severity of what is for machines: Watchdog, InfoInhibitor (kube-prometheus, alerting rules)."""


LOUD = ("critical", "warning")
"""Severities that somebody is to act on."""


@dataclass(frozen=True)
class Watching:
    """A cluster's Prometheus at `prometheus`, reached by the proxy whose address lies in the file `proxy`; `alerts` are
    sentences, None if nobody answers.
    """

    cluster: str
    prometheus: str
    proxy: Path
    alerts: Sequence[str] | None

    @property
    def state(self) -> str:
        """The alerts in one line."""
        if self.alerts is None:
            return "alerts: unknown, no Alertmanager answers"
        return f"alerts: {len(self.alerts)} firing" if self.alerts else "alerts: none firing"

    @property
    def loud(self) -> list[str]:
        """The alerts that somebody is to act on."""
        return [each for each in self.alerts or () if each.startswith(LOUD)]


def watching(cluster: str, look: Look, proxy: Path) -> Iterator[Watching]:
    """What watches one cluster; nothing where no Prometheus was asked for."""
    managers = {each["metadata"]["namespace"] for each in look.all(GROUP, "Alertmanager")}
    for namespace in sorted({each["metadata"]["namespace"] for each in look.all(GROUP, "Prometheus")}):
        told = _alerts(_address(ALERTMANAGER, namespace), proxy.read_text()) if namespace in managers else None
        yield Watching(cluster, _address(PROMETHEUS, namespace), proxy, told)


def _address(service: tuple[str, int], namespace: str) -> str:
    return f"http://{service[0]}.{namespace}:{service[1]}"


def _alerts(url: str, proxy: str) -> list[str] | None:
    """What fires, is not silenced and is not kept quiet by a cause; None without an answer."""
    fields = {"active": "true", "silenced": "false", "inhibited": "false"}
    try:
        with urllib3.ProxyManager(proxy, proxy_headers=admitting(proxy)) as pool:
            answer = pool.request("GET", f"{url}/api/v2/alerts", fields=fields, timeout=PATIENCE_SECONDS, retries=False)
            return sentences(answer.json()) if answer.status == 200 else None
    except (urllib3.exceptions.HTTPError, ValueError):
        return None


def sentences(alerts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each alert in a line, the severe ones first; those for machines are left out. Pure."""
    order = {"critical": 0, "warning": 1, "info": 2}
    told = [each for each in alerts if each["labels"].get("severity") != QUIET]
    rows = sorted((order.get(each["labels"].get("severity", ""), 3), _sentence(each)) for each in told)
    return [text for _, text in rows]


def _sentence(alert: Mapping[str, Any]) -> str:
    labels, said = alert["labels"], alert.get("annotations") or {}
    about = said.get("summary") or said.get("description") or ", ".join(f"{k}={v}" for k, v in sorted(labels.items()))
    return f"{labels.get('severity', 'alert')} {labels['alertname']}: {about}"
