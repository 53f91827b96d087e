"""Gives an account what it holds before the stack."""

from collections.abc import Iterable, Mapping
from typing import Any

from botocore.exceptions import ClientError

from rehearsal.images.objects import SIZE
from rehearsal.particulars import Stored

ACCOUNT = "x-moto-account-id"


def sow(s3: Any, objects: Iterable[Stored], region: str, owners: Mapping[str, str] | None = None) -> list[str]:
    """Make the buckets and objects that are missing; returns the addresses of the objects made.

    `owners` are the accounts of buckets that are there and not the caller's: what lies in them is their own.
    """
    made = []
    for each in objects:
        _as(s3, (owners or {}).get(each.bucket))
        _bucket(s3, each.bucket, region)
        if not _exists(s3, each):
            told = {} if each.size is None else {"Metadata": {SIZE: str(each.size)}}
            s3.put_object(Bucket=each.bucket, Key=each.key, Body=each.body, **told)
            made.append(f"s3://{each.bucket}/{each.key}")
    _as(s3, None)
    return made


def _as(s3: Any, account: str | None) -> None:
    """Make the client's next calls those of another account, as the stand-in takes them; None is the client's own."""
    s3.meta.events.unregister("before-sign.s3", unique_id="account")
    if account is None:
        return

    def signed(request: Any, **_: Any) -> None:
        request.headers[ACCOUNT] = account

    s3.meta.events.register_last("before-sign.s3", signed, unique_id="account")


def _bucket(s3: Any, name: str, region: str) -> None:
    where = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    try:
        s3.head_bucket(Bucket=name)
    except ClientError:
        s3.create_bucket(Bucket=name, **where)


def _exists(s3: Any, stored: Stored) -> bool:
    try:
        s3.head_object(Bucket=stored.bucket, Key=stored.key)
    except ClientError:
        return False
    return True
