"""Static volumes on the shared file system and the claims that workloads name (G05, G31, G32; KJ16, KJ17, KJ18).

All volumes are the one file system; a claim stands for a purpose and a namespace, because a claim cannot be used from
another one. `storageClassName: ""` keeps the default class from taking the claim, `claimRef` keeps other claims out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.storage.claims import ClaimSpec


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


class LustreClaims(Component):
    """Claims by (namespace, name). A name resolves when its claim is bound."""

    names: dict[tuple[str, str], pulumi.Output[str]]

    def __init__(self, name: str, args: LustreClaimsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.names = {(spec.namespace, spec.name): self._create_claim(spec, args) for spec in args.claims}
        self.register_outputs({"claims": sorted("/".join(key) for key in self.names)})

    def _create_claim(self, spec: ClaimSpec, args: LustreClaimsArgs) -> pulumi.Output[str]:
        role = f"{spec.namespace}-{spec.name}"
        volume = self._create_volume(role, spec, args)
        claim = k8s.core.v1.PersistentVolumeClaim(
            self.named(f"{role}-claim"),
            k8s.core.v1.PersistentVolumeClaimInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=spec.name, namespace=spec.namespace_ref),
                spec=k8s.core.v1.PersistentVolumeClaimSpecArgs(
                    access_modes=["ReadWriteMany"],
                    storage_class_name="",
                    volume_name=volume.metadata.name.apply(str),
                    resources=k8s.core.v1.VolumeResourceRequirementsArgs(requests={"storage": f"{args.request_gib}Gi"}),
                ),
            ),
            self.child(),
        )
        return claim.metadata.name.apply(str)

    def _create_volume(self, role: str, spec: ClaimSpec, args: LustreClaimsArgs) -> k8s.core.v1.PersistentVolume:
        return k8s.core.v1.PersistentVolume(
            self.named(f"{role}-volume"),
            k8s.core.v1.PersistentVolumeInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=role),
                spec=k8s.core.v1.PersistentVolumeSpecArgs(
                    capacity={"storage": f"{args.capacity_gib}Gi"},
                    access_modes=["ReadWriteMany"],
                    persistent_volume_reclaim_policy="Retain",
                    storage_class_name="",
                    volume_mode="Filesystem",
                    mount_options=["flock", "noatime"],
                    claim_ref=k8s.core.v1.ObjectReferenceArgs(
                        api_version="v1", kind="PersistentVolumeClaim", namespace=spec.namespace, name=spec.name
                    ),
                    csi=k8s.core.v1.CSIPersistentVolumeSourceArgs(
                        driver=args.csi_driver,
                        # Two volumes with one handle are one volume to the kubelet, and the second pod hangs.
                        volume_handle=pulumi.Output.format("{0}-{1}", args.handle, role),
                        volume_attributes=dict(args.attributes),
                    ),
                ),
            ),
            self.child(depends_on=[args.driver]),
        )
