"""Kubernetes versions as EKS lists them. Source: EKS API reference, DescribeClusterVersions."""

from datetime import UTC, datetime
from typing import Any

from moto.core.responses import ActionResult

from rehearsal.eks.api.base import EksOperations
from rehearsal.eks.api.versions import CALENDAR, DEFAULT_KUBERNETES, KUBERNETES


class VersionOperations(EksOperations):
    """What a new cluster can run."""

    def describe_cluster_versions(self) -> ActionResult:
        """Newest first; a version that is not there is left out, and is no error."""
        given = self.input
        wanted = given.get("clusterVersions") or list(KUBERNETES)
        rows = [_shown(version) for version in reversed(KUBERNETES) if version in wanted]
        if given.get("defaultOnly"):
            rows = [row for row in rows if row["defaultVersion"]]
        if given.get("versionStatus"):
            rows = [row for row in rows if row["versionStatus"] == given["versionStatus"]]
        return self.page("clusterVersions", rows, given)


def _shown(version: str) -> dict[str, Any]:
    released, standard, extended = (datetime.combine(day, datetime.min.time(), UTC) for day in CALENDAR[version])
    status = KUBERNETES[version]
    return {
        "clusterVersion": version,
        "clusterType": "eks",
        "defaultPlatformVersion": "eks.1",
        "defaultVersion": version == DEFAULT_KUBERNETES,
        "releaseDate": released,
        "endOfStandardSupportDate": standard,
        "endOfExtendedSupportDate": extended,
        "status": status.lower().replace("_", "-"),
        "versionStatus": status,
        "kubernetesPatchVersion": f"{version}.0",
    }
