"""CloudWatch log groups. Source: terraform-provider-aws internal/service/logs/group.go."""

from typing import Any

from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Autoname, Change, Row, words
from rehearsal.plugins.aws.tagging import calls

ARN = "arn:{partition}:logs:{region}:{account}:log-group:{name}"


def _read(obj: Object) -> Any:
    name = obj.fill("{name}")
    groups = obj.list("describe_log_groups -> logGroups", logGroupNamePrefix=name)
    return next((group for group in groups if group["logGroupName"] == name), None)


def _after(obj: Object, change: Change) -> None:
    days = obj.inputs.get("retentionInDays")
    if change.touches("retentionInDays"):
        if days:
            obj.call("put_retention_policy", logGroupName=obj.id, retentionInDays=days)
        elif not change.first:
            obj.call("delete_retention_policy", logGroupName=obj.id)
    if not change.first and change.touches("kmsKeyId"):
        if key := obj.inputs.get("kmsKeyId"):
            obj.call("associate_kms_key", logGroupName=obj.id, kmsKeyId=key)
        else:
            obj.call("disassociate_kms_key", logGroupName=obj.id)


def _delete(obj: Object) -> None:
    if not obj.inputs.get("skipDestroy"):
        obj.call("delete_log_group", logGroupName=obj.id)


ROWS: dict[str, Row] = {
    "aws:cloudwatch/logGroup:LogGroup": Row(
        service="logs",
        create="create_log_group",
        read=_read,
        delete=_delete,
        key={"logGroupName": "{name}"},
        id="{name}",
        arn=ARN,
        names={"name": "logGroupName"},
        autoname=Autoname(limit=512),
        defaults={"skipDestroy": False},
        apart=("retentionInDays",),
        local=("skipDestroy",),
        force_new=words("name namePrefix logGroupClass"),
        computed=words("name logGroupClass"),
        later=("kmsKeyId",),
        after=_after,
        tags=calls({"resourceArn": ARN}, read="list_tags_for_resource -> tags"),
    ),
}
