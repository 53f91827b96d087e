"""The sub-charts of kube-prometheus-stack: Grafana, kube-state-metrics, the node exporter; and the kubelet's monitor.

Source: prometheus-community/helm-charts, charts/kube-state-metrics 8.4.0 and prometheus-node-exporter 4.56.1;
grafana-community/helm-charts, charts/grafana 12.11.1.
"""

from collections.abc import Iterator
from typing import Any

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played.switches import Effect, On, Switch, named, scheduling

GRAFANA = On("Deployment", "<<fullname grafana>>")
STATE_METRICS = On("Deployment", "<<fullname kube-state-metrics>>")
NODE_EXPORTER = On("DaemonSet", "<<fullname prometheus-node-exporter>>")
_KUBELET = On("ServiceMonitor", "<<fullname kube-prometheus-stack>>-kubelet")
_OWN_ARGUMENTS = 5
"""Arguments that the node exporter's chart gives before `extraArgs`: three paths, udev's, and the address."""
_HOST = {"proc": "/proc", "sys": "/sys", "root": "/"}
_JOB_LABELS = {"grafana": "<<release>>", "kube-state-metrics": "app.kubernetes.io/name"}


def always(objects: list[Object]) -> None:
    """What the inventory guesses or leaves out."""
    for name, label in _JOB_LABELS.items():
        for monitor in On("ServiceMonitor", f"<<fullname {name}>>").places(objects):
            monitor["spec"]["jobLabel"] = label
    exporter = "<<fullname prometheus-node-exporter>>"
    for monitor in On("ServiceMonitor", exporter).places(objects):
        monitor["spec"]["jobLabel"] = "jobLabel"
    for service in On("Service", exporter).places(objects):
        service["metadata"]["labels"]["jobLabel"] = "node-exporter"
    for pod in NODE_EXPORTER.pod.places(objects):
        for volume in pod["volumes"]:
            volume["hostPath"] = {"path": _HOST[volume["name"]]}
        pod["containers"][0]["env"] = [{"name": "HOST_IP", "value": "0.0.0.0"}]  # noqa: S104 - the chart's default
    named = {"config": "<<fullname grafana>>", "sc-dashboard-provider": "<<fullname grafana>>-config-dashboards"}
    for pod in GRAFANA.pod.places(objects):
        for volume in pod["volumes"]:
            if volume["name"] in named:
                volume["configMap"] = {"name": named[volume["name"]]}


def switches() -> Iterator[Switch]:
    """Switches of the sub-charts."""
    yield Switch("grafana.resources", _grafana("resources", main=True))
    yield Switch("grafana.sidecar.resources", _grafana("resources", main=False))
    yield from named("grafana", GRAFANA.pod, "nodeSelector tolerations affinity priorityClassName")
    yield from scheduling("kube-state-metrics", STATE_METRICS)
    yield Switch("kube-state-metrics.collectors", _collectors)
    for value, flag in (("metricLabelsAllowlist", "labels-allowlist"), ("metricDenylist", "denylist")):
        yield Switch(f"kube-state-metrics.{value}", _listed(f"--metric-{flag}"))
    node, monitor = "prometheus-node-exporter", On("ServiceMonitor", "<<fullname prometheus-node-exporter>>")
    yield from scheduling(node, NODE_EXPORTER)
    yield from named(node, NODE_EXPORTER.pod, "priorityClassName")
    yield Switch(f"{node}.extraArgs", _arguments)
    yield Switch(f"{node}.extraHostVolumeMounts", _host_paths)
    yield Switch(f"{node}.sidecars", _sidecars)
    yield Switch(f"{node}.sidecarVolumeMount", _textfiles)
    yield Switch(f"{node}.sidecarHostVolumeMounts", _beside_host_paths)
    endpoint = On(monitor.kinds, monitor.name, ("spec", "endpoints", 0))
    yield from named(f"{node}.prometheus.monitor", endpoint, "interval relabelings metricRelabelings scrapeTimeout")
    yield Switch("kubelet.serviceMonitor.interval", _interval)
    yield Switch("kubelet.serviceMonitor.probes", _without("/metrics/probes"))
    yield Switch("kubelet.serviceMonitor.cAdvisor", _without("/metrics/cadvisor"))


def _grafana(name: str, *, main: bool) -> Effect:
    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for pod in GRAFANA.pod.places(objects):
            for container in pod["containers"]:
                if (container["name"] == "grafana") is main:
                    container[name] = value
        return objects

    return effect


def _collectors(objects: list[Object], value: Any, _: Order) -> list[Object]:
    """The resources that are told of, and the rights to list them and no others."""
    for container in STATE_METRICS.container.places(objects):
        told = f"--resources={','.join(value)}"
        container["args"] = [container["args"][0], told, *container["args"][2:]]
    for role in On("ClusterRole", "<<fullname kube-state-metrics>>").places(objects):
        role["rules"] = [each for each in role["rules"] if set(each["resources"]) & set(value)]
    return objects


def _listed(flag: str) -> Effect:
    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for container in STATE_METRICS.container.places(objects if value else []):
            container["args"] = [*container["args"], f"{flag}={','.join(value)}"]
        return objects

    return effect


def _arguments(objects: list[Object], value: Any, _: Order) -> list[Object]:
    for container in NODE_EXPORTER.container.places(objects):
        container["args"] = [*container["args"][:_OWN_ARGUMENTS], *(value or [])]
    return objects


def _host_paths(objects: list[Object], value: Any, _: Order) -> list[Object]:
    """Directories of the host that the exporter sees, beside the chart's own."""
    for pod in NODE_EXPORTER.pod.places(objects):
        exporter = pod["containers"][0]
        for each in value or []:
            mount = {key: each[key] for key in ("name", "mountPath", "readOnly", "mountPropagation") if key in each}
            exporter["volumeMounts"] = [*(exporter.get("volumeMounts") or []), mount]
            path = {"path": each["hostPath"], **({"type": each["type"]} if "type" in each else {})}
            pod["volumes"] = [*(pod.get("volumes") or []), {"name": each["name"], "hostPath": path}]
    return objects


def _sidecars(objects: list[Object], value: Any, _: Order) -> list[Object]:
    """Containers beside the exporter, with its security context unless they have their own."""
    for pod in NODE_EXPORTER.pod.places(objects):
        (exporter,) = pod["containers"]
        default = {name: exporter[name] for name in ("image", "securityContext", "imagePullPolicy") if name in exporter}
        pod["containers"] = [exporter, *({**default, **each} for each in value or [])]
    return objects


def _textfiles(objects: list[Object], value: Any, _: Order) -> list[Object]:
    """Volumes in memory that all containers of the pod mount, the exporter for reading only."""
    for pod in NODE_EXPORTER.pod.places(objects):
        for index, container in enumerate(pod["containers"]):
            mounts = [{**each, "readOnly": True} if index == 0 else each for each in value or []]
            container["volumeMounts"] = [*(container.get("volumeMounts") or []), *mounts]
        pod["volumes"] += [{"name": each["name"], "emptyDir": {"medium": "Memory"}} for each in value or []]
    return objects


def _beside_host_paths(objects: list[Object], value: Any, _: Order) -> list[Object]:
    """Directories of the host that the containers beside the exporter see (prometheus-node-exporter, _helpers.tpl,
    sidecarVolumeMounts)."""
    for pod in NODE_EXPORTER.pod.places(objects):
        for each in value or []:
            mount = {key: each[key] for key in ("name", "mountPath", "readOnly", "mountPropagation") if key in each}
            for container in pod["containers"][1:]:
                container["volumeMounts"] = [*(container.get("volumeMounts") or []), mount]
            pod["volumes"] = [
                *(pod.get("volumes") or []),
                {"name": each["name"], "hostPath": {"path": each["hostPath"]}},
            ]
    return objects


def _interval(objects: list[Object], value: Any, _: Order) -> list[Object]:
    for monitor in _KUBELET.places(objects):
        for endpoint in monitor["spec"]["endpoints"]:
            endpoint["interval"] = value
    return objects


def _without(path: str) -> Effect:
    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for monitor in _KUBELET.places(objects if not value else []):
            kept = [each for each in monitor["spec"]["endpoints"] if each.get("path") != path]
            monitor["spec"]["endpoints"] = kept
        return objects

    return effect
