"""Claims on one directory of CephFS, which all namespaces share (G05, G09, G31).

A volume that the driver makes for a claim belongs to that claim's namespace. So the volumes here are static ones, each
of the same directory. Source: Rook documentation, "Filesystem Storage", "Shared volume creation".
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.storage.claims import Claims, ClaimSpec, static_claim


@dataclass(frozen=True, kw_only=True)
class CephClaimsArgs:
    """`driver` mounts the directory `path` of the file system, by a Secret of the `namespace` that Rook runs Ceph in.
    Volumes wait for `after`.
    """

    driver: str
    namespace: str
    filesystem: str
    path: str
    capacity_gib: int
    claims: Sequence[ClaimSpec]
    after: Sequence[pulumi.Resource]


class CephClaims(Claims[CephClaimsArgs]):
    """One for each namespace and purpose."""

    def _claim(self, spec: ClaimSpec, args: CephClaimsArgs) -> pulumi.Output[str]:
        csi = k8s.core.v1.CSIPersistentVolumeSourceArgs(
            driver=args.driver,
            # Two volumes with one handle are one volume to the kubelet, and the second pod hangs.
            volume_handle=f"{args.filesystem}-{spec.namespace}-{spec.name}",
            volume_attributes={
                "clusterID": args.namespace,
                "fsName": args.filesystem,
                "rootPath": args.path,
                "staticVolume": "true",
            },
            node_stage_secret_ref=k8s.core.v1.SecretReferenceArgs(
                name="rook-csi-cephfs-node", namespace=args.namespace
            ),
        )
        return static_claim(
            self,
            spec,
            capacity_gib=args.capacity_gib,
            request_gib=1,
            # The cluster takes connections of the second protocol alone, which the kernel's client has to be told.
            source={"mount_options": ["ms_mode=prefer-crc", "noatime"], "csi": csi},
            after=args.after,
        )
