"""Data as of a snapshot: files on a volume of their own, and what is read of them when they have changed (G10, S08).

A driver makes snapshots of volumes that it made itself, and of no static ones (ceph-csi, docs/static-pvc.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.snapshot_controller import API, GROUP

READY = {"pulumi.com/waitFor": "jsonpath={.status.readyToUse}=true"}
MINUTES = 15


@dataclass(frozen=True, kw_only=True)
class OwnFilesArgs:
    """The claim `name` of `gib` at most, which any number of nodes may write to, of a `storage_class`."""

    name: str
    namespace: pulumi.Input[str]
    storage_class: pulumi.Input[str]
    gib: int


class OwnFiles(Component):
    """Files on a volume of their own. `claim` resolves when it is bound."""

    claim: pulumi.Output[str]

    def __init__(self, name: str, args: OwnFilesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        made = _claim(self, args.name, args, "ReadWriteMany", {}, {}, [])
        self.claim = made.metadata.name.apply(str)
        self.register_outputs({"claim": self.claim})


@dataclass(frozen=True, kw_only=True)
class SnapshotArgs:
    """The snapshot `name` of the claim `of`, taken when the resources `after` are there, by a `snapshot_class`, and the
    claim of that name on what it holds, by a `storage_class` of volumes that are read alone. Both have `labels`.
    """

    name: str
    namespace: pulumi.Input[str]
    of: pulumi.Input[str]
    snapshot_class: pulumi.Input[str]
    storage_class: pulumi.Input[str]
    gib: int
    labels: Mapping[str, str]
    after: Sequence[pulumi.Resource]


class Snapshot(Component):
    """A snapshot of files, and a claim by which pods read it. It is taken once: another one has another name."""

    claim: k8s.core.v1.PersistentVolumeClaim

    def __init__(self, name: str, args: SnapshotArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        time = f"{MINUTES}m"
        taken = k8s.apiextensions.CustomResource(
            self.named("taken"),
            api_version=API,
            kind="VolumeSnapshot",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=args.name, namespace=args.namespace, labels=dict(args.labels), annotations=READY
            ),
            spec={
                "volumeSnapshotClassName": args.snapshot_class,
                "source": {"persistentVolumeClaimName": args.of},
            },
            opts=self.child(
                depends_on=list(args.after), custom_timeouts=pulumi.CustomTimeouts(create=time, delete=time)
            ),
        )
        source = k8s.core.v1.TypedLocalObjectReferenceArgs(api_group=GROUP, kind="VolumeSnapshot", name=args.name)
        self.claim = _claim(self, args.name, args, "ReadOnlyMany", args.labels, {"data_source": source}, [taken])
        self.register_outputs({"snapshot": args.name})


def _claim(
    owner: Component,
    name: str,
    args: OwnFilesArgs | SnapshotArgs,
    mode: str,
    labels: Mapping[str, str],
    more: Mapping[str, Any],
    after: Sequence[pulumi.Resource],
) -> k8s.core.v1.PersistentVolumeClaim:
    core = k8s.core.v1
    return core.PersistentVolumeClaim(
        owner.named("claim"),
        core.PersistentVolumeClaimInitArgs(
            metadata=k8s.meta.v1.ObjectMetaArgs(name=name, namespace=args.namespace, labels=dict(labels) or None),
            spec=core.PersistentVolumeClaimSpecArgs(
                access_modes=[mode],
                storage_class_name=args.storage_class,
                resources=core.VolumeResourceRequirementsArgs(requests={"storage": f"{args.gib}Gi"}),
                **more,
            ),
        ),
        owner.child(depends_on=list(after)),
    )
