"""S3: what a new bucket has since 2023, policies that ask for TLS, keys of objects, and what moto drops.

Sources: S3 user guide, "Default settings for new S3 buckets" (encryption, public access block, object ownership) and
"Using server-side encryption with AWS KMS keys" (S3 asks KMS for each object: it hands on its errors, their codes with
`KMS.` before them); API reference, NoncurrentVersionExpiration.
"""

import json
from typing import Any

from moto.iam.access_control import IAMPolicy
from moto.s3.exceptions import S3ClientError
from moto.s3.models import FakeBucket, PublicAccessBlock, S3Backend
from moto.s3.responses import S3Response

from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.buckets import owner_of, require_owner
from rehearsal.cloud.kms import key_error, key_of_arn

AMENDMENTS = Amendments()


def _own_encryption() -> dict[str, Any]:
    """SSE-S3, which a bucket has unless it is given another."""
    rule = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, "BucketKeyEnabled": "false"}
    return {"Rule": rule}


@AMENDMENTS.around(S3Backend, "create_bucket")
def create_bucket(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """Encrypted, closed to the public, owned by its owner; moto makes it as before 2023. A stranger's name is taken."""
    name = kwargs.get("bucket_name") or args[0]
    if owner_of(name) not in (None, self.account_id):
        raise S3ClientError("BucketAlreadyExists", "The requested bucket name is not available: please select another.")
    bucket = original(self, *args, **kwargs)
    bucket.encryption = _own_encryption()
    bucket.ownership_rule = "BucketOwnerEnforced"
    bucket.public_access_block = PublicAccessBlock("true", "true", "true", "true")
    return bucket


@AMENDMENTS.around(S3Backend, "delete_bucket_encryption")
def delete_bucket_encryption(original: Any, self: Any, bucket_name: str) -> None:
    """DeleteBucketEncryption goes back to SSE-S3."""
    original(self, bucket_name)
    self.get_bucket(bucket_name).encryption = _own_encryption()


def _require_usable(algorithm: str | None, key_arn: str | None) -> None:
    """Refuse with KMS' own words where an object's key cannot encrypt or decrypt; the account's own key always can."""
    error = key_error(key_of_arn(key_arn)) if algorithm == "aws:kms" and key_arn and ":key/" in key_arn else None
    if error:
        raise S3ClientError(f"KMS.{error[0]}", error[1])


@AMENDMENTS.around(S3Backend, "get_object")
def get_object(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """An object is decrypted with the key it was encrypted with."""
    found = original(self, *args, **kwargs)
    _require_usable(getattr(found, "encryption", None), getattr(found, "kms_key_id", None))
    return found


@AMENDMENTS.around(S3Backend, "put_object")
def put_object(original: Any, self: Any, bucket_name: str, *args: Any, **kwargs: Any) -> Any:
    """An object is encrypted with the key of the request, else with the bucket's; nobody writes to a stranger's."""
    require_owner(self, bucket_name)
    rule = (self.get_bucket(bucket_name).encryption or {}).get("Rule", {})
    own = rule.get("ApplyServerSideEncryptionByDefault", {})
    _require_usable(
        kwargs.get("encryption") or own.get("SSEAlgorithm"), kwargs.get("kms_key_id") or own.get("KMSMasterKeyID")
    )
    return original(self, bucket_name, *args, **kwargs)


@AMENDMENTS.around(FakeBucket, "get_permission")
def get_permission(original: Any, self: Any, action: str, resource: str) -> Any:
    """What the bucket's policy says without the statements about requests that come without TLS.

    Moto heeds no conditions, so that a policy which refuses those shuts everybody out. In life all clients use TLS, and
    here none does, on loopback.
    """
    if self.policy is None:
        return original(self, action, resource)
    document = json.loads(self.policy)
    document["Statement"] = [each for each in document["Statement"] if not _without_tls(each)]
    return IAMPolicy(json.dumps(document)).is_action_permitted(action, resource)


def _without_tls(statement: dict[str, Any]) -> bool:
    asked = (statement.get("Condition") or {}).get("Bool") or {}
    return str(asked.get("aws:SecureTransport")).lower() == "false"


@AMENDMENTS.around(FakeBucket, "set_lifecycle")
def set_lifecycle(original: Any, self: Any, rules: list[dict[str, Any]]) -> None:
    """Keep NewerNoncurrentVersions of NoncurrentVersionExpiration."""
    original(self, rules)
    for kept, given in zip(self.rules, rules, strict=True):
        expiration = given.get("NoncurrentVersionExpiration") or {}
        kept.newer_noncurrent_versions = expiration.get("NewerNoncurrentVersions")


@AMENDMENTS.around(S3Response, "serialized")
def serialized(original: Any, self: Any, action_result: Any) -> Any:
    """Show it again in GetBucketLifecycleConfiguration, whose reply moto puts together from its other members."""
    result = action_result.result
    if self.data.get("Action") == "GetBucketLifecycleConfiguration" and isinstance(result, dict):
        bucket = self.backend.get_bucket(self.bucket_name)
        for kept, shown in zip(bucket.rules, result["Rules"], strict=True):
            newer = getattr(kept, "newer_noncurrent_versions", None)
            if newer and "NoncurrentVersionExpiration" in shown:
                shown["NoncurrentVersionExpiration"]["NewerNoncurrentVersions"] = int(newer)
    return original(self, action_result)
