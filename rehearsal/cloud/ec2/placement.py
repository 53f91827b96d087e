"""Placement groups, which moto lacks.

Sources: EC2 API reference, CreatePlacementGroup, DescribePlacementGroups, DeletePlacementGroup; EC2 user guide,
"Placement groups for your Amazon EC2 instances".
"""

from typing import Any

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.responses import EC2Response

from rehearsal.cloud.account import ACCOUNT, hex_id
from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.errors import refusal
from rehearsal.cloud.ec2.reservations import reservations
from rehearsal.cloud.ec2.use import forget_tags, live_instances

AMENDMENTS = Amendments()

STRATEGIES = ("cluster", "spread", "partition")
DEFAULT_PARTITIONS = 2
MAX_PARTITIONS = 7


def placement_groups(backend: Any) -> dict[str, dict[str, Any]]:
    """The placement groups of a region by name; kept on moto's backend, so that a reset clears them."""
    groups: dict[str, dict[str, Any]] = backend.__dict__.setdefault("placement_groups", {})
    return groups


def require_placement_group(backend: Any, name: str) -> dict[str, Any]:
    """The group of that name or id, or InvalidPlacementGroup.Unknown."""
    for group in placement_groups(backend).values():
        if name in (group["GroupName"], group["GroupId"]):
            return group
    raise refusal("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")


@AMENDMENTS.operation(EC2Response)
def create_placement_group(self: Any) -> ActionResult:
    """Names are unique in a region; the number of partitions is for the partition strategy."""
    name, strategy = self._get_param("GroupName"), self._get_param("Strategy", "cluster")
    if not name:
        raise refusal("MissingParameter", "The request must contain the parameter groupName")
    if strategy not in STRATEGIES:
        raise refusal("InvalidParameterValue", f"Value ({strategy}) for parameter strategy is invalid.")
    if name in placement_groups(self.ec2_backend):
        raise refusal("InvalidPlacementGroup.Duplicate", f"The Placement Group '{name}' already exists.")
    partitions = self._get_param("PartitionCount")
    if partitions and (strategy != "partition" or not 1 <= int(partitions) <= MAX_PARTITIONS):
        raise refusal("InvalidParameterCombination", f"{partitions} partitions cannot be had with strategy {strategy}")
    group: dict[str, Any] = {
        "GroupName": name,
        "GroupId": hex_id("pg"),
        "Strategy": strategy,
        "State": "available",
        "GroupArn": f"arn:aws:ec2:{self.region}:{ACCOUNT}:placement-group/{name}",
    }
    if strategy == "partition":
        group["PartitionCount"] = int(partitions or DEFAULT_PARTITIONS)
    if strategy == "spread":
        group["SpreadLevel"] = self._get_param("SpreadLevel", "rack")
    placement_groups(self.ec2_backend)[name] = group
    tags = self._parse_tag_specification().get("placement-group", {})
    self.ec2_backend.create_tags([group["GroupId"]], tags)
    return ActionResult({"PlacementGroup": _shown(self.ec2_backend, group)})


@AMENDMENTS.operation(EC2Response)
def describe_placement_groups(self: Any) -> ActionResult:
    """By names, ids and filters; an unknown name or id is an error, an unmatched filter is not."""
    backend = self.ec2_backend
    wanted = self._get_param("GroupNames", []) + self._get_param("GroupIds", [])
    groups = [require_placement_group(backend, name) for name in wanted] or list(placement_groups(backend).values())
    filters = self._filters_from_querystring()
    shown = [_shown(backend, group) for group in groups]
    return ActionResult({"PlacementGroups": [group for group in shown if _matches(group, filters)]})


@AMENDMENTS.operation(EC2Response)
def delete_placement_group(self: Any) -> EmptyResult:
    """InvalidPlacementGroup.InUse while instances run in it, or are held in it."""
    backend = self.ec2_backend
    group = require_placement_group(backend, self._get_param("GroupName"))
    held = any(
        each.get("PlacementGroupArn") == group["GroupArn"] and each["State"] == "active"
        for each in reservations(backend).values()
    )
    if held or any(instance.placement.group_name == group["GroupName"] for instance in live_instances(backend)):
        message = f"The placement group '{group['GroupName']}' is in use and may not be deleted."
        raise refusal("InvalidPlacementGroup.InUse", message)
    del placement_groups(backend)[group["GroupName"]]
    forget_tags(backend, group["GroupId"])
    return EmptyResult()


def _shown(backend: Any, group: dict[str, Any]) -> dict[str, Any]:
    tags = backend.tags.get(group["GroupId"], {})
    return {**group, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}


def _matches(group: dict[str, Any], filters: dict[str, Any]) -> bool:
    members = {"group-name": "GroupName", "strategy": "Strategy", "state": "State", "group-arn": "GroupArn"}
    tags = {tag["Key"]: tag["Value"] for tag in group["Tags"]}
    for name, values in filters.items():
        value = tags.get(name[4:]) if name.startswith("tag:") else group.get(members.get(name, ""))
        if value not in values:
            return False
    return True
