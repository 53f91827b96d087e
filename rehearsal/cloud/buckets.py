"""S3 buckets and their owners: a name is one bucket in the whole partition, and another account's answers 403.

Sources: S3 user guide, "Verifying bucket ownership with bucket owner condition" (403 where the owner is another) and
"Bucket policies" (what another account may do, the owner's policy says); API reference, HeadBucket (403 without a body
to whoever has no permission). Which statements a policy has beyond naming this account is not looked at.
"""

import json
from typing import Any

from moto.kms.models import Key, kms_backends
from moto.s3.exceptions import BucketAccessDeniedError
from moto.s3.models import S3Backend, s3_backends
from moto.s3.responses import S3Response

from rehearsal.cloud.account import ACCOUNT, PARTITION
from rehearsal.cloud.amend import Amendments

AMENDMENTS = Amendments()

_OWNER_HEADER = "x-amz-expected-bucket-owner"


def owner_of(name: str) -> str | None:
    """The account that has the bucket of that name; None if nobody has."""
    found: tuple[str, str] | None = s3_backends.bucket_accounts.get(name)
    return found[1] if found else None


def set_bucket(region: str, name: str, order: dict[str, Any]) -> dict[str, Any]:
    """A bucket that somebody had before the stack, made unless it is there.

    ``{"owner": account, "keyArn": its SSE-KMS key, "shared": whether the owner lets this account read}``.
    """
    owner = order.get("owner") or ACCOUNT
    backend = s3_backends[owner][PARTITION]
    if owner_of(name) is None:
        backend.create_bucket(name, region)
    bucket = backend.get_bucket(name) if owner_of(name) == owner else None
    if bucket is None:
        return {"owner": owner_of(name)}
    if owner != ACCOUNT and order.get("shared"):
        bucket.policy = _for_readers(name)
    if key_arn := order.get("keyArn"):
        make_key(key_arn)
        by_default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key_arn}
        bucket.encryption = {"Rule": {"ApplyServerSideEncryptionByDefault": by_default, "BucketKeyEnabled": "true"}}
    return {"owner": owner}


def _for_readers(name: str) -> bytes:
    arn = f"arn:{PARTITION}:s3:::{name}"
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": _root(ACCOUNT)},
        "Action": ["s3:GetObject", "s3:ListBucket"],
        "Resource": [arn, f"{arn}/*"],
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]}).encode()


def make_key(arn: str) -> None:
    """The key of an ARN, whose policy leaves it to the IAM of its own account, and of this one."""
    _, _, _, region, account, name = arn.split(":", 5)
    keys, key_id = kms_backends[account][region].keys, name.removeprefix("key/")
    if key_id in keys:
        return
    statements = [
        {"Effect": "Allow", "Principal": {"AWS": _root(each)}, "Action": "kms:*", "Resource": "*"}
        for each in dict.fromkeys((account, ACCOUNT))
    ]
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    key = Key(policy, "ENCRYPT_DECRYPT", "SYMMETRIC_DEFAULT", "of data that was there before", account, region)
    key.id, key.arn = key_id, arn
    keys[key_id] = key


def _root(account: str) -> str:
    return f"arn:{PARTITION}:iam::{account}:root"


@AMENDMENTS.around(S3Backend, "get_bucket")
def get_bucket(original: Any, self: Any, bucket_name: str) -> Any:
    """AccessDenied for another account's bucket, unless its policy names this one."""
    bucket = original(self, bucket_name)
    if getattr(bucket, "account_id", self.account_id) != self.account_id and not _names(bucket.policy, self.account_id):
        raise BucketAccessDeniedError(bucket=bucket_name)
    return bucket


def _names(policy: Any, account: str) -> bool:
    text = policy.decode() if isinstance(policy, bytes) else str(policy or "")
    return f":{account}:root" in text


def require_owner(backend: Any, name: str) -> None:
    """Refuse what a policy for readers does not open: settings of the bucket, and writing into it."""
    if owner_of(name) not in (None, backend.account_id):
        raise BucketAccessDeniedError(bucket=name)


def _owners_only(original: Any, self: Any, bucket_name: str, *args: Any, **kwargs: Any) -> Any:
    require_owner(self, bucket_name)
    return original(self, bucket_name, *args, **kwargs)


for _operation in ("get_bucket_encryption", "get_bucket_policy", "put_bucket_encryption", "put_bucket_policy"):
    AMENDMENTS.around(S3Backend, _operation)(_owners_only)


@AMENDMENTS.around(S3Response, "head_bucket")
def head_bucket(original: Any, self: Any) -> Any:
    """403 without a body to whoever may not look, and where another owner was expected."""
    wanted, owner = self.headers.get(_OWNER_HEADER), owner_of(self.bucket_name)
    if wanted and owner and wanted != owner:
        return 403, {}, ""
    try:
        return original(self)
    except BucketAccessDeniedError:
        return 403, {}, ""
