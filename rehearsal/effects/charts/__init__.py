"""Charts in rehearsal: the objects a chart would make from its values, its CRDs, and a check of the values' names.

Where a chart itself cannot be fetched, this package plays it: what matters for effects is rendered (workloads with
their tolerations and selectors, identities, configuration, custom resources); hook jobs and webhooks are not, as
nothing stands behind them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rehearsal import toolchain
from rehearsal.effects.charts import efa_device_plugin, gpu_operator, prometheus_operator_crds, upstream, volcano
from rehearsal.effects.charts.manifests import Object, Release

__all__ = ["CHARTS", "UnknownChartError", "check_values", "crds", "render", "unchecked"]

CHARTS: Mapping[str, Any] = {
    "aws-efa-k8s-device-plugin": efa_device_plugin,
    "gpu-operator": gpu_operator,
    "prometheus-operator-crds": prometheus_operator_crds,
    "volcano": volcano,
}


class UnknownChartError(LookupError):
    """No chart of that name can be rehearsed."""


def render(chart: str, version: str, namespace: str, release: str, values: Mapping[str, Any]) -> list[Object]:
    """The objects of a release, without its CRDs, in the order Helm installs them. Raises UnknownChartError;
    ValueError and TypeError for values with which the templates would fail.
    """
    made: list[Object] = _chart(chart).objects(Release(release, namespace, version, values))
    return sorted(made, key=lambda obj: _ORDER.index(obj["kind"]) if obj["kind"] in _ORDER else len(_ORDER))


def crds(chart: str, version: str) -> list[Path]:  # noqa: ARG001 - one version each is rehearsed
    """Files of the CRDs the chart brings. Raises UnknownChartError."""
    found = _chart(chart)
    if found.TOOLCHAIN_CRDS:
        return toolchain.crds(found.TOOLCHAIN_CRDS)
    return upstream.crds(found.UPSTREAM_CRDS)


def check_values(chart: str, version: str, values: Mapping[str, Any]) -> list[str]:
    """One sentence per value the chart does not know; empty if all are known or nothing is there to compare with."""
    _chart(chart)
    return upstream.unknown_values(chart, version, values)


def unchecked(chart: str, version: str) -> list[str]:
    """What could not be checked of a chart here, one sentence each: to be reported as off, never as passed."""
    found = _chart(chart)
    missing = [] if found.TOOLCHAIN_CRDS else upstream.missing_crds(found.UPSTREAM_CRDS)
    result = [f"{chart}: schema check off for {name} (no CRD in GPUCLUSTER_UPSTREAM)" for name in missing]
    return result + upstream.values_unchecked(chart, version)


def _chart(name: str) -> Any:
    found = CHARTS.get(name.rpartition("/")[2])
    if found is None:
        raise UnknownChartError(f"rehearsal cannot play the chart {name}; it knows {', '.join(sorted(CHARTS))}")
    return found


_ORDER = (
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Service",
    "DaemonSet",
    "Deployment",
)
