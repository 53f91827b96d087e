"""Values of kube-prometheus-stack (X01 to X06, X10): one Prometheus, one Alertmanager, Grafana, the exporters of nodes
and of Kubernetes' objects.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pulumi

from components.monitoring.counters import TEXTFILES, VOLUME_VALUES, NodeCounters, host_files, sidecar

ControlPlanePart = Literal["etcd", "controller-manager", "scheduler", "proxy"]

_PARTS: Mapping[ControlPlanePart, tuple[str, tuple[str, ...]]] = {
    "etcd": ("kubeEtcd", ("etcd",)),
    "controller-manager": ("kubeControllerManager", ("kubeControllerManager",)),
    "scheduler": ("kubeScheduler", ("kubeSchedulerAlerting", "kubeSchedulerRecording")),
    "proxy": ("kubeProxy", ("kubeProxy",)),
}
"""The chart's values of a part's monitor, and the groups of rules about it, which fire where it is not scraped."""

_SELECTORS = ("serviceMonitor", "podMonitor", "rule", "probe", "scrapeConfig")

_RESOURCES = (
    "cronjobs", "daemonsets", "deployments", "horizontalpodautoscalers", "jobs", "namespaces", "nodes",
    "persistentvolumeclaims", "persistentvolumes", "poddisruptionbudgets", "pods", "replicasets", "resourcequotas",
    "statefulsets",
)  # fmt: skip
"""What kube-state-metrics tells of: what the rules and dashboards ask for. Secrets, ConfigMaps, leases and webhooks are
hundreds of objects that nobody asks for."""

_LABELS = (
    "nodes=[gpucluster/pool,gpucluster/role,nvidia.com/gpu.product]",
    "pods=[app.kubernetes.io/instance,app.kubernetes.io/name,gpucluster/run,training.kubeflow.org/job-name]",
)
"""Labels by which a node finds its pool, and a pod its run or service."""

_OF_PODS = "^(lo|cali.+|cilium.+|eni.+|lxc.+|veth.+)$"
"""Interfaces that come and go with pods: twenty series each that nobody looks at, and never the same."""

_UNITS = (
    "chronyd", "containerd", "gpucluster-.+", "kubelet", "lnet", "nvidia-fabricmanager", "nvidia-imex",
    "nvidia-persistenced", "opensm", "systemd-timesyncd",
)  # fmt: skip
"""What a GPU node cannot do without; a node shows those that it has."""

_BUS = {"name": "bus", "hostPath": "/run/dbus", "mountPath": "/var/run/dbus", "readOnly": True}
"""Where node_exporter's systemd collector asks (godbus: unix:path=/var/run/dbus/system_bus_socket)."""

_HOST_ARGUMENTS = (
    # The chart's own two: what is given replaces them.
    # Pods' own mounts of shared file systems stay: a driver without volume statistics (FSx) is seen there alone.
    "--collector.filesystem.mount-points-exclude=^/(dev|proc|sys|run/containerd/.+|var/lib/docker/.+"
    "|var/lib/kubelet/plugins/.+|var/lib/kubelet/pods/[^/]+/(containers|volume-subpaths"
    "|volumes/kubernetes\\.io~(configmap|downward-api|empty-dir|projected|secret))/.+)($|/)",
    "--collector.filesystem.fs-types-exclude=^(autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|fusectl"
    "|hugetlbfs|iso9660|mqueue|nsfs|overlay|proc|procfs|pstore|rpc_pipefs|securityfs|selinuxfs|squashfs|sysfs|tmpfs"
    "|tracefs|erofs)$",
    "--collector.systemd",
    f"--collector.systemd.unit-include=^({'|'.join(_UNITS)})\\.service$",
    f"--collector.netdev.device-exclude={_OF_PODS}",
    f"--collector.netclass.ignored-devices={_OF_PODS}",
    # By processor, of which a GPU node has 192: two thirds of what such a node exports, and nothing asks for it.
    "--no-collector.softnet",
    "--no-collector.schedstat",
    "--no-collector.cpufreq",
    "--no-collector.cpu.guest",
)

_WITH_ITS_SET = {"whenDeleted": "Delete"}
"""Claims that a StatefulSet made stay by default, and their disks with them, when all else is destroyed."""

NODE_LABEL = {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}
"""Gives what is scraped from a pod the name of its node, by which series of one node are joined."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """CPU and memory of a container; memory is its limit too, so that no other pod of the node pays for it."""

    cpu_millicores: int
    memory_mib: int

    @property
    def amounts(self) -> dict[str, str]:
        return {"cpu": f"{self.cpu_millicores}m", "memory": f"{self.memory_mib}Mi"}

    @property
    def resources(self) -> dict[str, dict[str, str]]:
        return {"requests": self.amounts, "limits": {"memory": f"{self.memory_mib}Mi"}}


@dataclass(frozen=True, kw_only=True)
class Requests:
    """Requests by container: `reloader` is beside Prometheus and Alertmanager, `dashboard_loader` beside Grafana."""

    prometheus: Request
    alertmanager: Request
    grafana: Request
    dashboard_loader: Request
    state_metrics: Request
    operator: Request
    reloader: Request
    node_exporter: Request
    fabric_counters: Request


@dataclass(frozen=True, kw_only=True)
class Prometheus:
    """How much is kept: so many days, and of a disk of `disk_gib` at most `retention_size_gib`; looked at so often."""

    retention_days: int
    disk_gib: int
    retention_size_gib: int
    alerts_disk_gib: int
    scrape_s: int


def stack_values(
    prometheus: Prometheus,
    requests: Requests,
    *,
    cluster: str,
    storage_class: pulumi.Input[str],
    config_secret: pulumi.Input[str],
    mounted: Sequence[pulumi.Input[str]],
    default_rules: Mapping[str, Any],
    control_plane: Collection[ControlPlanePart],
    counters: NodeCounters | None,
) -> dict[str, Any]:
    """Values of the chart. Its definitions are those of another release, so that whoever brings monitors finds them.

    The admission webhooks are off: at a first install their certificate would come from a hook's Job with an image of
    a third party, the webhook ignores its own failure, and what it looks at has been looked at before (promtool, in
    the tests of the rules). Without them the operator has no certificate, so it serves its metrics in clear.
    """
    return {
        "crds": {"enabled": False},
        **_control_plane(control_plane, default_rules),
        "prometheusOperator": {
            "admissionWebhooks": {"enabled": False},
            "tls": {"enabled": False},
            "resources": requests.operator.resources,
            "prometheusConfigReloader": {"resources": requests.reloader.resources},
        },
        "prometheus": {
            "prometheusSpec": {
                **{f"{each}SelectorNilUsesHelmValues": False for each in _SELECTORS},
                "externalLabels": {"cluster": cluster},
                "scrapeInterval": f"{prometheus.scrape_s}s",
                "retention": f"{prometheus.retention_days}d",
                # In powers of two, whatever the unit is called (Prometheus: storage.tsdb.retention.size).
                "retentionSize": f"{prometheus.retention_size_gib}GB",
                "storageSpec": _claim(prometheus.disk_gib, storage_class),
                "persistentVolumeClaimRetentionPolicy": _WITH_ITS_SET,
                "resources": requests.prometheus.resources,
            }
        },
        "alertmanager": {
            "alertmanagerSpec": {
                "useExistingSecret": True,
                "configSecret": config_secret,
                "secrets": list(mounted),
                "storage": _claim(prometheus.alerts_disk_gib, storage_class),
                "persistentVolumeClaimRetentionPolicy": _WITH_ITS_SET,
                "resources": requests.alertmanager.resources,
            }
        },
        # Its password is made at the first install and kept; dashboards are ConfigMaps, so it has no disk to lose.
        "grafana": {
            "resources": requests.grafana.resources,
            "sidecar": {"resources": requests.dashboard_loader.resources},
        },
        "kubelet": {"serviceMonitor": {"interval": f"{prometheus.scrape_s}s", "probes": False}},
        "kube-state-metrics": {
            "collectors": list(_RESOURCES),
            "metricLabelsAllowlist": list(_LABELS),
            "resources": requests.state_metrics.resources,
        },
        "prometheus-node-exporter": _node_exporter(prometheus, requests, counters),
    }


def _control_plane(scraped: Collection[ControlPlanePart], default_rules: Mapping[str, Any]) -> dict[str, Any]:
    """What of the control plane is looked at: the provider of a managed one shows nothing of it but the API server.

    What is not looked at has no rules, and of the others stay those of `default_rules`.
    """
    rules = {"windows": False}
    switched = {}
    for part, (monitor, groups) in _PARTS.items():
        if part not in scraped:
            switched[monitor] = {"enabled": False}
            rules |= dict.fromkeys(groups, False)
    return {"defaultRules": {**default_rules, "rules": rules}, **switched}


def _claim(gib: int, storage_class: pulumi.Input[str]) -> dict[str, Any]:
    spec = {
        "storageClassName": storage_class,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{gib}Gi"}},
    }
    return {"volumeClaimTemplate": {"spec": spec}}


def _node_exporter(prometheus: Prometheus, requests: Requests, counters: NodeCounters | None) -> dict[str, Any]:
    """On every node, whatever its taints, before what makes a node full. The infiniband collector is on by default."""
    beside: dict[str, Any] = {}
    arguments = list(_HOST_ARGUMENTS)
    if counters is not None:
        beside["sidecars"] = [sidecar(counters, prometheus.scrape_s, requests.fabric_counters.amounts)]
        beside["sidecarVolumeMount"] = VOLUME_VALUES
        if mounts := host_files(counters):
            beside["sidecarHostVolumeMounts"] = mounts
        arguments.append(f"--collector.textfile.directory={TEXTFILES}")
    return {
        "extraArgs": arguments,
        "extraHostVolumeMounts": [_BUS],
        "tolerations": [{"operator": "Exists"}],
        "priorityClassName": "system-node-critical",
        "resources": requests.node_exporter.resources,
        "prometheus": {"monitor": {"relabelings": [NODE_LABEL]}},
        **beside,
    }
