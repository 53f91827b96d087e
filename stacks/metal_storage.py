"""What a site has as the platform's storage: the file system that nodes mount, their disks, and an object store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi

from catalogue.metal_versions import LOCAL_STATIC_PROVISIONER
from catalogue.supply import Supply
from components.metal.local_volumes import LocalVolumes, LocalVolumesArgs, provisioner_values
from components.metal.object_store import REGION, StoreKey, StoreKeyArgs, client
from components.platform.charts import Chart, ChartArgs
from components.platform.copying import StoreAddress
from components.platform.taints import ROLE_KEY
from components.storage.aws_cli import AwsCli
from components.storage.claims import ClaimSpec
from components.storage.mounted_claims import MountedClaims, MountedClaimsArgs
from planner.said import SiteStore
from stacks.charts import chart_source
from stacks.metal_variables import LOCAL_VOLUMES_PATH, SHARED_PATH


@dataclass(frozen=True, kw_only=True)
class MountedFiles:
    """Claims on the file system that nodes mount; it holds `capacity_gib`."""

    capacity_gib: int
    opts: pulumi.ResourceOptions

    def claims(self, name: str, claims: Sequence[ClaimSpec]) -> Mapping[tuple[str, str], pulumi.Output[str]]:
        args = MountedClaimsArgs(path=SHARED_PATH, capacity_gib=self.capacity_gib, claims=claims)
        return MountedClaims(name, args, self.opts).names


class Scratch:
    """The nodes' own disks: the kubelet's directory is on their array."""

    def volume(self, gb: int) -> Mapping[str, Any]:
        return {"emptyDir": {"sizeLimit": f"{gb}G"}}


@dataclass(frozen=True, kw_only=True)
class SiteObjects:
    """The site's store. It knows one key, which every pod that copies has: rights by prefix are the store's to give.

    `image` is the copiers'. `made` resolves to the bucket's name where the stack itself makes it.
    """

    store: SiteStore
    image: str
    key_id: pulumi.Output[str]
    key: pulumi.Output[str]
    made: pulumi.Output[str] | None = None
    scheme: str = "s3"
    _kept: dict[str, pulumi.Output[str]] = field(default_factory=dict)

    @property
    def bucket(self) -> pulumi.Output[str]:
        return self.made if self.made is not None else pulumi.Output.from_input(self.store.bucket)

    @property
    def copier(self) -> AwsCli:
        return client(self.image, self.store.endpoint)

    @property
    def address(self) -> StoreAddress:
        return StoreAddress(endpoint=self.store.endpoint, region=REGION)

    def bucket_of(self, purpose: str) -> pulumi.Output[str]:  # noqa: ARG002 - the site has one
        return self.bucket

    def prepare(self, namespaces: Mapping[str, pulumi.Output[str]], opts: pulumi.ResourceOptions) -> None:
        """The key, as a Secret of each namespace."""
        for name, namespace in namespaces.items():
            args = StoreKeyArgs(namespace=namespace, key_id=self.key_id, key=self.key)
            self._kept[name] = StoreKey(f"object-store-{name}", args, opts).kept

    def reader(
        self,
        name: str,  # noqa: ARG002 - nothing is made for one account alone
        *,
        source: str,  # noqa: ARG002
        namespace: pulumi.Input[str],  # noqa: ARG002
        account: str,
        opts: pulumi.ResourceOptions,  # noqa: ARG002
    ) -> pulumi.Output[str]:
        return self._granted(account)

    def writer(
        self,
        name: str,  # noqa: ARG002 - nothing is made for one account alone
        *,
        prefix: str,  # noqa: ARG002
        namespace: pulumi.Input[str],  # noqa: ARG002
        account: str,
        opts: pulumi.ResourceOptions,  # noqa: ARG002
    ) -> pulumi.Output[str]:
        return self._granted(account)

    def _granted(self, account: str) -> pulumi.Output[str]:
        return pulumi.Output.all(self.bucket, *self._kept.values()).apply(lambda _: account)


def local_volumes(
    supply: Supply, inside: pulumi.ResourceOptions, after: pulumi.Resource
) -> tuple[pulumi.Output[str], pulumi.Resource]:
    """The class of volumes on system nodes' disks, and what empties those that are released."""
    release = Chart(
        "local-volumes-provisioner",
        ChartArgs(
            source=chart_source(LOCAL_STATIC_PROVISIONER, supply),
            namespace="kube-system",
            values=provisioner_values(LOCAL_VOLUMES_PATH, {ROLE_KEY: "system"}),
            after=after,
        ),
        inside,
    ).release
    return LocalVolumes("local-volumes", LocalVolumesArgs(provisioner=release), inside).storage_class, release
