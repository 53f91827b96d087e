"""How each service tags what it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .row import Object, Tags
from .shapes import pairs


def ec2(kind: str, resource: str = "{id}") -> Tags:
    """EC2 objects of a ResourceType; ``resource`` is the template of the id that CreateTags wants."""

    def write(obj: Object, added: Mapping[str, str], removed: list[str]) -> None:
        target = [obj.fill(resource)]
        if removed:
            obj.call("delete_tags", Resources=target, Tags=[{"Key": key} for key in removed])
        if added:
            obj.call("create_tags", Resources=target, Tags=_list(added))

    return Tags(write, ec2_type=kind)


def by_arn(arn: str = "{arn}", read: Callable[[Object], Mapping[str, str]] | None = None) -> Tags:
    """EKS and CloudWatch Logs: TagResource with a map and the object's ARN."""

    def write(obj: Object, added: Mapping[str, str], removed: list[str]) -> None:
        target = obj.fill(arn)
        if removed:
            obj.call("untag_resource", resourceArn=target, tagKeys=removed)
        if added:
            obj.call("tag_resource", resourceArn=target, tags=dict(added))

    return Tags(write, read)


def lists(
    target: Mapping[str, str], tag: str, untag: str, read: Callable[[Object], Mapping[str, str]] | None = None
) -> Tags:
    """FSx and IAM: a list of Key and Value to add, a list of keys to remove."""

    def write(obj: Object, added: Mapping[str, str], removed: list[str]) -> None:
        named = {member: obj.fill(template) for member, template in target.items()}
        if removed:
            obj.call(untag, **named, TagKeys=removed)
        if added:
            obj.call(tag, **named, Tags=_list(added))

    return Tags(write, read)


def _write_kms(obj: Object, added: Mapping[str, str], removed: list[str]) -> None:
    if removed:
        obj.call("untag_resource", KeyId=obj.id, TagKeys=removed)
    if added:
        tags = [{"TagKey": key, "TagValue": value} for key, value in sorted(added.items())]
        obj.call("tag_resource", KeyId=obj.id, Tags=tags)


def _read_kms(obj: Object) -> Mapping[str, str]:
    return pairs(obj.call("list_resource_tags", KeyId=obj.id)["Tags"])


KMS = Tags(_write_kms, _read_kms)


def _write_s3(obj: Object, added: Mapping[str, str], removed: list[str]) -> None:
    tags = {key: value for key, value in {**_read_s3(obj), **added}.items() if key not in removed}
    if tags:
        obj.call("put_bucket_tagging", Bucket=obj.id, Tagging={"TagSet": _list(tags)})
    else:
        obj.call("delete_bucket_tagging", Bucket=obj.id)


def _read_s3(obj: Object) -> Mapping[str, str]:
    if obj.missing("get_bucket_tagging", Bucket=obj.id):
        return {}
    return pairs(obj.call("get_bucket_tagging", Bucket=obj.id)["TagSet"])


S3 = Tags(_write_s3, _read_s3)


def _list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]
