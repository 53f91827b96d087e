"""What a sweep shows and never removes: buckets and secrets of stacks, which cost by what they hold.

The keeper does not look for them, so this is apart from what it and a sweep remove.
"""

from collections.abc import Iterator

from botocore.exceptions import ClientError

from sweep.things import STACK, Account, Found, owner_of, pairs

BUCKET_STAYS = "it may hold data: empty it and delete it"
SECRET_STAYS = "it may be needed: aws secretsmanager delete-secret"  # noqa: S105 - what to do about one
_UNTAGGED, _HIDDEN = "NoSuchTagSet", ("AccessDenied", "AllAccessDisabled")


def look(account: Account, region: str, hidden: list[str]) -> Iterator[Found]:
    """Those of the region. `hidden` gets the names of buckets whose policy does not let their tags be read.

    Raises botocore's errors.
    """
    yield from _buckets(account, region, hidden)
    yield from _secrets(account)


def _buckets(account: Account, region: str, hidden: list[str]) -> Iterator[Found]:
    for page in account.pages("s3", "list_buckets", BucketRegion=region):
        for each in page.get("Buckets", ()):
            try:
                tags = pairs(account.call("s3", "get_bucket_tagging", Bucket=each["Name"])["TagSet"])
            except ClientError as error:
                code = error.response["Error"]["Code"]
                if code in _HIDDEN:
                    hidden.append(each["Name"])
                elif code not in (_UNTAGGED, "NoSuchBucket"):  # one that went in between
                    raise
                continue
            if owner := owner_of(tags):
                yield Found(kind="bucket", id=each["Name"], owner=owner, state="there", stays=BUCKET_STAYS)


def _secrets(account: Account) -> Iterator[Found]:
    """Those that are not going already, which the list leaves out."""
    for page in account.pages("secretsmanager", "list_secrets", Filters=[{"Key": "tag-key", "Values": [STACK]}]):
        for each in page["SecretList"]:
            if owner := owner_of(pairs(each.get("Tags", []))):
                yield Found(kind="secret", id=each["Name"], owner=owner, state="there", stays=SECRET_STAYS)
