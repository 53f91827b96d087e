"""What EKS puts into a new cluster, as far as programs and people rely on it."""

from typing import Any

from rehearsal.cluster.access import POLICY_GROUPS
from rehearsal.cluster.layout import ADVERTISED, API_PORT
from rehearsal.kube.client import Kube

MANAGER = "eks"
# Each access policy grants what this ClusterRole of Kubernetes grants (EKS user guide, "Review access policies").
POLICY_ROLES = {
    "AmazonEKSClusterAdminPolicy": "cluster-admin",
    "AmazonEKSAdminPolicy": "admin",
    "AmazonEKSEditPolicy": "edit",
    "AmazonEKSViewPolicy": "view",
}


_SELECTOR = {
    "type": "object",
    "properties": {
        "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
        "matchExpressions": {
            "type": "array",
            "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    },
}
SECURITY_GROUP_POLICY: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "securitygrouppolicies.vpcresources.k8s.aws"},
    "spec": {
        "group": "vpcresources.k8s.aws",
        "names": {
            "plural": "securitygrouppolicies",
            "singular": "securitygrouppolicy",
            "kind": "SecurityGroupPolicy",
            "shortNames": ["sgp"],
        },
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "podSelector": _SELECTOR,
                                    "serviceAccountSelector": _SELECTOR,
                                    "securityGroups": {
                                        "type": "object",
                                        "properties": {
                                            "groupIds": {"type": "array", "minItems": 1, "items": {"type": "string"}}
                                        },
                                    },
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}
"""Its fields and bounds as EKS installs them (amazon-vpc-resource-controller-k8s, config/crd/bases). Nobody here makes
the branch interfaces: pods stay in the groups of their node."""


def furnish(kube: Kube) -> None:
    """Apply the objects of a new cluster; safe to repeat."""
    for item in objects():
        kube.apply(item, MANAGER, force=True)


def objects() -> list[dict[str, Any]]:
    """Bindings that stand for the access policies, the storage class, the API endpoint and the kind of the VPC resource
    controller that every EKS cluster has.
    """
    bindings = (_binding(policy, role) for policy, role in POLICY_ROLES.items())
    return [*bindings, _gp2(), api_endpoints(), SECURITY_GROUP_POLICY]


def api_endpoints() -> dict[str, Any]:
    """Where the Service `kubernetes` leads: API servers keep that themselves, but for one without a reconciler."""
    ports = [{"name": "https", "port": API_PORT, "protocol": "TCP"}]
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "kubernetes", "namespace": "default"},
        "subsets": [{"addresses": [{"ip": ADVERTISED}], "ports": ports}],
    }


def _binding(policy: str, role: str) -> dict[str, Any]:
    group = POLICY_GROUPS[policy]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": group},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
    }


def _gp2() -> dict[str, Any]:
    """The class `gp2`, which since Kubernetes 1.30 is no longer marked as the default one."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "gp2"},
        "provisioner": "kubernetes.io/aws-ebs",
        "parameters": {"type": "gp2", "fsType": "ext4"},
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
