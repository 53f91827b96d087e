"""Names of buckets, and addresses of directories in them."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from catalogue.echo import echo
from settings.types import Matching

_BUCKETS_OF_AWS = re.compile(
    r"(xn--|sthree-|amzn-s3-demo-).*|.*(-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)|(\d+\.){3}\d+|.*\.\..*"
)
"""Names that no bucket can have. Source: Amazon S3 user guide, "General purpose bucket naming rules"."""


def _bucket(value: str) -> str:
    if _BUCKETS_OF_AWS.fullmatch(value):
        raise ValueError(f"{echo(value)} is a name reserved by S3, so no such bucket can exist; name the bucket")
    return value


BUCKET = r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"
_KEY = r"[A-Za-z0-9!_.'()+=@,:/-]+"
"""Characters of keys that rights and shells take literally: `*`, `?` and `$` stand for other objects in a policy.

Sources: Amazon S3 user guide, "Naming Amazon S3 objects"; IAM user guide, "IAM JSON policy elements: Resource".
"""
S3_PATTERN = f"s3://{BUCKET}/{_KEY}"


def s3_uri(value: str, forms: str = "s3://BUCKET/PREFIX") -> str:
    """The address of a directory of one bucket, without a slash at its end. Raises ValueError, calling it `forms`."""
    bucket, slash, prefix = value.removeprefix("s3://").partition("/")
    if not value.startswith("s3://") or not bucket or not slash or not prefix.strip("/"):
        raise ValueError(f"{echo(value)} is not {forms}")
    if wild := next((each for each in value if each in "*?$"), None):
        raise ValueError(
            f"{echo(value)} has {wild!r} in it, a wildcard in the IAM policy made from it; name one bucket and one"
            f" directory"
        )
    if not re.fullmatch(BUCKET, bucket):
        raise ValueError(
            f"{echo(value)} names no bucket: {echo(bucket)} is not a valid S3 bucket name; name the bucket"
        )
    _bucket(bucket)
    if not re.fullmatch(_KEY, prefix) or any(step in ("", ".", "..") for step in prefix.rstrip("/").split("/")):
        raise ValueError(
            f"{echo(value)} has no valid directory: write its parts in letters, digits and ! _ - . ' ( ) + = @ , : "
            "and none empty, . or .."
        )
    return value.rstrip("/")


S3Uri = Annotated[str, AfterValidator(s3_uri), Field(json_schema_extra={"pattern": f"^{S3_PATTERN}$"})]
BucketName = Annotated[
    str,
    Matching(BUCKET, "the name of an S3 bucket, without s3://"),
    AfterValidator(_bucket),
]
