"""What the GPU operator adds for the DCGM exporter: its environment and list of counters, and its ServiceMonitor. Pure.

Source: gpu-operator v26.3.3, assets/state-dcgm-exporter and controllers/object_controls.go (TransformDCGMExporter,
ServiceMonitor).
"""

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]
LIST = "dcgm-metrics.csv"
DIRECTORY = "/etc/dcgm-exporter/"
PORT, PORT_NAME = 9400, "gpu-metrics"


def complete(pod: Object, own: Mapping[str, Any]) -> None:
    """Completes the exporter's pod: where it listens, probes, and the list of counters if the policy names one."""
    container = pod["containers"][0]
    container["ports"] = [{"name": "metrics", "containerPort": PORT}]
    probe = {"httpGet": {"port": PORT, "path": "/health"}, "initialDelaySeconds": 45}
    container["livenessProbe"] = {**probe, "periodSeconds": 5}
    container["readinessProbe"] = probe
    env = {
        "DCGM_EXPORTER_LISTEN": f":{PORT}",
        "DCGM_EXPORTER_KUBERNETES": "true",
        "DCGM_EXPORTER_COLLECTORS": f"{DIRECTORY}dcp-metrics-included.csv",
    }
    name = (own.get("config") or {}).get("name")
    if name:
        env["DCGM_EXPORTER_COLLECTORS"] = DIRECTORY + LIST
        mount = {"name": "metrics-config", "mountPath": DIRECTORY + LIST, "subPath": LIST, "readOnly": True}
        container["volumeMounts"] = [mount]
        source = {"name": name, "items": [{"key": LIST, "path": LIST}]}
        pod["volumes"] = [{"name": "metrics-config", "configMap": source}]
    given = {each["name"]: each for each in own.get("env") or []}
    node: Object = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    base: list[Object] = [*({"name": key, "value": value} for key, value in env.items()), node]
    container["env"] = [*(given.pop(each["name"], each) for each in base), *given.values()]


def service(name: str, namespace: str, owner: Mapping[str, Any]) -> Object:
    """The exporter's Service."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}, **owner},
        "spec": {"selector": {"app": name}, "ports": [{"name": PORT_NAME, "port": PORT, "targetPort": PORT}]},
    }


def monitor(name: str, namespace: str, own: Mapping[str, Any], owner: Mapping[str, Any]) -> Object | None:
    """The exporter's ServiceMonitor; None if the policy does not ask for one."""
    said = own.get("serviceMonitor") or {}
    if not said.get("enabled"):
        return None
    endpoint: Object = {"port": PORT_NAME, "path": "/metrics"}
    for key in ("interval", "honorLabels", "relabelings"):
        if said.get(key) is not None:
            endpoint[key] = said[key]
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"app": name, **(said.get("additionalLabels") or {})},
            **owner,
        },
        "spec": {
            "endpoints": [endpoint],
            "jobLabel": "app",
            "namespaceSelector": {"matchNames": [namespace]},
            "selector": {"matchLabels": {"app": name}},
        },
    }
