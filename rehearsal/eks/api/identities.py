"""Pod identity associations.

Source: EKS user guide, "Learn how EKS Pod Identity grants pods access to AWS services".
"""

from typing import Any

from moto.core.responses import ActionResult

from rehearsal.cloud.account import hex_id, now
from rehearsal.cloud.service import Refusal
from rehearsal.eks.api.base import EksOperations, in_use
from rehearsal.eks.api.checks import require_role
from rehearsal.eks.api.store import Body, Cluster, EksBackend

PRINCIPAL = "pods.eks.amazonaws.com"
_SUMMARY = ("clusterName", "namespace", "serviceAccount", "associationArn", "associationId", "ownerArn")


class PodIdentityOperations(EksOperations):
    """Which role the pods of a service account get."""

    def create_pod_identity_association(self) -> ActionResult:
        """One role per service account; its trust policy must allow assuming and tagging the session."""
        given = self.input
        cluster = self.cluster_of(given)
        cluster.require_active("create a pod identity association")
        return ActionResult({"association": add_association(self.state, cluster, given)})

    def describe_pod_identity_association(self) -> ActionResult:
        """By association id."""
        given = self.input
        return ActionResult({"association": self._association(given)})

    def list_pod_identity_associations(self) -> ActionResult:
        """Summaries, filtered by namespace and service account."""
        given = self.input
        found = [
            {key: body[key] for key in _SUMMARY if body.get(key)}
            for body in self.cluster_of(given).associations.values()
            if all(given.get(key) in (None, body[key]) for key in ("namespace", "serviceAccount"))
        ]
        return self.page("associations", found, given)

    def update_pod_identity_association(self) -> ActionResult:
        """Another role for the same service account."""
        given = self.input
        body = self._association(given)
        if given.get("roleArn"):
            require_role(given["roleArn"], PRINCIPAL, "sts:AssumeRole", "sts:TagSession")
        changes = {key: given[key] for key in ("roleArn", "disableSessionTags", "targetRoleArn") if key in given}
        body |= changes | {"modifiedAt": now()}
        return ActionResult({"association": body})

    def delete_pod_identity_association(self) -> ActionResult:
        """Pods that run keep their credentials until these expire."""
        given = self.input
        body = self._association(given)
        del self.cluster_of(given).associations[body["associationId"]]
        return ActionResult({"association": body})

    def _association(self, given: dict[str, Any]) -> Body:
        associations = self.cluster_of(given).associations
        if given["associationId"] not in associations:
            message = f"Association not found for id {given['associationId']}"
            raise Refusal("ResourceNotFoundException", message, clusterName=given["clusterName"])
        return associations[given["associationId"]]


def add_association(backend: EksBackend, cluster: Cluster, given: dict[str, Any], owner: str | None = None) -> Body:
    """Associate a role with a service account; ``owner`` is the ARN of an add-on that does it."""
    account = (given["namespace"], given["serviceAccount"])
    for body in cluster.associations.values():
        if (body["namespace"], body["serviceAccount"]) == account:
            raise in_use(f"Association already exists: {body['associationId']}", clusterName=cluster.name)
    require_role(given["roleArn"], PRINCIPAL, "sts:AssumeRole", "sts:TagSession")
    association_id = hex_id("a")
    body = {
        "clusterName": cluster.name,
        "namespace": given["namespace"],
        "serviceAccount": given["serviceAccount"],
        "roleArn": given["roleArn"],
        "associationArn": backend.arn("podidentityassociation", cluster.name, association_id),
        "associationId": association_id,
        "tags": given.get("tags", {}),
        "createdAt": now(),
        "modifiedAt": now(),
        "ownerArn": owner,
        "disableSessionTags": given.get("disableSessionTags", False),
        "targetRoleArn": given.get("targetRoleArn"),
    }
    cluster.associations[association_id] = body
    return body
