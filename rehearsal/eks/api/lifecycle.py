"""How EKS resources come up and go away: told by the rehearsal's supervisor, or by themselves in a cloud alone."""

from typing import Any

from rehearsal.cloud.account import now
from rehearsal.cloud.agenda import AGENDA
from rehearsal.eks.api import ownership
from rehearsal.eks.api.store import Body, Cluster, eks

GONE = "GONE"
CONTROL_PLANE_SECONDS = 0.3
"""Stands for the minutes a change of a cluster's configuration takes; no supervisor has a part in it."""
_FAILED = {"CREATE_FAILED", "UPDATE_FAILED", "DEGRADED", "DELETE_FAILED", "FAILED"}


class Lifecycle:
    """Whether the cloud is alone, that is without a supervisor that starts control planes and nodes.

    With `late_logs_seconds` EKS delivers the last events of a cluster so long after it is gone, and makes its log group
    for them if that is gone too. It does so at times (terraform-aws-eks, issues 920, 2486, 2763), here when told to.
    """

    def __init__(self) -> None:
        self.alone = False
        self.late_logs_seconds: float | None = None

    def begun(self, region: str, cluster: str, kind: str, name: str = "") -> None:
        """A create, an update or a delete has begun; alone, it is finished before the next request."""
        if kind == "cluster" and eks(region).cluster(cluster).body["status"] == "UPDATING":
            AGENDA.after(CONTROL_PLANE_SECONDS, lambda: self._finish(region, cluster, kind, name))
        elif self.alone:
            AGENDA.after(0, lambda: self._finish(region, cluster, kind, name))

    def _finish(self, region: str, cluster_name: str, kind: str, name: str) -> None:
        cluster = eks(region).clusters.get(cluster_name)
        body = cluster and {"cluster": {"": cluster.body}, "nodegroup": cluster.nodegroups, "addon": cluster.addons}[
            kind
        ].get(name)
        if not body:
            return
        order: Body = {"status": GONE if body["status"] == "DELETING" else "ACTIVE"}
        if kind == "cluster" and body["status"] == "CREATING":
            order |= {"endpoint": "https://127.0.0.1:1", "certificateAuthority": "YWxvbmU="}
        if kind == "cluster":
            set_cluster(region, cluster_name, order)
        elif kind == "nodegroup":
            set_nodegroup(region, cluster_name, name, order)
        else:
            set_addon(region, cluster_name, name, order)


LIFECYCLE = Lifecycle()


def set_cluster(region: str, name: str, order: Body) -> Body:
    """Apply ``{"status", "endpoint", "certificateAuthority", "issues"}``; status GONE removes the cluster."""
    cluster = eks(region).cluster(name)
    if order.get("status") == GONE:
        ownership.release_cluster(region, cluster)
        del eks(region).clusters[name]
        if LIFECYCLE.late_logs_seconds is not None:
            AGENDA.after(LIFECYCLE.late_logs_seconds, lambda: ownership.make_log_group(region, cluster))
        return {}
    if order.get("status") and _may_become(cluster.body, order["status"]):
        cluster.body["status"] = order["status"]
        _end_updates(cluster, ("cluster", ""), order)
    if order.get("endpoint"):
        cluster.body["endpoint"] = order["endpoint"]
    if order.get("certificateAuthority"):
        cluster.body["certificateAuthority"] = {"data": order["certificateAuthority"]}
    if "issues" in order:
        cluster.body["health"] = {"issues": order["issues"]}
    return cluster.body


def set_nodegroup(region: str, cluster_name: str, name: str, order: Body) -> Body:
    """Apply ``{"status", "issues", "autoScalingGroups"}``; status GONE removes the node group."""
    cluster = eks(region).cluster(cluster_name)
    body = cluster.nodegroup(name)
    if order.get("status") == GONE:
        del cluster.nodegroups[name]
        ownership.release_node_role(cluster, body["nodeRole"])
        return {}
    if "autoScalingGroups" in order:
        groups = [group if isinstance(group, dict) else {"name": group} for group in order["autoScalingGroups"]]
        body["resources"] = {"autoScalingGroups": groups}
    _settle(cluster, ("nodegroup", name), body, order)
    return body


def set_addon(region: str, cluster_name: str, name: str, order: Body) -> Body:
    """Apply ``{"status", "issues"}``; status GONE removes the add-on and the pod identities it made."""
    cluster = eks(region).cluster(cluster_name)
    body = cluster.addon(name)
    if order.get("status") == GONE:
        del cluster.addons[name]
        ownership.release_addon(cluster, body["addonArn"])
        return {}
    _settle(cluster, ("addon", name), body, order)
    return body


def _settle(cluster: Cluster, subject: tuple[str, str], body: Body, order: dict[str, Any]) -> None:
    if "issues" in order:
        body["health"] = {"issues": order["issues"]}
    if order.get("status") and _may_become(body, order["status"]):
        body["status"] = order["status"]
        body["modifiedAt"] = now()
        _end_updates(cluster, subject, order)


def _may_become(body: Body, status: str) -> bool:
    """A report that was on its way when the delete came does not bring the resource back."""
    return body["status"] != "DELETING" or status == "DELETE_FAILED"


def _end_updates(cluster: Cluster, subject: tuple[str, str], order: dict[str, Any]) -> None:
    """End what was in progress: DescribeUpdate says Failed with the issues, or Successful."""
    if order["status"] in ("CREATING", "UPDATING", "DELETING"):
        return
    failed = order["status"] in _FAILED
    for update in cluster.updates.values():
        if update.subject == subject and update.body["status"] == "InProgress":
            update.body["status"] = "Failed" if failed else "Successful"
            update.body["errors"] = [
                {
                    "errorCode": issue.get("code", "Unknown"),
                    "errorMessage": issue.get("message", ""),
                    "resourceIds": issue.get("resourceIds", []),
                }
                for issue in (order.get("issues") or [] if failed else [])
            ]
