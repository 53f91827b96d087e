"""Access entries and access policies. Source: EKS user guide, "Grant IAM users access to Kubernetes with EKS access
entries" and "Review access policy permissions".
"""

from typing import Any

from moto.core.responses import ActionResult, EmptyResult

from rehearsal.cloud.account import ACCOUNT, now
from rehearsal.cloud.iam import principal_exists
from rehearsal.cloud.service import Refusal
from rehearsal.eks.api import ownership
from rehearsal.eks.api.base import EksOperations, in_use
from rehearsal.eks.api.checks import invalid
from rehearsal.eks.api.store import AccessEntry, Cluster, EksBackend

POLICY_ARN = "arn:aws:eks::aws:cluster-access-policy/"
CLUSTER_ADMIN = POLICY_ARN + "AmazonEKSClusterAdminPolicy"
POLICIES = (
    "AmazonEKSAdminPolicy",
    "AmazonEKSAdminViewPolicy",
    "AmazonEKSAutoNodePolicy",
    "AmazonEKSClusterAdminPolicy",
    "AmazonEKSEditPolicy",
    "AmazonEKSSecretReaderPolicy",
    "AmazonEKSViewPolicy",
)
_RESERVED_GROUPS = ("system:", "eks:", "aws:", "amazon:", "iam:")
_NODE_TYPES = ("EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX", "HYBRID_LINUX", "EC2")


class AccessOperations(EksOperations):
    """Who may enter a cluster, and with which of EKS' policies."""

    def create_access_entry(self) -> ActionResult:
        """Make the one entry of a principal, who must exist in IAM."""
        given = self.input
        cluster = self._cluster(given)
        entry = add_entry(self.state, cluster, given)
        return ActionResult({"accessEntry": entry.body})

    def describe_access_entry(self) -> ActionResult:
        """The entry of one principal."""
        given = self.input
        return ActionResult({"accessEntry": self._cluster(given).entry(given["principalArn"]).body})

    def list_access_entries(self) -> ActionResult:
        """ARNs of the principals, all or those with one policy."""
        given = self.input
        policy = given.get("associatedPolicyArn")
        entries = self._cluster(given).entries
        principals = [arn for arn, entry in entries.items() if policy is None or policy in entry.policies]
        return self.page("accessEntries", sorted(principals), given)

    def update_access_entry(self) -> ActionResult:
        """Groups and username of a STANDARD entry."""
        given = self.input
        entry = self._cluster(given).entry(given["principalArn"])
        groups: list[str] = given.get("kubernetesGroups") or entry.body["kubernetesGroups"]
        _check_groups(groups, entry.body["type"])
        username = given.get("username", entry.body["username"])
        entry.body |= {"kubernetesGroups": groups, "username": username, "modifiedAt": now()}
        return ActionResult({"accessEntry": entry.body})

    def delete_access_entry(self) -> ActionResult:
        """Takes the associated policies with it."""
        given = self.input
        cluster = self._cluster(given)
        cluster.entry(given["principalArn"])
        del cluster.entries[given["principalArn"]]
        return EmptyResult()

    def associate_access_policy(self) -> ActionResult:
        """Only STANDARD entries take policies; associating again changes the scope."""
        given = self.input
        cluster = self._cluster(given)
        entry = cluster.entry(given["principalArn"])
        if entry.body["type"] != "STANDARD":
            raise invalid(f"Access policies cannot be associated with an access entry of type {entry.body['type']}")
        if given["policyArn"].removeprefix(POLICY_ARN) not in POLICIES:
            raise invalid(f"The policyArn parameter format is not valid: {given['policyArn']}")
        scope = given["accessScope"]
        if scope["type"] == "namespace" and not scope.get("namespaces"):
            raise invalid("Namespaces must be given for an access scope of type namespace")
        if scope["type"] == "cluster" and scope.get("namespaces"):
            raise invalid("Namespaces are not valid for an access scope of type cluster")
        policy = associate(entry, given["policyArn"], scope)
        reply = {"clusterName": cluster.name, "principalArn": given["principalArn"], "associatedAccessPolicy": policy}
        return ActionResult(reply)

    def disassociate_access_policy(self) -> ActionResult:
        """Refused for a policy that is not associated."""
        given = self.input
        entry = self._cluster(given).entry(given["principalArn"])
        if entry.policies.pop(given["policyArn"], None) is None:
            message = f"The specified policy is not associated with the principal: {given['policyArn']}"
            raise Refusal("ResourceNotFoundException", message)
        return EmptyResult()

    def list_associated_access_policies(self) -> ActionResult:
        """Policies of one principal with their scopes."""
        given = self.input
        cluster = self._cluster(given)
        policies = list(cluster.entry(given["principalArn"]).policies.values())
        reply = {
            "clusterName": cluster.name,
            "principalArn": given["principalArn"],
            "associatedAccessPolicies": policies,
        }
        return ActionResult(reply)

    def _cluster(self, given: dict[str, Any]) -> Cluster:
        cluster = self.cluster_of(given)
        if cluster.authentication_mode == "CONFIG_MAP":
            message = (
                "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this "
                "operation."
            )
            raise Refusal("InvalidRequestException", message, clusterName=cluster.name)
        return cluster


def add_entry(backend: EksBackend, cluster: Cluster, given: dict[str, Any]) -> AccessEntry:
    """Make an entry from CreateAccessEntry's members, with EKS' defaults."""
    principal = given["principalArn"]
    kind = given.get("type", "STANDARD")
    groups = given.get("kubernetesGroups", [])
    if principal in cluster.entries:
        raise in_use("The specified access entry resource is already in use on this cluster.", clusterName=cluster.name)
    if not principal_exists(principal):
        raise invalid(f"The specified principalArn is invalid: invalid principal {principal}.")
    _check_groups(groups, kind)
    if kind in _NODE_TYPES and given.get("username"):
        raise invalid(f"The username of an access entry of type {kind} is set by EKS")
    if kind in _NODE_TYPES:
        groups = ["system:nodes"]
    entry = AccessEntry(ownership.entry_body(backend, cluster, principal, kind, _username(given, kind), groups))
    entry.body["tags"] = given.get("tags", {})
    cluster.entries[principal] = entry
    return entry


def associate(entry: AccessEntry, policy_arn: str, scope: dict[str, Any]) -> dict[str, Any]:
    """Give a principal a policy over the cluster or over namespaces."""
    kept = entry.policies.get(policy_arn, {"associatedAt": now()})
    policy = {
        "policyArn": policy_arn,
        "accessScope": {"type": scope["type"], "namespaces": scope.get("namespaces", [])},
        "associatedAt": kept["associatedAt"],
        "modifiedAt": now(),
    }
    entry.policies[policy_arn] = policy
    return policy


def _username(given: dict[str, Any], kind: str) -> str:
    if given.get("username"):
        return str(given["username"])
    principal = given["principalArn"]
    if kind in _NODE_TYPES:
        return ownership.NODE_USERNAME
    if ":role/" in principal:
        return f"arn:aws:sts::{ACCOUNT}:assumed-role/{principal.rpartition('/')[2]}/{{{{SessionName}}}}"
    return str(principal)


def _check_groups(groups: list[str], kind: str) -> None:
    if groups and kind in _NODE_TYPES:
        raise invalid(f"Kubernetes groups cannot be given for an access entry of type {kind}")
    for group in groups:
        if group.startswith(_RESERVED_GROUPS):
            raise invalid(f"The kubernetes group name {group} is invalid, it cannot start with {_RESERVED_GROUPS}")
