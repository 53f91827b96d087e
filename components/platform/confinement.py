"""The security context of this program's containers, defined once (Y15).

EKS' kubelets apply no seccomp profile unless a pod asks for one (Kubernetes documentation, Restrict a Container's
Syscalls with seccomp: the default of `--seccomp-default` is off), so every container asks.
"""

from collections.abc import Sequence
from typing import Any

import pulumi_kubernetes as k8s

NOBODY = 65532
"""The user of distroless images called nonroot; no file of an image or a volume belongs to it."""


def confined(
    *, user: int | None = None, writes: bool = True, capabilities: Sequence[str] = ()
) -> k8s.core.v1.SecurityContextArgs:
    """The security context of a container that has no capabilities but these, and gains none.

    It runs as `user`, who is not root; without one as whoever its image says. Unless it `writes`, its own files are
    read-only; volumes are not.
    """
    core = k8s.core.v1
    return core.SecurityContextArgs(
        allow_privilege_escalation=False,
        capabilities=core.CapabilitiesArgs(drop=["ALL"], add=list(capabilities) or None),
        seccomp_profile=core.SeccompProfileArgs(type="RuntimeDefault"),
        run_as_non_root=None if user is None else True,
        run_as_user=user,
        read_only_root_filesystem=None if writes else True,
    )


def confined_values(
    *, user: int | None = None, writes: bool = True, capabilities: Sequence[str] = ()
) -> dict[str, Any]:
    """The same as values of charts and custom resources write it."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"], **({"add": list(capabilities)} if capabilities else {})},
        "seccompProfile": {"type": "RuntimeDefault"},
        **({} if user is None else {"runAsNonRoot": True, "runAsUser": user}),
        **({} if writes else {"readOnlyRootFilesystem": True}),
    }
