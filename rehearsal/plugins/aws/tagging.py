"""How each service tags what it has."""

from collections.abc import Mapping

from rehearsal.awsmodels import input_shape
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Tags
from rehearsal.plugins.aws.shapes import member, pairs, to_request


def ec2(kind: str, resource: str = "{id}") -> Tags:
    """EC2 objects of a ResourceType; ``resource`` is the template of the id that CreateTags wants."""

    def write(obj: Object, added: Mapping[str, str], removed: list[str]) -> None:
        target = [obj.fill(resource)]
        if removed:
            obj.call("delete_tags", Resources=target, Tags=[{"Key": key} for key in removed])
        if added:
            obj.call("create_tags", Resources=target, Tags=_list(added))

    return Tags(write, ec2_type=kind)


def calls(target: Mapping[str, str], tag: str = "tag_resource", untag: str = "untag_resource", read: str = "") -> Tags:
    """Services with a call to tag and one to untag what ``target`` names: request member -> template.

    ``read`` is ``operation -> JMESPath`` where the description holds no tags.
    """

    def write(obj: Object, added: Mapping[str, str], removed: list[str]) -> None:
        for operation, value in ((untag, removed), (tag, added)):
            if value:
                shape = input_shape(obj.row.service, operation)
                names = ("tags", "tagKeys", "resourceTags", "resourceTagKeys")
                name = next(found for each in names if (found := member(shape, each)))
                obj.call(operation, **named(obj), **{name: to_request(shape.members[name], value, {}, "tags")})

    def named(obj: Object) -> dict[str, str]:
        return {name: obj.fill(template) for name, template in target.items()}

    def told(obj: Object) -> Mapping[str, str]:
        return pairs(obj.search(read, **named(obj)) or {})

    return Tags(write, told if read else None)


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
