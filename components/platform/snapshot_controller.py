"""What makes snapshots of volumes with whatever CSI driver they have: kinds and controller (G10, S08).

Of the kinds of groups of snapshots it serves none: its caches ask for those only behind a feature gate.

Sources: kubernetes-csi/external-snapshotter v8.6.0, deploy/kubernetes/snapshot-controller (rights, flags: one
controller in a cluster, a sidecar beside each driver), pkg/metrics/metrics.go (the page of its leader's health).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import NOBODY, confined
from components.platform.crds import Crds, CrdsArgs
from components.platform.kubectl import Fetched
from components.platform.operators import operator_deployment
from components.platform.rights import WATCH, Rules, Within, granted

NAME = "snapshot-controller"
GROUP = "snapshot.storage.k8s.io"
API = f"{GROUP}/v1"
LABELS = {"app.kubernetes.io/name": NAME}
PORT = 8080


@dataclass(frozen=True, kw_only=True)
class SnapshotControllerArgs:
    """`crds` are hashes of the version's definitions by the plural names of their kinds, which `fetch_image` brings.
    `after` is what lets pods run.
    """

    version: str
    crds: Mapping[str, str]
    image: str
    kubectl_image: str
    fetch_image: str
    namespace: pulumi.Input[str]
    after: pulumi.Resource


class SnapshotController(Component):
    """The controller. `ready` is the resource after which snapshots are made."""

    ready: pulumi.Resource

    def __init__(self, name: str, args: SnapshotControllerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        crds = CrdsArgs(
            files=[
                Fetched(name=plural, url=crd_url(args.version, plural), sha256=digest, image=args.fetch_image)
                for plural, digest in args.crds.items()
            ],
            crds=[f"{plural}.{GROUP}" for plural in args.crds],
            namespace=args.namespace,
            image=args.kubectl_image,
            after=args.after,
        )
        served = Crds(self.named("crds"), crds, self.child()).established
        within: dict[str, Within] = {"local": (args.namespace, namespace_rules())}
        account = granted(self, NAME, args.namespace, cluster_rules(), within)
        self.ready = operator_deployment(
            self, NAME, args.namespace, LABELS, account, _container(args.image), after=[served]
        )
        self.register_outputs({"version": args.version})


class SnapshotClass(pulumi.CustomResource):
    """A VolumeSnapshotClass: snapshots of a `driver`'s volumes, which go when their objects do, or are retained. Its
    fields stand beside the metadata, where `k8s.apiextensions.CustomResource` has only a spec.
    """

    def __init__(
        self,
        name: str,
        called: str,
        driver: str,
        parameters: Mapping[str, str],
        opts: pulumi.ResourceOptions,
        *,
        retained: bool = False,
    ) -> None:
        props = {
            "apiVersion": API,
            "kind": "VolumeSnapshotClass",
            "metadata": {"name": called},
            "driver": driver,
            "deletionPolicy": "Retain" if retained else "Delete",
            "parameters": dict(parameters),
        }
        super().__init__(f"kubernetes:{API}:VolumeSnapshotClass", name, props, opts)


def crd_url(version: str, plural: str) -> str:
    """Address of the definition of a kind at a tag."""
    where = f"https://raw.githubusercontent.com/kubernetes-csi/external-snapshotter/{version}/client/config/crd"
    return f"{where}/{GROUP}_{plural}.yaml"


def cluster_rules() -> Rules:
    """Snapshots are of any namespace, and so are the claims that they are made of: it holds those meanwhile."""
    rule = k8s.rbac.v1.PolicyRuleArgs
    return [
        rule(api_groups=[""], resources=["persistentvolumes"], verbs=WATCH),
        rule(api_groups=[""], resources=["persistentvolumeclaims"], verbs=[*WATCH, "update"]),
        rule(api_groups=[""], resources=["events"], verbs=["create", "patch", "update"]),
        rule(api_groups=[GROUP], resources=["volumesnapshotclasses"], verbs=WATCH),
        rule(
            api_groups=[GROUP],
            resources=["volumesnapshotcontents"],
            verbs=["create", "delete", *WATCH, "patch", "update"],
        ),
        rule(api_groups=[GROUP], resources=["volumesnapshotcontents/status"], verbs=["patch"]),
        rule(api_groups=[GROUP], resources=["volumesnapshots"], verbs=[*WATCH, "patch", "update"]),
        rule(api_groups=[GROUP], resources=["volumesnapshots/status"], verbs=["patch", "update"]),
    ]


def namespace_rules() -> Rules:
    """Rights in its own namespace: it elects a leader."""
    verbs = ["create", *WATCH, "update"]
    return [k8s.rbac.v1.PolicyRuleArgs(api_groups=["coordination.k8s.io"], resources=["leases"], verbs=verbs)]


def _container(image: str) -> k8s.core.v1.ContainerArgs:
    core = k8s.core.v1
    probe = core.ProbeArgs(
        http_get=core.HTTPGetActionArgs(path="/healthz/leader-election", port=PORT),
        initial_delay_seconds=20,
        period_seconds=20,
    )
    return core.ContainerArgs(
        name=NAME,
        image=image,
        args=["--leader-election=true", f"--http-endpoint=:{PORT}"],
        termination_message_policy="FallbackToLogsOnError",
        ports=[core.ContainerPortArgs(name="metrics", container_port=PORT)],
        liveness_probe=probe,
        resources=core.ResourceRequirementsArgs(requests={"cpu": "100m", "memory": "64Mi"}, limits={"memory": "512Mi"}),
        security_context=confined(user=NOBODY, writes=False),
    )
