"""File system, claims, bucket and block storage (G05, G26, G28, G31, G32, R07, Y06; KJ16-KJ18, ST18)."""

import json
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest

from components.aws.bucket import Bucket, BucketArgs
from components.aws.lustre import Lustre, throughput_stays
from components.storage.claims import ClaimSpec
from components.storage.lustre_claims import LustreClaims
from tests.components.samples import built
from tests.components.samples.aws import KEY_ARN, lustre_args
from tests.components.samples.storage import claims_args


def file_system(**changes: Any) -> dict[str, Any]:
    graph = built(lambda opts: Lustre("sample", lustre_args(**changes), opts))
    return dict(graph.one("sample-file-system").inputs)


def test_scratch_has_no_tier_key_or_backup_g26() -> None:
    made = file_system()
    assert made["deploymentType"] == "SCRATCH_2"
    assert made["skipFinalBackup"] is True
    absent = {
        "perUnitStorageThroughput",
        "kmsKeyId",
        "automaticBackupRetentionDays",
        "efaEnabled",
        "metadataConfiguration",
    }
    assert not absent & made.keys()


def test_persistent_has_its_tier_and_our_key_g26_st18() -> None:
    made = file_system(deployment_type="PERSISTENT_2", throughput_mbps_per_tib=1000, backup_days=7)
    assert (made["perUnitStorageThroughput"], made["kmsKeyId"]) == (1000, KEY_ARN)
    assert (made["automaticBackupRetentionDays"], made["skipFinalBackup"]) == (7, False)


@pytest.mark.parametrize("after", [500, None])
def test_another_throughput_with_efa_is_refused_with_path_and_remedy(after: int | None) -> None:
    """Before the update, in a preview too; what else changes passes."""
    old = {"storageCapacity": 4800.0, "perUnitStorageThroughput": 1000.0}
    throughput_stays(asked(old, {**old, "storageCapacity": 9600.0}))
    with pytest.raises(RuntimeError, match=r"^gpucluster:storage.lustre.throughputMbpsPerTib: .*; set it to 1000, or"):
        throughput_stays(asked(old, {**old, "perUnitStorageThroughput": after}))


def asked(old: dict[str, Any], new: dict[str, Any]) -> pulumi.ResourceHookArgs:
    return pulumi.ResourceHookArgs("urn", "fs-1", "lustre", "aws:fsx", new_inputs=new, old_inputs=old)


def claims() -> Any:
    specs = [
        ClaimSpec(name="data", namespace="training", namespace_ref="training"),
        ClaimSpec(name="data", namespace="inference", namespace_ref="inference"),
    ]
    return built(lambda opts: LustreClaims("sample", claims_args(specs), opts))


def test_a_volume_names_the_driver_that_exists_and_its_attributes_kj18_g05() -> None:
    volume = claims().one("sample-training-data-volume").inputs["spec"]
    assert volume["csi"]["driver"] == "fsx.csi.aws.com"
    assert volume["csi"]["volumeAttributes"] == {"dnsname": "d", "mountname": "m"}
    assert volume["mountOptions"] == ["flock", "noatime"]
    assert volume["persistentVolumeReclaimPolicy"] == "Retain"


def test_a_claim_binds_its_volume_and_no_class_takes_it_kj16() -> None:
    graph = claims()
    claim = graph.one("sample-training-data-claim").inputs
    assert claim["metadata"]["namespace"] == "training"
    assert (claim["spec"]["storageClassName"], claim["spec"]["volumeName"]) == ("", "training-data")
    volume = graph.one("sample-training-data-volume").inputs["spec"]
    assert volume["claimRef"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "training",
        "name": "data",
    }
    assert volume["storageClassName"] == ""


def test_claims_are_of_the_one_mode_that_the_driver_mounts_and_sizes_are_settings_lf01_g32_g28() -> None:
    graph = claims()
    for namespace in ("training", "inference"):
        claim, volume = (graph.one(f"sample-{namespace}-data-{kind}").inputs["spec"] for kind in ("claim", "volume"))
        assert claim["accessModes"] == volume["accessModes"] == ["ReadWriteMany"]
        assert volume["capacity"] == {"storage": "102400Gi"}


def bucket(**changes: Any) -> Any:
    known = {"account_id": "123456789012", "key_arn": KEY_ARN, "checkpoint_days": 30}
    return built(lambda opts: Bucket("sample", BucketArgs(**{**known, **changes}), opts))


def test_who_reads_the_buckets_name_comes_after_what_guards_it() -> None:
    """Data goes in once it is encrypted with our key and refuses plain connections."""

    def read(opts: pulumi.ResourceOptions) -> Bucket:
        bucket = Bucket("sample", BucketArgs(account_id="123456789012", key_arn=KEY_ARN, checkpoint_days=30), opts)
        within = pulumi.ResourceOptions(parent=bucket)
        aws.s3.BucketPublicAccessBlock("reader", aws.s3.BucketPublicAccessBlockArgs(bucket=bucket.bucket_name), within)
        return bucket

    graph = built(read)
    reader = graph.one("reader")
    assert reader.inputs["bucket"] == graph.one("sample-bucket").inputs["bucket"]
    assert {graph.one(f"sample-{name}").urn for name in ("policy", "encryption")} <= set(reader.depends_on)


def test_a_bucket_is_private_versioned_encrypted_and_owned_r07_y06() -> None:
    graph = bucket()
    private = {key: value for key, value in graph.one("sample-private").inputs.items() if key != "bucket"}
    assert len(private) == 4
    assert all(private.values())
    assert graph.one("sample-versioning").inputs["versioningConfiguration"] == {"status": "Enabled"}
    assert graph.one("sample-ownership").inputs["rule"] == {"objectOwnership": "BucketOwnerEnforced"}
    (rule,) = graph.one("sample-encryption").inputs["rules"]
    assert rule["applyServerSideEncryptionByDefault"] == {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": KEY_ARN}


def test_a_bucket_refuses_requests_without_tls_y06() -> None:
    (statement,) = json.loads(bucket().one("sample-policy").inputs["policy"])["Statement"]
    assert (statement["Effect"], statement["Principal"]) == ("Deny", "*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert len(statement["Resource"]) == 2
