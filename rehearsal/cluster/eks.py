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


def furnish(kube: Kube) -> None:
    """Apply the objects of a new cluster; safe to repeat."""
    for item in objects():
        kube.apply(item, MANAGER, force=True)


def objects() -> list[dict[str, Any]]:
    """Bindings that stand for the access policies, the storage class and the API endpoint of every EKS cluster."""
    return [*(_binding(policy, role) for policy, role in POLICY_ROLES.items()), _gp2(), api_endpoints()]


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
