"""During a destroy, keeps the volume driver until the volumes of deleted claims are removed.

Claims go with their namespaces, and their volumes some time later, by the driver: detached first, then deleted. To have
namespaces go before the driver does not wait for that. This Deployment does: it comes between them, so that Pulumi
deletes it when the namespaces are gone, in the foreground, which takes as long as its pod takes to end
(pulumi-kubernetes, provider/pkg/await/await.go, Deletion).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.node_files import node_files
from components.platform.rights import granted
from components.platform.scripted import IDENTITY, Script, scripted

NAME, NAMESPACE = "volumes-end", "kube-system"
SCRIPTS = "/opt/gpucluster/volumes"
LABELS = {"gpucluster/volumes-end": "true"}
LOOK_SECONDS = 2
PATIENCE = "15m"
"""Before Pulumi says that volumes are left. A node that does not answer keeps its volumes for six minutes (Kubernetes,
attach-detach controller, maxWaitForUnmountDuration)."""

GRACE_SECONDS = 24 * 3600
"""Longer than Pulumi's patience: while volumes are left the Deployment is there, and a second destroy waits again."""


def volumes_end_files() -> dict[str, str]:
    """Modules by name, with the one of the gates that speaks with the API server."""
    return node_files("volumes/volumes_end.py", "gates/publish.py")


@dataclass(frozen=True, kw_only=True)
class VolumesEndArgs:
    """`image` has Python; `files` are the script's, by name. `after` are what removes volumes, and what that and pods
    need: all of it outlives the volumes.
    """

    image: str
    files: Mapping[str, str]
    after: Sequence[pulumi.Resource]


class VolumesEnd(Component):
    """`held` is what namespaces with claims come after, and therefore go before."""

    held: k8s.apps.v1.Deployment

    def __init__(self, name: str, args: VolumesEndArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        rule = k8s.rbac.v1.PolicyRuleArgs
        everywhere = rule(api_groups=[""], resources=["persistentvolumes", "persistentvolumeclaims"], verbs=["list"])
        itself = rule(api_groups=["apps"], resources=["deployments"], resource_names=[NAME], verbs=["get"])
        account = granted(self, NAME, NAMESPACE, [everywhere], {"own": (NAMESPACE, [itself])})
        script = Script(
            image=args.image,
            directory=SCRIPTS,
            files=args.files,
            command=[
                "python3",
                f"{SCRIPTS}/volumes_end.py",
                f"--identity={IDENTITY}",
                f"--deployment={NAME}",
                f"--look-seconds={LOOK_SECONDS}",
            ],
            labels=LABELS,
            memory="64Mi",
            grace_seconds=GRACE_SECONDS,
            patience=PATIENCE,
        )
        self.held = scripted(self, NAME, NAMESPACE, account, script, args.after)
        self.register_outputs({})
