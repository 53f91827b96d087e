"""Flow logs of a network. Source: terraform-provider-aws internal/service/ec2/vpc_flow_log.go."""

from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.account import CallError
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Row, words
from rehearsal.plugins.aws.tagging import ec2

RESOURCES = {"vpcId": ("VPC", "vpc-"), "subnetId": ("Subnet", "subnet-"), "eniId": ("NetworkInterface", "eni-")}
"""Input: (ResourceType, how such ids begin)."""


def _prepare(inputs: dict[str, Any]) -> dict[str, Any]:
    """The API takes ids of one type, and the group's ARN without its streams."""
    made = {key: value for key, value in inputs.items() if key not in RESOURCES}
    for name, (kind, _) in RESOURCES.items():
        if value := inputs.get(name):
            made |= {"resourceType": kind, "resourceIds": [value]}
    if destination := inputs.get("logDestination"):
        made["logDestination"] = str(destination).removesuffix(":*")
    return made


def _look(_: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    of = str(found.get("ResourceId", ""))
    return {name: of for name, (_, begin) in RESOURCES.items() if of.startswith(begin)}


def _delete(obj: Object) -> None:
    """The call succeeds even where it deletes nothing, and says so in the reply."""
    for failed in obj.call("delete_flow_logs", FlowLogIds=[obj.id]).get("Unsuccessful") or ():
        error = failed.get("Error") or {}
        raise CallError("DeleteFlowLogs", error.get("Code", ""), error.get("Message", ""))


ROWS: dict[str, Row] = {
    "aws:ec2/flowLog:FlowLog": Row(
        create="create_flow_logs -> {FlowLogId: FlowLogIds[0]}",
        read="describe_flow_logs -> FlowLogs[0]",
        delete=_delete,
        id="{FlowLogId}",
        names={"iamRoleArn": "DeliverLogsPermissionArn"},
        defaults={"logDestinationType": "cloud-watch-logs", "maxAggregationInterval": 600},
        prepare=_prepare,
        force_new=("*",),
        computed=words("logDestination logFormat"),
        look=_look,
        unready=("InvalidParameter.*Unable to assume given IAM role",),
        tags=ec2("vpc-flow-log"),
    ),
}
