"""Chart aws-efa-k8s-device-plugin: one DaemonSet on instance types with EFA.

Its own tolerations are for CriticalAddonsOnly alone: tainted GPU nodes need `tolerations`.
Source: aws/eks-charts, stable/aws-efa-k8s-device-plugin 0.5.30.
"""

from __future__ import annotations

from rehearsal.effects.charts.manifests import Object, Release, at, merged

TOOLCHAIN_CRDS = ""
UPSTREAM_CRDS = ()
NAME = "aws-efa-k8s-device-plugin"
# The types of the chart's list that have NVIDIA GPUs: nodes of other types do not run the plugin here.
_SIZES = {
    "g4dn": (8, 12, 16),
    "g5": (8, 12, 16, 24, 48),
    "g6": (8, 12, 16, 24, 48),
    "g6e": (8, 12, 16, 24, 48),
    "g7": (8, 12, 24, 48),
    "g7e": (8, 12, 24, 48),
    "gr6": (8,),
    "p3dn": (24,),
    "p4d": (24,),
    "p4de": (24,),
    "p5": (4, 48),
    "p5e": (48,),
    "p5en": (48,),
    "p6-b200": (48,),
    "p6-b300": (48,),
    "p6e-gb200": (36,),
    "p6e-gb300": (36,),
}
_TYPES = [f"{family}.{size}xlarge" for family, sizes in _SIZES.items() for size in sizes]
DEFAULTS: Object = {
    "image": {
        "repository": "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin",
        "tag": "v0.5.20",
    },
    "securityContext": {
        "allowPrivilegeEscalation": True,
        "privileged": True,
        "runAsNonRoot": False,
        "runAsUser": 0,
    },
    "supportedInstanceLabels": {"keys": ["node.kubernetes.io/instance-type"], "values": _TYPES},
    "resources": {"requests": {"cpu": "10m", "memory": "20Mi"}},
    "updateStrategy": {"type": "RollingUpdate"},
}


def objects(release: Release) -> list[Object]:
    """The DaemonSet."""
    values = merged(DEFAULTS, release.values)
    name = _name(release)
    labels = {"name": name}
    supported = values["supportedInstanceLabels"]
    terms = [
        {"matchExpressions": [{"key": key, "operator": "In", "values": supported["values"]}]}
        for key in supported["keys"]
    ]
    pod: Object = {
        "automountServiceAccountToken": False,
        "priorityClassName": "system-node-critical",
        "hostNetwork": True,
        "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}, *at(values, "tolerations", [])],
        "nodeSelector": at(values, "nodeSelector", {}),
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}},
        "imagePullSecrets": at(values, "imagePullSecrets", []),
        "containers": [
            {
                "name": NAME,
                "image": f"{values['image']['repository']}:{values['image']['tag']}",
                "securityContext": values["securityContext"],
                "resources": values["resources"],
                "volumeMounts": [{"name": "device-plugin", "mountPath": "/var/lib/kubelet/device-plugins"}],
            }
        ],
        "volumes": [{"name": "device-plugin", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}],
    }
    return [release.daemonset(name, labels, pod, values["updateStrategy"])]


def _name(release: Release) -> str:
    """Helm's usual full name: an override, the release's name if it contains the chart's, else both."""
    override = release.values.get("fullnameOverride")
    chart = str(release.values.get("nameOverride") or NAME)
    name = str(override) if override else release.name if chart in release.name else f"{release.name}-{chart}"
    return name[:63].rstrip("-")
