"""Versions EKS offers; kept apart from the program's catalogue, or both would agree by birth.

Kubernetes versions: EKS user guide, "Understand the Kubernetes version lifecycle on EKS". Add-ons: the guide lists the
latest VPC CNI and CoreDNS only; the other defaults are builds recorded in public configurations of 2025 and 2026, and
the build number of the FSx driver is assumed. So a version is accepted when it is well formed and, for kube-proxy, of a
minor that the cluster can run: which builds exist, only AWS can tell.
"""

import re
from datetime import date
from typing import Any

KUBERNETES = {
    "1.31": "EXTENDED_SUPPORT",
    "1.32": "EXTENDED_SUPPORT",
    "1.33": "EXTENDED_SUPPORT",
    "1.34": "STANDARD_SUPPORT",
    "1.35": "STANDARD_SUPPORT",
    "1.36": "STANDARD_SUPPORT",
}
DEFAULT_KUBERNETES = "1.35"
CALENDAR = {
    "1.31": (date(2024, 9, 26), date(2025, 11, 26), date(2026, 11, 26)),
    "1.32": (date(2025, 1, 23), date(2026, 3, 23), date(2027, 3, 23)),
    "1.33": (date(2025, 5, 29), date(2026, 7, 29), date(2027, 7, 29)),
    "1.34": (date(2025, 10, 2), date(2026, 12, 2), date(2027, 12, 2)),
    "1.35": (date(2026, 1, 27), date(2027, 3, 27), date(2028, 3, 27)),
    "1.36": (date(2026, 6, 2), date(2027, 8, 2), date(2028, 8, 2)),
}
"""The guide's release calendar: on EKS from, standard support until, extended support until."""

ADDONS = {
    "vpc-cni": ("networking", "v1.20.1-eksbuild.3"),
    "coredns": ("networking", "v1.13.2-eksbuild.4"),
    "kube-proxy": ("networking", "v{kubernetes}.0-eksbuild.2"),
    "eks-pod-identity-agent": ("security", "v1.3.8-eksbuild.2"),
    "aws-ebs-csi-driver": ("storage", "v1.48.0-eksbuild.2"),
    "aws-efs-csi-driver": ("storage", "v2.1.10-eksbuild.1"),
    "aws-fsx-csi-driver": ("storage", "v1.6.0-eksbuild.1"),
    "aws-mountpoint-s3-csi-driver": ("storage", "v1.15.0-eksbuild.1"),
    "snapshot-controller": ("storage", "v8.3.0-eksbuild.1"),
    "metrics-server": ("observability", "v0.8.0-eksbuild.2"),
    "eks-node-monitoring-agent": ("observability", "v1.4.0-eksbuild.2"),
    "cert-manager": ("security", "v1.18.2-eksbuild.2"),
}
"""Name -> kind and default version."""

BOTTLEROCKET_RELEASES = ("1.64.0-5e1bd5e0", "1.66.0-1ad6b4a4")
"""Oldest first; the first one's commit is made up."""

_ADDON_VERSION = re.compile(r"v(\d+)\.(\d+)\.(\d+)-eksbuild\.(\d+)")
_RELEASE_VERSION = re.compile(r"(\d+\.\d+)\.\d+-\d{8}")


def minor(version: str) -> int:
    """The minor of a Kubernetes version such as ``1.34``."""
    return int(version.split(".")[1])


def default_addon_version(addon: str, kubernetes: str) -> str:
    """The version EKS installs when a request names none."""
    return ADDONS[addon][1].format(kubernetes=kubernetes)


def addon_version_fits(addon: str, version: str, kubernetes: str) -> bool:
    """Whether the add-on can have this version on a cluster of this Kubernetes version.

    Kubernetes' version skew policy: kube-proxy is not newer than the API server and at most three minors older.
    """
    parts = _ADDON_VERSION.fullmatch(version)
    if parts is None:
        return False
    return addon != "kube-proxy" or 0 <= minor(kubernetes) - int(parts[2]) <= 3


def release_fits(release: str, kubernetes: str, ami_type: str) -> bool:
    """Whether an AMI release version (``1.34.2-20260108``) belongs to that Kubernetes minor.

    Bottlerocket's (``1.66.0-1ad6b4a4``) are the same for all minors: what the SSM parameter `image_version` has
    (terraform-aws-modules/terraform-aws-eks, modules/eks-managed-node-group, `ami_type_to_ssm_param`).
    """
    if ami_type.startswith("BOTTLEROCKET_"):
        return release in BOTTLEROCKET_RELEASES
    parts = _RELEASE_VERSION.fullmatch(release)
    return parts is not None and parts[1] == kubernetes


def latest_release(kubernetes: str, ami_type: str) -> str:
    """What a node group boots that names no release; that of Amazon Linux is made up, but for its form."""
    return BOTTLEROCKET_RELEASES[-1] if ami_type.startswith("BOTTLEROCKET_") else f"{kubernetes}.0-20260101"


def described_addon(addon: str, kubernetes: str | None) -> dict[str, Any]:
    """One row of DescribeAddonVersions for a Kubernetes version, or for all."""
    kind, _ = ADDONS[addon]
    wanted = [kubernetes] if kubernetes else list(KUBERNETES)
    by_version: dict[str, list[str]] = {}
    for cluster_version in wanted:
        by_version.setdefault(default_addon_version(addon, cluster_version), []).append(cluster_version)
    versions = [
        {
            "addonVersion": version,
            "architecture": ["amd64", "arm64"],
            "compatibilities": [
                {"clusterVersion": cluster_version, "platformVersions": ["*"], "defaultVersion": True}
                for cluster_version in cluster_versions
            ],
            "requiresConfiguration": False,
        }
        for version, cluster_versions in by_version.items()
    ]
    return {"addonName": addon, "type": kind, "publisher": "eks", "owner": "aws", "addonVersions": versions}
