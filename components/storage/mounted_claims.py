"""Claims on a file system that every node has mounted by itself (G05, G31, G32).

The volumes are directories of nodes, so no driver stands between a pod and the mount. A pod starts only where the
directory is there: the mount's unit makes it, on the machines that are labelled as having it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.storage.claims import Claims, ClaimSpec, static_claim

MOUNTED_KEY = "gpucluster/shared-files"
"""Label of nodes that have the file system mounted, where it is `true`."""


@dataclass(frozen=True, kw_only=True)
class MountedClaimsArgs:
    """`path` is where labelled nodes have the file system, `capacity_gib` what it holds for all claims."""

    path: str
    capacity_gib: int
    claims: Sequence[ClaimSpec]
    after: Sequence[pulumi.Resource] = ()


class MountedClaims(Claims[MountedClaimsArgs]):
    """One for each namespace and purpose."""

    def _claim(self, spec: ClaimSpec, args: MountedClaimsArgs) -> pulumi.Output[str]:
        core = k8s.core.v1
        mounted = core.NodeSelectorRequirementArgs(key=MOUNTED_KEY, operator="In", values=["true"])
        terms = [core.NodeSelectorTermArgs(match_expressions=[mounted])]
        affinity = core.VolumeNodeAffinityArgs(required=core.NodeSelectorArgs(node_selector_terms=terms))
        return static_claim(
            self,
            spec,
            capacity_gib=args.capacity_gib,
            request_gib=1,
            source={"local": core.LocalVolumeSourceArgs(path=args.path), "node_affinity": affinity},
            after=args.after,
        )
