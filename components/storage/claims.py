"""A claim on a shared file system, whatever makes it."""

from dataclasses import dataclass

import pulumi


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
