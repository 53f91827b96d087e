"""Where a person opens the dashboards: Grafana is inside the cluster, and a command brings it to their machine."""

PORT_FORWARD = "kubectl port-forward --namespace monitoring service/kube-prometheus-stack-grafana 3000:80"
"""The chart names its Service after its release, kube-prometheus-stack."""


def address(uid: str) -> str:
    """Of a dashboard, while the command runs (Grafana documentation, dashboard URLs: /d/<uid>)."""
    return f"http://localhost:3000/d/{uid}"
