"""Claims on directories of an NFS server, one for each namespace (G12)."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.storage.claims import Claims, ClaimSpec, static_claim
from components.storage.home_claims import NOMINAL_GIB


@dataclass(frozen=True, kw_only=True)
class NfsClaimsArgs:
    """`root` on `server` has a directory by each namespace's name. The kubelet mounts it itself, without a driver."""

    server: str
    root: str
    claims: Sequence[ClaimSpec]
    after: Sequence[pulumi.Resource] = ()


class NfsClaims(Claims[NfsClaimsArgs]):
    """One for each namespace and purpose."""

    def _claim(self, spec: ClaimSpec, args: NfsClaimsArgs) -> pulumi.Output[str]:
        source = k8s.core.v1.NFSVolumeSourceArgs(server=args.server, path=f"{args.root}/{spec.namespace}")
        return static_claim(
            self,
            spec,
            capacity_gib=NOMINAL_GIB,
            request_gib=NOMINAL_GIB,
            source={"nfs": source, "mount_options": ["nfsvers=4.2", "hard", "noatime"]},
            after=args.after,
        )
