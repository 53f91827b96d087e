"""Node feature discovery as a part of gpu-operator's chart: master, workers, garbage collector.

Source: kubernetes-sigs/node-feature-discovery, deployment/helm, with gpu-operator's values for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from rehearsal.effects.charts.manifests import READ, WRITE, Object, Release, Rule, at, merged

VERSION = "v0.18.3"
ACCOUNT = "node-feature-discovery"
_GPU_TAINT = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}
DEFAULTS: Object = {
    "image": {"repository": "registry.k8s.io/nfd/node-feature-discovery", "tag": VERSION},
    "priorityClassName": "system-node-critical",
    "gc": {"enable": True, "replicaCount": 1},
    "worker": {
        "tolerations": [_CONTROL_PLANE, _GPU_TAINT],
        "config": {
            "sources": {
                "pci": {
                    "deviceClassWhitelist": ["02", "0200", "0207", "0300", "0302"],
                    "deviceLabelFields": ["vendor"],
                }
            }
        },
    },
    "master": {"tolerations": [_CONTROL_PLANE], "config": {"extraLabelNs": ["nvidia.com"]}},
}
RULES: tuple[Rule, ...] = (
    ([""], ["nodes", "nodes/status"], [*READ, "patch", "update"]),
    (["nfd.k8s-sigs.io"], ["nodefeatures", "nodefeaturerules", "nodefeaturegroups"], [*READ, *WRITE]),
    (["coordination.k8s.io"], ["leases"], [*READ, "create", "update"]),
)


def nfd_objects(release: Release, values: Mapping[str, Any]) -> list[Object]:
    """The sub-chart's objects with the values under `node-feature-discovery`."""
    own = merged(DEFAULTS, values.get("node-feature-discovery") or {})
    prefix = f"{release.name}-node-feature-discovery"
    made = [
        release.account(ACCOUNT),
        *release.cluster_role(prefix, RULES, ACCOUNT),
        *(_configuration(release, prefix, own, part) for part in ("master", "worker")),
        release.deployment(f"{prefix}-master", _labels(release, "master"), _pod(own, prefix, "master")),
        release.daemonset(f"{prefix}-worker", _labels(release, "worker"), _pod(own, prefix, "worker")),
    ]
    if at(own, "gc.enable"):
        pod = _pod(own, prefix, "gc")
        made.append(release.deployment(f"{prefix}-gc", _labels(release, "gc"), pod, int(own["gc"]["replicaCount"])))
    return made


def _labels(release: Release, role: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "node-feature-discovery",
        "app.kubernetes.io/instance": release.name,
        "role": role,
    }


def _configuration(release: Release, prefix: str, own: Object, part: str) -> Object:
    text = yaml.safe_dump(own[part].get("config") or {}, sort_keys=False)
    return release.configmap(f"{prefix}-{part}-conf", {f"nfd-{part}.conf": text})


def _pod(own: Object, prefix: str, part: str) -> Object:
    settings = own[part]
    container: Object = {
        "name": part,
        "image": f"{own['image']['repository']}:{own['image']['tag']}",
        "command": [f"nfd-{part}"],
        "resources": settings.get("resources") or {},
    }
    pod: Object = {
        "serviceAccountName": ACCOUNT,
        "priorityClassName": own["priorityClassName"],
        "tolerations": settings.get("tolerations"),
        "nodeSelector": settings.get("nodeSelector"),
        "affinity": settings.get("affinity"),
        "containers": [container],
    }
    if part != "gc":
        container["volumeMounts"] = [{"name": "conf", "mountPath": "/etc/kubernetes/node-feature-discovery"}]
        pod["volumes"] = [{"name": "conf", "configMap": {"name": f"{prefix}-{part}-conf"}}]
    return pod
