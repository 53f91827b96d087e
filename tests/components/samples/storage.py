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
from tests.components.samples.common import CLI, Make, done


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
    "home-claims": lambda opts: HomeClaims(
        "sample",
        HomeClaimsArgs(
            csi_driver="efs.csi.aws.com",
            handles={"training": "fs-1::fsap-1", "team-a": "fs-1::fsap-2"},
            claims=[ClaimSpec(name="home", namespace="team-a", namespace_ref="team-a-there")],
            driver=done(),
        ),
        opts,
    ),
    "claims": lambda opts: LustreClaims(
        "sample",
        claims_args([ClaimSpec(name="data", namespace="training", namespace_ref="training")]),
        opts,
    ),
    "weights": lambda opts: Staged("sample", weights_args(), opts),
    "ceph-claims": lambda opts: CephClaims(
        "sample",
        CephClaimsArgs(
            driver="rook-ceph.cephfs.csi.ceph.com",
            namespace="rook-ceph",
            filesystem="files",
            path="/volumes/shared",
            capacity_gib=5000,
            claims=[ClaimSpec(name="data", namespace="training", namespace_ref="training")],
            after=[done()],
        ),
        opts,
    ),
    "own-files": lambda opts: OwnFiles(
        "sample",
        OwnFilesArgs(name="dataset-chats", namespace="training", storage_class="ceph-filesystem", gib=103),
        opts,
    ),
    "snapshot": lambda opts: Snapshot(
        "sample",
        SnapshotArgs(
            name="dataset-chats-1234abcd",
            namespace="training",
            of="dataset-chats",
            snapshot_class="ceph-filesystem",
            storage_class="ceph-filesystem-snapshot",
            gib=103,
            labels={"gpucluster/dataset": "chats"},
            after=[done()],
        ),
        opts,
    ),
    "nfs-claims": lambda opts: NfsClaims(
        "sample",
        NfsClaimsArgs(
            server="10.20.0.41",
            root="/srv/home",
            claims=[ClaimSpec(name="home", namespace="team-a", namespace_ref="team-a-there")],
            after=[done()],
        ),
        opts,
    ),
    "mounted-claims": lambda opts: MountedClaims(
        "sample",
        MountedClaimsArgs(
            path="/mnt/shared",
            capacity_gib=5000,
            claims=[ClaimSpec(name="data", namespace="training", namespace_ref="training")],
        ),
        opts,
    ),
}
