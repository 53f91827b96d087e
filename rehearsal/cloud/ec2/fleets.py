"""CreateFleet of type instant: instances at once, of the first offer that can be had, and what the others were refused
for. Moto makes one instance of each override, and knows no refusal.

Sources: EC2 API reference, CreateFleet, CreateFleetInstance and CreateFleetError; EC2 user guide, "Configure an EC2
Fleet of type instant". Which of several offers EC2 takes follows from prices and from what it has: here the smallest
machine comes first, and among equals the order of the request.
"""

from collections.abc import Iterator
from typing import Any

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.responses import EC2Response
from moto.ec2.utils import random_fleet_id

from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2 import launch
from rehearsal.cloud.ec2.capacity import room

AMENDMENTS = Amendments()
_OF_LAUNCHES = ("InstanceType", "SubnetId", "ImageId", "BlockDeviceMappings", "Placement")
"""Members of an override that are a launch's as well."""


@AMENDMENTS.around(EC2Response, "create_fleet")
def create_fleet(original: Any, self: Any) -> Any:
    """An instant fleet starts what it is asked for, of one offer, or less."""
    request = launch.plain(self.params)
    if request.get("Type") != "instant":
        return original(self)
    self.error_on_dryrun()
    market = str(request["TargetCapacitySpecification"].get("DefaultTargetCapacityType") or "on-demand")
    count = int(request["TargetCapacitySpecification"]["TotalTargetCapacity"])
    made: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    for said in sorted(_offers(request), key=_size):
        try:
            started = _started(self, request, said, market, count - sum(len(each["InstanceIds"]) for each in made))
        except ServiceException as error:
            errors.append({**_told(said, market), "ErrorCode": error.code, "ErrorMessage": error.message})
            continue
        made.append({**_told(said, market), "InstanceIds": started, "InstanceType": said["Overrides"]["InstanceType"]})
        if sum(len(each["InstanceIds"]) for each in made) >= count:
            break
    return ActionResult({"FleetId": random_fleet_id(), "Instances": made, "Errors": errors})


def _offers(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each template with each of its overrides."""
    for config in request["LaunchTemplateConfigs"]:
        for override in config.get("Overrides") or [{}]:
            yield {"LaunchTemplateSpecification": config["LaunchTemplateSpecification"], "Overrides": override}


def _size(said: dict[str, Any]) -> int:
    facts = INSTANCE_TYPES.get(said["Overrides"].get("InstanceType", ""), {})
    return int(facts.get("VCpuInfo", {}).get("DefaultVCpus", 0))


def _started(self: Any, request: dict[str, Any], said: dict[str, Any], market: str, count: int) -> list[str]:
    override = {key: value for key, value in said["Overrides"].items() if key in _OF_LAUNCHES}
    asked = {
        "LaunchTemplate": said["LaunchTemplateSpecification"],
        "MinCount": 1,
        "MaxCount": count,
        "TagSpecifications": request.get("TagSpecifications", []),
        **override,
        **({"InstanceMarketOptions": {"MarketType": "spot"}} if market == "spot" else {}),
    }
    spec = launch.specified(self.ec2_backend, self.region, asked)
    found = room(self.ec2_backend, self.region, spec.data, 1, count)
    return [each.id for each in launch.launch(self.ec2_backend, self.region, spec, found).instances]


def _told(said: dict[str, Any], market: str) -> dict[str, Any]:
    return {"LaunchTemplateAndOverrides": said, "Lifecycle": market}
