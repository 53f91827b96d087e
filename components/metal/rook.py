"""Rook and the CSI drivers of Ceph: the values of their charts.

Sources: rook/rook v1.20.6, deploy/charts/rook-ceph/values.yaml, deploy/charts/ceph-csi-drivers/values-rook.yaml (the
drivers' names are what storage classes name; the drivers are a chart of their own since 1.20); Documentation,
"Object Bucket Claim" (which fields of a claim an operator takes).
"""

from collections.abc import Mapping, Sequence
from typing import Any

NAMESPACE = "rook-ceph"
RBD, CEPHFS = f"{NAMESPACE}.rbd.csi.ceph.com", f"{NAMESPACE}.cephfs.csi.ceph.com"
"""The drivers, by the names that Rook looks for."""

_IMAGES = "rook-csi-operator-image-set-configmap"
"""Where the operator's chart writes the drivers' images."""


def operator_values() -> dict[str, Any]:
    """Values of the `rook-ceph` chart. Drives are those that the program names, so nothing discovers any. A bucket's
    owner may be named by its claim: it is the user whose key the stack file has.
    """
    return {
        "enableDiscoveryDaemon": False,
        "obcAllowAdditionalConfigFields": "maxObjects,maxSize,bucketOwner",
    }


def driver_values(tolerations: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Values of the `ceph-csi-drivers` chart: volumes and files, mounted on nodes with `tolerations` as well. A pod of
    the mounting side goes last of all. A driver's own values come before those of the operator's configuration, and the
    chart has one replica in each. Of the two it lets files alone have snapshots.
    """

    def driver(name: str) -> dict[str, Any]:
        return {
            "name": name,
            "nodePlugin": {
                "priorityClassName": "system-node-critical",
                "tolerations": [dict(each) for each in tolerations],
            },
            "controllerPlugin": {"replicas": 2},
            "snapshotPolicy": "volumeSnapshot",
        }

    return {
        "operatorConfig": {"namespace": NAMESPACE, "driverSpecDefaults": {"imageSet": {"name": _IMAGES}}},
        "drivers": {
            "rbd": driver(RBD),
            "cephfs": driver(CEPHFS),
            "nfs": {"enabled": False},
            "nvmeof": {"enabled": False},
        },
    }
