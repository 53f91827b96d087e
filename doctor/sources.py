"""Buckets of weights and datasets: whether they exist, their owner, region and key."""

from collections.abc import Iterable, Mapping
from typing import Any

from doctor.account import AbsentError, Account, ForbiddenError
from doctor.case import Case
from doctor.results import Result, Status, judged
from settings.aws_storage import SourceBucket

_SECTION = "gpucluster:storage.sources"


def buckets(case: Case, account: Account) -> Iterable[Result]:
    """Each source bucket is there, belongs to whom the stack says, and is read with the key that encrypts it."""
    own = account.get("sts", "GetCallerIdentity")["Account"]
    for bucket in case.plan.sources.values():
        yield _examined(case, account, bucket, bucket.owner or own)


def _examined(case: Case, account: Account, bucket: SourceBucket, owner: str) -> Result:
    told = None
    try:
        told = account.get("s3", "HeadBucket", Bucket=bucket.bucket, ExpectedBucketOwner=owner)
        wrong = [*_place(case, told), *_encryption(account, bucket, owner)]
    except AbsentError:
        remedy = f"create it and upload the data, or correct its name in {_SECTION}"
        wrong = [(Status.FAIL, "no such bucket exists, so anybody could create it", remedy)]
    except ForbiddenError:
        wrong = [_foreign(account, bucket, owner)]
    region = (told or {}).get("BucketRegion", case.region)
    sealed = f"encrypted with {bucket.key_arn}" if bucket.key_arn else "readable without a key"
    return judged("source", bucket.bucket, f"account {owner} has it in {region}, {sealed}", wrong)


def _foreign(account: Account, bucket: SourceBucket, owner: str) -> tuple[Status, str, str]:
    """Who is refused with an owner and let in without one has named the wrong owner."""
    try:
        account.get("s3", "HeadBucket", Bucket=bucket.bucket)
    except ForbiddenError:
        sentence = f"it answers 403: account {owner} does not own it, or does not admit you"
        remedy = f"type its owner in {_SECTION}, grant s3:ListBucket in its policy, or name a bucket of your own"
        return Status.FAIL, sentence, remedy
    sentence = f"another account than {owner} owns it, and its owner decides what is read"
    return Status.FAIL, sentence, f"type its owner in {_SECTION} if you trust it, or name a bucket of your own"


def _place(case: Case, told: Mapping[str, Any]) -> Iterable[tuple[Status, str, str]]:
    region = told.get("BucketRegion")
    if region and region != case.region:
        sentence = f"it lies in {region}, so every byte crosses regions at a charge"
        yield Status.WARN, sentence, f"copy it to a bucket in {case.region}"


def _encryption(account: Account, bucket: SourceBucket, owner: str) -> Iterable[tuple[Status, str, str]]:
    """The key of the bucket's default encryption; its objects may have others, which nobody can list."""
    told = account.get("s3", "GetBucketEncryption", Bucket=bucket.bucket, ExpectedBucketOwner=owner)
    rules = told["ServerSideEncryptionConfiguration"]["Rules"]
    by_default: Mapping[str, Any] = rules[0].get("ApplyServerSideEncryptionByDefault", {}) if rules else {}
    key = by_default.get("KMSMasterKeyID") if by_default.get("SSEAlgorithm", "").startswith("aws:kms") else None
    if key and bucket.key_arn is None:
        sentence = f"{key} encrypts it, and the copiers' roles do not hold kms:Decrypt on it"
        yield Status.FAIL, sentence, f"add keyArn: {key} in {_SECTION}, and let the key's own policy allow the account"
    elif key and not _same(key, bucket.key_arn or ""):
        sentence = f"{key} encrypts what is written to it now, and the stack file names {bucket.key_arn}"
        yield Status.WARN, sentence, f"correct keyArn in {_SECTION}, unless its objects are older than the key"
    elif key is None and bucket.key_arn:
        sentence = f"it has no default KMS key, and the stack file names {bucket.key_arn}"
        yield Status.WARN, sentence, f"remove keyArn in {_SECTION}, unless its objects have that key"


def _same(key: str, arn: str) -> bool:
    """Whether the bucket's key, an ARN or an id alone, is the one of the ARN."""
    return key == arn or arn.endswith(f":key/{key}")
