"""Samples of claims and of what is staged into them."""

from collections.abc import Mapping, Sequence

from components.storage.ceph_claims import CephClaims, CephClaimsArgs
from components.storage.claims import ClaimSpec
from components.storage.home_claims import HomeClaims, HomeClaimsArgs
from components.storage.lustre_claims import LustreClaims, LustreClaimsArgs
from components.storage.mounted_claims import MountedClaims, MountedClaimsArgs
from components.storage.nfs_claims import NfsClaims, NfsClaimsArgs
from components.storage.snapshots import OwnFiles, OwnFilesArgs, Snapshot, SnapshotArgs
from components.storage.staged import Staged, StagedArgs
from tests.components.samples.common import CLI, Make, done, of


def claims_args(claims: Sequence[ClaimSpec]) -> LustreClaimsArgs:
    return LustreClaimsArgs(
        csi_driver="fsx.csi.aws.com",
        handle="fs-1",
        attributes={"dnsname": "d", "mountname": "m"},
        capacity_gib=102_400,
        request_gib=1200,
        claims=claims,
        driver=done(),
    )


def weights_args(source: str = "s3://models/llama") -> StagedArgs:
    return StagedArgs(
        what="weights",
        name="llama",
        directory="models",
        source=source,
        copier=CLI,
        namespace="inference",
        service_account="weights-llama",
        granted="weights-llama",
        claim="model-weights",
        ready=done(),
        timeout_seconds=3600,
    )


SAMPLES: Mapping[str, Make] = {
    "home-claims": of(
        HomeClaims,
        lambda: HomeClaimsArgs(
            csi_driver="efs.csi.aws.com",
            handles={"training": "fs-1::fsap-1", "team-a": "fs-1::fsap-2"},
            claims=[ClaimSpec(name="home", namespace="team-a", namespace_ref="team-a-there")],
            driver=done(),
        ),
    ),
    "claims": of(
        LustreClaims, lambda: claims_args([ClaimSpec(name="data", namespace="training", namespace_ref="training")])
    ),
    "weights": of(Staged, weights_args),
    "ceph-claims": of(
        CephClaims,
        lambda: CephClaimsArgs(
            driver="rook-ceph.cephfs.csi.ceph.com",
            namespace="rook-ceph",
            filesystem="files",
            path="/volumes/shared",
            capacity_gib=5000,
            claims=[ClaimSpec(name="data", namespace="training", namespace_ref="training")],
            after=[done()],
        ),
    ),
    "own-files": of(
        OwnFiles,
        lambda: OwnFilesArgs(name="dataset-chats", namespace="training", storage_class="ceph-filesystem", gib=103),
    ),
    "snapshot": of(
        Snapshot,
        lambda: SnapshotArgs(
            name="dataset-chats-1234abcd",
            namespace="training",
            of="dataset-chats",
            snapshot_class="ceph-filesystem",
            storage_class="ceph-filesystem-snapshot",
            gib=103,
            labels={"gpucluster/dataset": "chats"},
            after=[done()],
        ),
    ),
    "nfs-claims": of(
        NfsClaims,
        lambda: NfsClaimsArgs(
            server="10.20.0.41",
            root="/srv/home",
            claims=[ClaimSpec(name="home", namespace="team-a", namespace_ref="team-a-there")],
            after=[done()],
        ),
    ),
    "mounted-claims": of(
        MountedClaims,
        lambda: MountedClaimsArgs(
            path="/mnt/shared",
            capacity_gib=5000,
            claims=[ClaimSpec(name="data", namespace="training", namespace_ref="training")],
        ),
    ),
}
