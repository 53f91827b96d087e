"""Switches of node-feature-discovery, as a chart of its own and as a part of others.

Source: kubernetes-sigs/node-feature-discovery, deployment/helm/node-feature-discovery.
"""

from __future__ import annotations

from collections.abc import Iterator

from rehearsal.charts.played.switches import On, Rules, Switch, document, image, only_if, put, scheduling

NAME = "node-feature-discovery"
_WORKLOADS = {"worker": "DaemonSet", "master": "Deployment", "gc": "Deployment"}


def switches(path: str = "") -> Iterator[Switch]:
    """The switches of the chart whose values are below a path."""
    below = f"{path}." if path else ""
    whole = On("DaemonSet Deployment", f"*{NAME}*")
    pulled = On("DaemonSet Deployment Job", f"*{NAME}*")
    yield Switch(f"{below}image.repository", image(pulled.container, "repository"))
    yield Switch(f"{below}image.tag", image(pulled.container, "tag"))
    yield Switch(f"{below}priorityClassName", put(whole.pod, "priorityClassName"))
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
