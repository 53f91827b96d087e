"""A claim on a shared file system of any kind, and the volume reserved for it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component


@dataclass(frozen=True, kw_only=True)
class ClaimSpec:
    """A claim by name and namespace. `namespace` is the plain name, `namespace_ref` the same once it exists.

    Whoever may write and whoever only reads mount the same claim, ReadWriteMany; a pod that only reads says so at its
    volume. Drivers of parallel file systems refuse ReadOnlyMany at every mount, after volume and claim are bound
    (aws-fsx-csi-driver, pkg/driver/controller.go, volumeCaps).
    """

    name: str
    namespace: str
    namespace_ref: pulumi.Input[str]


def static_claim(
    owner: Component,
    spec: ClaimSpec,
    *,
    capacity_gib: int,
    request_gib: int,
    source: Mapping[str, Any],
    after: Sequence[pulumi.Resource],
) -> pulumi.Output[str]:
    """Register a volume that exists already, by its `source`, and the claim on it; the claim's name once it is there.

    The volume waits for `after`, without which no pod could mount it, nor let go of it.
    """
    role = f"{spec.namespace}-{spec.name}"
    volume = k8s.core.v1.PersistentVolume(
        owner.named(f"{role}-volume"),
        metadata=k8s.meta.v1.ObjectMetaArgs(name=role),
        spec=k8s.core.v1.PersistentVolumeSpecArgs(
            capacity={"storage": f"{capacity_gib}Gi"},
            access_modes=["ReadWriteMany"],
            persistent_volume_reclaim_policy="Retain",
            storage_class_name="",
            volume_mode="Filesystem",
            claim_ref=k8s.core.v1.ObjectReferenceArgs(
                api_version="v1", kind="PersistentVolumeClaim", namespace=spec.namespace, name=spec.name
            ),
            **source,
        ),
        opts=owner.child(depends_on=list(after)),
    )
    claim = k8s.core.v1.PersistentVolumeClaim(
        owner.named(f"{role}-claim"),
        metadata=k8s.meta.v1.ObjectMetaArgs(name=spec.name, namespace=spec.namespace_ref),
        spec=k8s.core.v1.PersistentVolumeClaimSpecArgs(
            access_modes=["ReadWriteMany"],
            storage_class_name="",
            volume_name=volume.metadata.name.apply(str),
            resources=k8s.core.v1.VolumeResourceRequirementsArgs(requests={"storage": f"{request_gib}Gi"}),
        ),
        opts=owner.child(),
    )
    return claim.metadata.name.apply(str)


class HasClaims(Protocol):
    """What claims of some kind are made of."""

    @property
    def claims(self) -> Sequence[ClaimSpec]: ...


Args = TypeVar("Args", bound=HasClaims)


class Claims(Component, ABC, Generic[Args]):
    """Claims by (namespace, name), each as `_claim` makes it. A name resolves when its claim is there."""

    names: dict[tuple[str, str], pulumi.Output[str]]

    def __init__(self, name: str, args: Args, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.names = {(spec.namespace, spec.name): self._claim(spec, args) for spec in args.claims}
        self.register_outputs({"claims": sorted("/".join(key) for key in self.names)})

    @abstractmethod
    def _claim(self, spec: ClaimSpec, args: Args) -> pulumi.Output[str]:
        """Registers the volume and the claim of one; the claim's name."""
