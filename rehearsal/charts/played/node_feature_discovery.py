"""Switches of node-feature-discovery, as a chart of its own and as a part of others.

Source: kubernetes-sigs/node-feature-discovery, deployment/helm/node-feature-discovery.
"""

from collections.abc import Iterator

from rehearsal.charts.played.switches import On, Rules, Switch, document, named, only_if, pulled, put, scheduling

NAME = "node-feature-discovery"
_WORKLOADS = {"worker": "DaemonSet", "master": "Deployment", "gc": "Deployment"}


def switches(path: str = "") -> Iterator[Switch]:
    """The switches of the chart whose values are below a path."""
    below = f"{path}." if path else ""
    whole = On("DaemonSet Deployment", f"*{NAME}*")
    yield from pulled(path, On("DaemonSet Deployment Job", f"*{NAME}*").container)
    yield from named(path, whole.pod, "priorityClassName")
    yield Switch(f"{below}gc.replicaCount", put(On("Deployment", f"*{NAME}*-gc"), "spec", "replicas"))
    yield Switch(f"{below}master.replicaCount", put(On("Deployment", f"*{NAME}*-master"), "spec", "replicas"))
    for part, kind in _WORKLOADS.items():
        yield from scheduling(f"{below}{part}", On(kind, f"*{NAME}*-{part}"))
    for part in ("worker", "master"):
        yield Switch(f"{below}{part}.config", document(On("ConfigMap", f"*{NAME}*-{part}-conf"), f"nfd-{part}.conf"))
    yield Switch(
        f"{below}gc.enable", only_if(On("Deployment ClusterRole ClusterRoleBinding ServiceAccount", f"*{NAME}*-gc"))
    )


RULES = Rules(tuple(switches()))
