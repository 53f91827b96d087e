"""Pieces that the rendered charts share: deep-merged values, metadata, RBAC, workloads. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
Values = Mapping[str, Any]
Rule = tuple[Sequence[str], Sequence[str], Sequence[str]]

READ = ("get", "list", "watch")
WRITE = ("create", "update", "patch", "delete")


@dataclass(frozen=True)
class Release:
    """A release of a chart: what every template knows."""

    name: str
    namespace: str
    version: str
    values: Values

    def namespaced(self, name: str, labels: Mapping[str, str] | None = None) -> Object:
        """Metadata of an object in the release's namespace."""
        return {"name": name, "namespace": self.namespace, **({"labels": dict(labels)} if labels else {})}

    def account(self, name: str, labels: Mapping[str, str] | None = None) -> Object:
        """A ServiceAccount."""
        return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.namespaced(name, labels)}

    def cluster_role(self, name: str, rules: Sequence[Rule], account: str) -> list[Object]:
        """A ClusterRole (groups, resources, verbs) and its binding to a service account of the release."""
        api = "rbac.authorization.k8s.io"
        listed = [{"apiGroups": list(g), "resources": list(r), "verbs": list(v)} for g, r, v in rules]
        role = {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": listed}
        binding = {
            "apiVersion": f"{api}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": self.namespace}],
        }
        return [role, binding]

    def configmap(self, name: str, data: Mapping[str, str], labels: Mapping[str, str] | None = None) -> Object:
        """A ConfigMap."""
        meta = self.namespaced(name, labels)
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": dict(data)}

    def deployment(self, name: str, labels: Mapping[str, str], pod: Object, replicas: int = 1) -> Object:
        """A Deployment whose pods carry (and are selected by) the labels."""
        return self._workload("Deployment", name, labels, pod, {"replicas": replicas})

    def daemonset(self, name: str, labels: Mapping[str, str], pod: Object, strategy: Object | None = None) -> Object:
        """A DaemonSet whose pods carry (and are selected by) the labels."""
        return self._workload("DaemonSet", name, labels, pod, {"updateStrategy": strategy} if strategy else {})

    def _workload(self, kind: str, name: str, labels: Mapping[str, str], pod: Object, more: Object) -> Object:
        template = {"metadata": {"labels": dict(labels)}, "spec": {key: v for key, v in pod.items() if v}}
        spec = {"selector": {"matchLabels": dict(labels)}, "template": template, **more}
        return {"apiVersion": "apps/v1", "kind": kind, "metadata": self.namespaced(name, labels), "spec": spec}

    def service(self, name: str, selector: Mapping[str, str], port_name: str, port: int) -> Object:
        """A Service with one TCP port, the same inside and out."""
        ports = [{"name": port_name, "port": port, "targetPort": port, "protocol": "TCP"}]
        meta = self.namespaced(name, selector)
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"selector": dict(selector), "ports": ports},
        }


def merged(defaults: Values, values: Values) -> dict[str, Any]:
    """Values over defaults as Helm lays them: maps merge, everything else replaces, null removes."""
    result = dict(defaults)
    for key, value in values.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


def at(values: Values, path: str, default: Any = None) -> Any:
    """The value at a dotted path, or the default where any part of it is missing or null."""
    found: Any = values
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return default if found is None else found
