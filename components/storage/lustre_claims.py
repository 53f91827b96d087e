"""Static volumes on the shared file system and the claims that workloads name (G05, G31, G32; KJ16, KJ17, KJ18).

All volumes are the one file system; a claim stands for a purpose and a namespace, because a claim cannot be used from
another one. `storageClassName: ""` keeps the default class from taking the claim, `claimRef` keeps other claims out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.storage.claims import Claims, ClaimSpec, static_claim


@dataclass(frozen=True, kw_only=True)
class LustreClaimsArgs:
    """`capacity_gib` is the file system's; Lustre does not divide it, so every volume states all of it. A claim asks
    for `request_gib`, less than any size the file system has: Kubernetes lets no claim on a static volume grow.

    `csi_driver` is the CSI driver's name, `handle` what its handles of this file system begin with, and `attributes`
    what it mounts by. Without `driver`, its pods, no pod can let go of a volume, so it must outlive the claims.
    """

    csi_driver: str
    handle: pulumi.Input[str]
    attributes: Mapping[str, pulumi.Input[str]]
    capacity_gib: int
    request_gib: int
    claims: Sequence[ClaimSpec]
    driver: pulumi.Resource


class LustreClaims(Claims[LustreClaimsArgs]):
    """One for each namespace and purpose."""

    def _claim(self, spec: ClaimSpec, args: LustreClaimsArgs) -> pulumi.Output[str]:
        csi = k8s.core.v1.CSIPersistentVolumeSourceArgs(
            driver=args.csi_driver,
            # Two volumes with one handle are one volume to the kubelet, and the second pod hangs.
            volume_handle=pulumi.Output.format("{0}-{1}", args.handle, f"{spec.namespace}-{spec.name}"),
            volume_attributes=dict(args.attributes),
        )
        return static_claim(
            self,
            spec,
            capacity_gib=args.capacity_gib,
            request_gib=args.request_gib,
            source={"mount_options": ["flock", "noatime"], "csi": csi},
            after=[args.driver],
        )
