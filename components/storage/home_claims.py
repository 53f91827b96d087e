"""Claims on directories of a file system without a size, one for each namespace, each by a handle of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.storage.claims import Claims, ClaimSpec, static_claim

NOMINAL_GIB = 1
"""Kubernetes wants a size of every volume; a team's quota of storage counts this much."""


@dataclass(frozen=True, kw_only=True)
class HomeClaimsArgs:
    """`handles` by namespace are what `csi_driver` mounts by. `driver` is its pods, which must outlive the claims."""

    csi_driver: str
    handles: Mapping[str, pulumi.Input[str]]
    claims: Sequence[ClaimSpec]
    driver: pulumi.Resource


class HomeClaims(Claims[HomeClaimsArgs]):
    """One for each namespace and purpose."""

    def _claim(self, spec: ClaimSpec, args: HomeClaimsArgs) -> pulumi.Output[str]:
        csi = k8s.core.v1.CSIPersistentVolumeSourceArgs(
            driver=args.csi_driver, volume_handle=args.handles[spec.namespace]
        )
        return static_claim(
            self,
            spec,
            capacity_gib=NOMINAL_GIB,
            request_gib=NOMINAL_GIB,
            source={"csi": csi},
            after=[args.driver],
        )
