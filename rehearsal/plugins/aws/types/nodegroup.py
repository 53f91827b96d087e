"""EKS managed node groups. Source: terraform-provider-aws internal/service/eks/node_group.go."""

from collections.abc import Mapping
from typing import Any

from rehearsal.awsmodels import input_shape
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import MINUTE, Autoname, Change, Row, Wait, words
from rehearsal.plugins.aws.shapes import to_request
from rehearsal.plugins.aws.tagging import calls
from rehearsal.plugins.aws.updates import HEALTH, run

VERSION = words("launchTemplate releaseVersion version")
CONFIG = words("labels scalingConfig taints updateConfig nodeRepairConfig")


def _after(obj: Object, change: Change) -> None:
    if change.first:
        return
    if change.touches(*VERSION):  # first, as the provider does
        run(obj, "update_nodegroup_version", **obj.keys(), **_version(obj, change))
    if change.touches(*CONFIG):
        run(obj, "update_nodegroup_config", **obj.keys(), **_config(obj, change))


def _version(obj: Object, change: Change) -> dict[str, Any]:
    body: dict[str, Any] = {"force": bool(obj.inputs.get("forceUpdateVersion"))}
    if template := obj.inputs.get("launchTemplate"):
        names = ("id",) if template.get("id") else ("name",)
        body["launchTemplate"] = {name: str(template[name]) for name in (*names, "version") if template.get(name)}
    for name in ("releaseVersion", "version"):
        if change.touches(name) and obj.inputs.get(name):
            body[name] = obj.inputs[name]
    return body


def _config(obj: Object, change: Change) -> dict[str, Any]:
    shape = input_shape("eks", "update_nodegroup_config")
    body: dict[str, Any] = {}
    for name in ("scalingConfig", "updateConfig", "nodeRepairConfig"):
        if change.touches(name) and obj.inputs.get(name):
            body[name] = to_request(shape.members[name], obj.inputs[name], {}, name)
    if change.touches("labels"):
        before, after = change.old.get("labels") or {}, obj.inputs.get("labels") or {}
        body["labels"] = {
            "addOrUpdateLabels": {key: value for key, value in after.items() if before.get(key) != value},
            "removeLabels": sorted(before.keys() - after.keys()),
        }
    if change.touches("taints"):
        before, after = change.old.get("taints") or [], obj.inputs.get("taints") or []
        kept = {(taint["key"], taint["effect"]) for taint in after}
        body["taints"] = {
            "addOrUpdateTaints": [taint for taint in after if taint not in before],
            "removeTaints": [taint for taint in before if (taint["key"], taint["effect"]) not in kept],
        }
    return body


def _look(_: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    resources = found.get("resources") or {}
    groups = [{"name": each["name"]} for each in resources.get("autoScalingGroups") or ()]
    remote = resources.get("remoteAccessSecurityGroup", "")
    return {"resources": [{"autoscalingGroups": groups, "remoteAccessSecurityGroupId": remote}]}


ROWS: dict[str, Row] = {
    "aws:eks/nodeGroup:NodeGroup": Row(
        create="create_nodegroup -> nodegroup",
        read="describe_nodegroup -> nodegroup",
        key={"clusterName": "{clusterName}", "nodegroupName": "{nodeGroupName}"},
        id="{clusterName}:{nodeGroupName}",
        names={
            "nodeGroupName": "nodegroupName",
            "nodeRoleArn": "nodeRole",
            "subnetIds": "subnets",
            "arn": "nodegroupArn",
            "remoteAccess.sourceSecurityGroupIds": "sourceSecurityGroups",
        },
        autoname=Autoname("nodeGroupName", limit=63),
        prefix="nodeGroupNamePrefix",
        local=("forceUpdateVersion",),
        force_new=words(
            "clusterName nodeGroupName nodeGroupNamePrefix nodeRoleArn subnetIds amiType capacityType diskSize "
            "instanceTypes remoteAccess launchTemplate.id launchTemplate.name"
        ),
        computed=words(
            "nodeGroupName amiType capacityType diskSize instanceTypes releaseVersion version updateConfig "
            "nodeRepairConfig launchTemplate.name launchTemplate.id"
        ),
        sets=words("subnetIds taints remoteAccess.sourceSecurityGroupIds"),
        later=(*VERSION, *CONFIG),
        after=_after,
        look=_look,
        wait=Wait(failed=words("CREATE_FAILED DELETE_FAILED DEGRADED"), why=HEALTH),
        lingers=True,
        tags=calls({"resourceArn": "{nodegroupArn}"}),
        timeouts=(60 * MINUTE, 60 * MINUTE, 60 * MINUTE),
    ),
}
