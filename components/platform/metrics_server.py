"""metrics-server: what nodes and pods use now, for autoscalers on CPU or memory and for `kubectl top`."""

from typing import Any

LABEL = {"app.kubernetes.io/name": "metrics-server"}
NODES_OF_DEFAULT = 100


def metrics_server_values(nodes: int) -> dict[str, Any]:
    """Values of the `metrics-server` chart for a cluster of so many nodes.

    Two replicas on different hosts where there are two, and no tolerations, so that they stay off GPU nodes. Requests:
    the project's README, "Scaling" (0.8): 100m and 200 MiB up to 100 nodes, 1m and 2 MiB more for each further one.
    """
    further = max(0, nodes - NODES_OF_DEFAULT)
    return {
        "replicas": 2,
        "podDisruptionBudget": {"enabled": True, "maxUnavailable": 1},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": LABEL},
            }
        ],
        "resources": {"requests": {"cpu": f"{100 + further}m", "memory": f"{200 + 2 * further}Mi"}},
    }
