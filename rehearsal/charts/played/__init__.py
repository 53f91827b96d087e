"""Charts that are not available here are simulated: rendered from a data file of facts, with switches for values.

A further chart is a data file (`python -m rehearsal.charts.played.generate NAME`) and, for the values that it
should follow, a module of switches next to this one.
"""

from collections.abc import Mapping

from rehearsal.charts.played import (
    ceph_csi_drivers,
    cilium,
    efa_device_plugin,
    external_secrets,
    files,
    fluent_bit,
    gpu_operator,
    kube_prometheus_stack,
    local_static_provisioner,
    metrics_server,
    network_operator,
    nfd,
    prometheus_adapter,
    rook_ceph,
    volcano,
)
from rehearsal.charts.played.chart import PlayedChart
from rehearsal.charts.played.switches import Rules

__all__ = ["PlayedChart", "find"]

_RULES: Mapping[str, Rules] = {
    "aws-efa-k8s-device-plugin": efa_device_plugin.RULES,
    "ceph-csi-drivers": ceph_csi_drivers.RULES,
    "cilium": cilium.RULES,
    "external-secrets": external_secrets.RULES,
    "fluent-bit": fluent_bit.RULES,
    "gpu-operator": gpu_operator.RULES,
    "kube-prometheus-stack": kube_prometheus_stack.RULES,
    "local-static-provisioner": local_static_provisioner.RULES,
    "metrics-server": metrics_server.RULES,
    "network-operator": network_operator.RULES,
    "node-feature-discovery": nfd.RULES,
    "prometheus-adapter": prometheus_adapter.RULES,
    "rook-ceph": rook_ceph.RULES,
    "volcano": volcano.RULES,
}


def find(name: str, version: str) -> PlayedChart | None:
    """The chart of that name, if there is data to play it from; of another version if need be, which it says."""
    if name not in files.names():
        return None
    return PlayedChart(name, version, files.load(name), _RULES.get(name, Rules()))
