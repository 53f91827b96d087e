"""S3 buckets and their parts. Source: terraform-provider-aws internal/service/s3."""

from typing import Any

from rehearsal.plugins.aws.account import CallError
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import MINUTE, Autoname, Row, words
from rehearsal.plugins.aws.tagging import S3
from rehearsal.plugins.servicer import PluginError

BUCKET = {"Bucket": "{bucket}"}
NEW_BUCKET = ("NoSuchBucket",)
"""What the provider tries again for two minutes; of a bucket's ownership it does not."""
PUBLIC = words("blockPublicAcls blockPublicPolicy ignorePublicAcls restrictPublicBuckets")


def _bucket_read(obj: Object) -> Any:
    name = obj.fill("{bucket}")
    head = obj.call("head_bucket", Bucket=name)
    lock: dict[str, Any] = {}
    try:
        lock = obj.call("get_object_lock_configuration", Bucket=name)["ObjectLockConfiguration"]
    except CallError as error:
        if "ObjectLockConfigurationNotFound" not in error.code:
            raise
    return {
        "bucket": name,
        "bucketRegion": head.get("BucketRegion") or obj.region,
        "bucketDomainName": f"{name}.s3.amazonaws.com",
        "bucketRegionalDomainName": f"{name}.s3.{obj.region}.amazonaws.com",
        "objectLockEnabled": lock.get("ObjectLockEnabled") == "Enabled",
    }


def _bucket_prepare(inputs: dict[str, Any]) -> dict[str, Any]:
    """S3 wants to be told the region, except in its first one."""
    region = inputs.get("region", "us-east-1")
    place = {} if region == "us-east-1" else {"createBucketConfiguration": {"locationConstraint": region}}
    return {**inputs, **place}


def _bucket_before(obj: Object) -> None:
    """In us-east-1 S3 accepts to create a bucket that the account has already; the provider refuses."""
    if not obj.missing("head_bucket", Bucket=obj.inputs["bucket"]):
        raise CallError("CreateBucket", "BucketAlreadyOwnedByYou", f"the bucket {obj.inputs['bucket']} exists already")


def _bucket_delete(obj: Object) -> None:
    while obj.inputs.get("forceDestroy"):
        page = obj.call("list_object_versions", Bucket=obj.id)
        found = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
        if not found:
            break
        objects = [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in found]
        obj.call("delete_objects", Bucket=obj.id, Delete={"Objects": objects})
    try:
        obj.call("delete_bucket", Bucket=obj.id)
    except CallError as error:
        if error.code != "BucketNotEmpty":
            raise
        raise PluginError(f"{error}; empty it, or set forceDestroy and run `pulumi up` before destroying") from None


def _versioning_read(obj: Object) -> Any:
    found = obj.search("get_bucket_versioning", Bucket=obj.fill("{bucket}"))
    members = {"status": found.get("Status", "Disabled"), "mfaDelete": found.get("MFADelete")}
    return {"bucket": obj.fill("{bucket}"), "versioningConfiguration": members}


def _versioning_delete(obj: Object) -> None:
    """Versioning cannot be switched off again, only suspended."""
    if (obj.inputs.get("versioningConfiguration") or {}).get("status") != "Disabled":
        state = {"Status": "Suspended"}
        obj.call("put_bucket_versioning", Bucket=obj.id, VersioningConfiguration=state)


def _part(noun: str, inside: str, *properties: str, delete: str = "", **more: Any) -> Row:
    """A part of a bucket that is put, got and deleted as a whole."""
    return Row(
        service="s3",
        create=f"put_{noun}",
        read=f"get_{noun}",
        delete=delete or f"delete_{noun}",
        key=BUCKET,
        id="{bucket}",
        inside=inside,
        force_new=("bucket",),
        updates=((f"put_{noun}", ("bucket", *properties)),),
        unseen=("expectedBucketOwner",),
        look=lambda obj, _: {"bucket": obj.fill("{bucket}")},
        **more,
    )


ROWS: dict[str, Row] = {
    "aws:s3/bucket:Bucket": Row(
        create="create_bucket",
        read=_bucket_read,
        delete=_bucket_delete,
        key=BUCKET,
        id="{bucket}",
        arn="arn:{partition}:s3:::{bucket}",
        names={"objectLockEnabled": "ObjectLockEnabledForBucket"},
        autoname=Autoname("bucket", limit=63, lower=True),
        prefix="bucketPrefix",
        defaults={"forceDestroy": False},
        local=("forceDestroy",),
        prepare=_bucket_prepare,
        before=_bucket_before,
        force_new=words("bucket bucketPrefix bucketNamespace objectLockEnabled"),
        computed=words("bucket objectLockEnabled bucketNamespace"),
        look=lambda _, found: found,
        tags=S3,
        timeouts=(20 * MINUTE, 20 * MINUTE, 60 * MINUTE),
    ),
    "aws:s3/bucketVersioning:BucketVersioning": Row(
        create="put_bucket_versioning",
        read=_versioning_read,
        delete=_versioning_delete,
        key=BUCKET,
        id="{bucket}",
        force_new=("bucket",),
        unseen=("expectedBucketOwner", "mfa"),
        updates=(("put_bucket_versioning", words("bucket versioningConfiguration mfa")),),
        unready=NEW_BUCKET,
        look=lambda _, found: found,
    ),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _part(
        "bucket_encryption",
        "ServerSideEncryptionConfiguration",
        "rules",
        sets=("rules",),
        unready=(*NEW_BUCKET, "OperationAborted"),
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _part(
        "public_access_block", "PublicAccessBlockConfiguration", *PUBLIC, local=("skipDestroy",), unready=NEW_BUCKET
    ),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _part(
        "bucket_lifecycle_configuration",
        "LifecycleConfiguration",
        "rules",
        "transitionDefaultMinimumObjectSize",
        delete="delete_bucket_lifecycle",
        computed=("transitionDefaultMinimumObjectSize",),
        unready=NEW_BUCKET,
    ),
    "aws:s3/bucketPolicy:BucketPolicy": _part(
        "bucket_policy", "", "policy", documents=("policy",), unready=(*NEW_BUCKET, "MalformedPolicy")
    ),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _part(
        "bucket_ownership_controls", "OwnershipControls", "rule"
    ),
}
