"""What the AWS CLI in a container reaches when it says `s3://`: S3 of the account, or the store at another endpoint.

Which one: AWS SDKs and tools reference guide, "Service-specific endpoints" (AWS_ENDPOINT_URL_S3 goes before
AWS_ENDPOINT_URL). What each answers to whom: `rehearsal.images.identity` for S3, `rehearsal.images.stores` for others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from botocore.exceptions import ClientError

from rehearsal.images import identity, stores
from rehearsal.images.awscli import CommandError, allowed
from rehearsal.kubelet.program import Launch

SIZE = "rehearsed-bytes"
"""Metadata of an object whose body stands for one of so many bytes."""


class Objects(Protocol):
    """Buckets as one process may use them. All may raise CommandError with what the CLI prints then."""

    def listed(self, bucket: str, prefix: str) -> list[str]:
        """The keys below a prefix."""

    def read(self, bucket: str, names: Sequence[str], target: str) -> Mapping[str, int]:
        """Sizes of objects, in bytes, if their contents may be had."""

    def put(self, bucket: str, names: Mapping[str, str], body: bytes = b"") -> None:
        """Make objects, by their keys; each value names the file that it comes from. `body` is what is in them."""


def reached(launch: Launch) -> Objects:
    """What the process reaches, as whom its environment and its pod make it. Raises CredentialsError."""
    endpoint = launch.env.get("AWS_ENDPOINT_URL_S3") or launch.env.get("AWS_ENDPOINT_URL")
    if not endpoint:
        return OfAccount(launch, identity.of(launch))
    key = identity.key(launch)
    if key is None:
        identity.of(launch)  # whoever has no credentials at all asks nobody
    return stores.OfSite(launch, endpoint.rstrip("/"), key)


@dataclass(frozen=True)
class OfAccount:
    """S3 of the account, as a role."""

    launch: Launch
    who: identity.Identity

    @property
    def _s3(self) -> Any:
        return self.launch.world.aws.s3

    def listed(self, bucket: str, prefix: str) -> list[str]:
        """The prefix is the request's condition key s3:prefix.

        Source: Service authorization reference, Amazon S3, condition keys of ListBucket.
        """
        try:
            pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
            found = [each["Key"] for page in pages for each in page.get("Contents", [])]
        except ClientError as error:
            raise CommandError(f"fatal error: {error}") from error
        asked = {"s3:prefix": prefix}
        allowed(self.launch, self.who, "ListObjectsV2", "s3:ListBucket", f"arn:aws:s3:::{bucket}", asked)
        return [name for name in found if not name.endswith("/")]

    def read(self, bucket: str, names: Sequence[str], target: str) -> Mapping[str, int]:
        """Copy objects; this needs kms:Decrypt on the key of each, which HEAD and GET name.

        Source: S3 user guide, "Using server-side encryption with AWS KMS keys".
        """
        allowed(self.launch, self.who, "GetObject", "s3:GetObject", f"arn:aws:s3:::{bucket}/{names[0]}")
        keys: dict[str, None] = {}
        sizes = {}
        for name in names:
            try:
                told = self._s3.get_object(Bucket=bucket, Key=name)
            except ClientError as error:
                raise CommandError(f"download failed: s3://{bucket}/{name} to {target} {error}") from error
            if told.get("ServerSideEncryption") == "aws:kms" and ":key/" in (told.get("SSEKMSKeyId") or ""):
                keys[told["SSEKMSKeyId"]] = None
            sizes[name] = int(told["Metadata"].get(SIZE, told["ContentLength"]))
        for key_arn in keys:
            allowed(self.launch, self.who, "GetObject", "kms:Decrypt", key_arn)
        return sizes

    def put(self, bucket: str, names: Mapping[str, str], body: bytes = b"") -> None:
        if key_arn := self._encrypts(bucket):
            allowed(self.launch, self.who, "PutObject", "kms:GenerateDataKey", key_arn)
        for name, file in names.items():
            allowed(self.launch, self.who, "PutObject", "s3:PutObject", f"arn:aws:s3:::{bucket}/{name}")
            try:
                self._s3.put_object(Bucket=bucket, Key=name, Body=body)
            except ClientError as error:
                raise CommandError(f"upload failed: {file} to s3://{bucket}/{name} {error}") from error

    def _encrypts(self, bucket: str) -> str | None:
        """The customer's KMS key that a bucket encrypts with: who puts an object needs kms:GenerateDataKey on it.

        Source: S3 user guide, "Using server-side encryption with AWS KMS keys", permissions.
        """
        try:
            told = self._s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]
        except ClientError as error:
            raise CommandError(f"upload failed: s3://{bucket} {error}") from error
        own = told["Rules"][0]["ApplyServerSideEncryptionByDefault"].get("KMSMasterKeyID") or ""
        return own if ":key/" in own else None
