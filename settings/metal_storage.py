"""Storage on premises: Lustre or Ceph, and NFS for homes."""

from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from catalogue.metal_versions import LUSTRE_RELEASE
from settings.sections import Section, SectionError
from settings.types import Matching, PrivateCidr, Stripes

MOST_SERVERS = 4096
Count = Annotated[int, Field(ge=1, le=MOST_SERVERS)]
Bucket = Annotated[str, Matching(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "the name of a bucket")]


class MetalLustre(Section):
    """Lustre on servers of the catalogue. `parity` is how a target's drives are grouped, such as 8+2.

    If the inventory lists its machines and no `sharedFiles`, they become its servers.
    """

    server: Annotated[str, Field(description="row of the storage server catalogue, for the object servers")]
    count: Count
    mds_server: Annotated[str, Field(description="row of the storage server catalogue, for the metadata servers")]
    mds_count: Count = 1
    drives_per_server: Annotated[int | None, Field(ge=1, le=1024, description="None = all bays of the row")] = None
    parity: Stripes = "8+2"
    network: Annotated[
        Literal["storage", "compute"], Field(description="own fabric, or storagePorts of the compute fabric")
    ] = "storage"
    stripe_count: Annotated[
        int | None, Field(ge=1, le=2000, description="stripe count of new files; None = the file system's default")
    ] = None
    nics_per_server: Annotated[int | None, Field(ge=1, le=64, description="None = all cards of the row")] = None
    fsname: Annotated[
        str,
        Matching(r"[a-z][a-z0-9_]{0,7}", "a name for Lustre: a small letter, then letters, digits and _, 8 at most"),
        Field(description="name of the file system, as clients mount it"),
    ] = "shared"
    release: Annotated[
        str,
        Matching(r"\d+\.\d+\.\d+-[A-Za-z0-9.+~]{1,32}", "a version of Lustre's packages such as 2.16.1-1"),
        Field(description="version of the servers' packages in the repository that your machines install from"),
    ] = LUSTRE_RELEASE


class Ceph(Section):
    """Ceph on servers of the catalogue, with copies (`replicas`) or with parity (`erasure`, such as 4+2).

    If the inventory lists its machines, Rook runs Ceph on them, as dedicated nodes of the cluster.
    """

    server: Annotated[str, Field(description="row of the storage server catalogue")]
    count: Count
    replicas: Annotated[int | None, Field(ge=1, le=10)] = None
    erasure: Stripes | None = None
    failure_domain: Annotated[
        Literal["host", "rack"], Field(description="failure domain: the unit that may be lost")
    ] = "host"
    monitors: Annotated[Literal[3, 5], Field(description="odd number of monitors, each on its own machine")] = 3
    osd_memory_gib: Annotated[int, Field(ge=4, le=64, description="memory of each OSD, one for every drive")] = 8
    public_cidr: Annotated[PrivateCidr | None, Field(description="client network; None = the machines' own")] = None
    cluster_cidr: Annotated[
        PrivateCidr | None, Field(description="replication network of the OSDs; None = the client network")
    ] = None
    bucket: Annotated[
        Bucket | None, Field(description="bucket of this stack in Ceph's own object store; None = it has none")
    ] = None

    @model_validator(mode="after")
    def _copies_or_parity(self) -> Self:
        if self.replicas is not None and self.erasure is not None:
            raise SectionError(
                [(("erasure",), "a pool is either replicated or erasure-coded; remove replicas or erasure")]
            )
        if self.replicas is None and self.erasure is None:
            raise SectionError([(("replicas",), "is missing (or erasure); type replicas: 3 or erasure: 4+2")])
        return self


class NfsHome(Section):
    """NFS home directories on one machine with mirrored drives: code, environments, results.

    Where the section is, the namespace `training` and each team's has a claim `home` on a directory of its own.
    Datasets and checkpoints stay on the shared file system: all of NFS goes through this machine.
    """

    server: Annotated[str, Field(description="row of the storage server catalogue")]


@dataclass(frozen=True)
class Servers:
    """Equal servers of a file system: what they are for, the key below `storage` that names their row, how many."""

    role: Literal["oss", "mds", "osd", "nfs"]
    key: str
    row: str
    count: int


class MetalStorage(Section):
    """The shared file system: Lustre or Ceph, and what is expected of it."""

    lustre: MetalLustre | None = None
    ceph: Ceph | None = None
    home: Annotated[NfsHome | None, Field(description="None = no home directories")] = None
    target_gb_per_s: Annotated[
        float | None, Field(gt=0, le=100_000, description="required read throughput in GB/s")
    ] = None
    data_tib: Annotated[float | None, Field(gt=0, le=10_000_000, description="what it must hold")] = None
    object_store_gb_per_s: Annotated[
        float | None,
        Field(
            gt=0, le=100_000, description="throughput of one writer to the object store in GB/s; None = no object store"
        ),
    ] = None

    @model_validator(mode="after")
    def _one_file_system(self) -> Self:
        if self.lustre is not None and self.ceph is not None:
            raise SectionError([(("ceph",), "a stack has one shared file system; remove lustre or ceph")])
        if self.lustre is None and self.ceph is None:
            raise SectionError([(("lustre",), "is missing (or ceph); add one of them")])
        return self

    @property
    def servers(self) -> tuple[Servers, ...]:
        """What it stands on: object and metadata servers of Lustre, or hosts of Ceph; and the server of homes."""
        home = (Servers("nfs", "home.server", self.home.server, 1),) if self.home else ()
        if self.lustre is not None:
            return (
                Servers("oss", "lustre.server", self.lustre.server, self.lustre.count),
                Servers("mds", "lustre.mdsServer", self.lustre.mds_server, self.lustre.mds_count),
                *home,
            )
        return (Servers("osd", "ceph.server", self.ceph.server, self.ceph.count), *home) if self.ceph else home
