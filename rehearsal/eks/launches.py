"""The EC2 side of a managed node group: launching instances as EKS's Auto Scaling group does, and telling old ones."""

import logging
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from rehearsal.eks import instances
from rehearsal.kubelet.world import World

log = logging.getLogger(__name__)

Described = Mapping[str, Any]
Instances = dict[str, dict[str, Any]]
RETRY_SECONDS = 5.0
BATCH = 16
LAUNCHES_PER_ZONE = 2
_NONE_LEFT = frozenset({"InsufficientInstanceCapacity", "MaxSpotInstanceCountExceeded"})


class Launcher:
    """Launches for one node group. `error` is the health issue of the last launch, None if it went well."""

    def __init__(self, world: World, name: str) -> None:
        self._world, self._name = world, name
        self._not_before = 0.0
        self.error: dict[str, Any] | None = None

    @property
    def _tags(self) -> dict[str, str]:
        return {"eks:cluster-name": self._world.cluster, "eks:nodegroup-name": self._name}

    def present(self) -> Instances:
        """The group's live instances by id."""
        found = self._world.aws.instances(self._world.aws.tagged_instances(self._tags))
        return {each["InstanceId"]: each for each in found}

    def launch(self, described: Described, count: int, held: Mapping[str, int]) -> Instances:
        """Up to `count` new instances (at most a batch at a time), where the group holds the fewest.

        `held` counts by subnet the instances that are to stay. What EC2 refuses becomes `error` and is tried again
        after a few seconds.
        """
        made: Instances = {}
        if time.monotonic() < self._not_before:
            return made
        for subnet, share in spread(list(described["subnets"]), min(count, BATCH), held).items():
            try:
                made.update(self._run(described, subnet, share))
                self.error = None
            except ClientError as error:
                self._not_before = time.monotonic() + RETRY_SECONDS
                message = f"Could not launch instances. {error}"
                log.warning("%s: %s", self._name, message)
                self.error = {"code": "AsgInstanceLaunchFailures", "message": message, "resourceIds": [subnet]}
                break
        return made

    def _run(self, described: Described, subnet: str, count: int) -> Instances:
        template = described.get("launchTemplate") or {}
        arguments: dict[str, Any] = {"SubnetId": subnet, "MinCount": 1, "MaxCount": count}
        if template.get("id"):
            arguments["LaunchTemplate"] = {"LaunchTemplateId": template["id"], "Version": str(template["version"])}
        if not template.get("id") or not self._names_groups(template):
            arguments["SecurityGroupIds"] = [described["clusterSecurityGroupId"]]
        if described.get("capacityType") == "SPOT":
            arguments["InstanceMarketOptions"] = {"MarketType": "spot"}
        if described.get("amiType") != "CUSTOM":
            arguments["ImageId"] = image(described)
        else:
            self.image_name(described, self.template_data(str(template["id"]), str(template["version"]))["ImageId"])
        tags = {**self._tags, f"kubernetes.io/cluster/{self._world.cluster}": "owned"}
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        arguments["TagSpecifications"] = [{"ResourceType": "instance", "Tags": listed}]
        reservation = self._first_to_be_had(arguments, list(described.get("instanceTypes") or ()))
        found = self._world.aws.instances(each["InstanceId"] for each in reservation["Instances"])
        return {each["InstanceId"]: each for each in found}

    def _first_to_be_had(self, arguments: dict[str, Any], types: list[str]) -> Any:
        """An instance of the first of the group's types, in their order, of which EC2 has one.

        EKS user guide, "Managed node group capacity types": on demand in the order of the list. On spot it takes the
        pools that are deepest and cheapest, of which nothing is known here: the order stands for that.
        """
        for type_ in types[:-1]:
            try:
                return self._world.aws.ec2.run_instances(**arguments, InstanceType=type_)
            except ClientError as error:
                if error.response["Error"]["Code"] not in _NONE_LEFT:
                    raise
        return self._world.aws.ec2.run_instances(**arguments, **({"InstanceType": types[-1]} if types else {}))

    def image_name(self, described: Described, identity: str) -> str:
        """What an image of somebody's own is called, empty for EKS'. Raises ClientError if there is none of this id."""
        if described.get("amiType") != "CUSTOM":
            return ""
        found = self._world.aws.cached(
            ("image", identity), lambda: self._world.aws.ec2.describe_images(ImageIds=[identity])["Images"]
        )
        return str(found[0]["Name"])

    def _names_groups(self, template: Described) -> bool:
        """EKS adds the cluster security group only to a template that names no security group at all."""
        data = self.template_data(str(template["id"]), str(template["version"]))
        return any(data.get(member) for member in ("SecurityGroupIds", "SecurityGroups", "NetworkInterfaces"))

    def template_data(self, template: str, version: str) -> Described:
        """The launch data of one version of a template."""

        def read() -> Described:
            found = self._world.aws.ec2.describe_launch_template_versions(LaunchTemplateId=template, Versions=[version])
            data: Described = found["LaunchTemplateVersions"][0]["LaunchTemplateData"]
            return data

        data: Described = self._world.aws.cached(("template", template, version), read)
        return data


def spread(subnets: list[str], count: int, held: Mapping[str, int]) -> dict[str, int]:
    """How many instances go into which subnet, so that the group is as even as possible; the first wins a tie. Pure.

    EC2 Auto Scaling user guide, "Auto Scaling benefits for application architecture": launches go to the zone with
    the fewest instances of the group.
    """
    shares = Counter[str]()
    for _ in range(count):
        shares[min(subnets, key=lambda subnet: held.get(subnet, 0) + shares[subnet])] += 1
    return dict(shares)


def leaving(staying: Mapping[str, str], count: int) -> list[str]:
    """Which of the instances, by their subnets and from the oldest on, go when `count` are too many. Pure.

    EC2 Auto Scaling user guide, "Default termination policy": of the zone with the most instances, the oldest first.
    """
    left, gone = dict(staying), list[str]()
    while left and len(gone) < count:
        fullest = Counter(left.values()).most_common(1)[0][0]
        gone.append(next(each for each, subnet in left.items() if subnet == fullest))
        del left[gone[-1]]
    return gone


def surge(described: Described, zones: int) -> int:
    """By how many nodes an update raises the group first: two for each of its zones, or what it may take away at once.

    Source: EKS user guide, "Understand each phase of node updates", scale up phase; with `updateStrategy: MINIMAL` the
    old nodes go first (API reference, NodegroupUpdateConfig).
    """
    return 0 if minimal(described) else max(LAUNCHES_PER_ZONE * zones, at_once(described))


def at_once(described: Described) -> int:
    """How many nodes an update may take away at once (`maxUnavailable` or its percentage, at least one)."""
    config = described.get("updateConfig") or {}
    percentage = config.get("maxUnavailablePercentage")
    if percentage:
        return max(1, int(described["scalingConfig"]["desiredSize"]) * int(percentage) // 100)
    return max(1, int(config.get("maxUnavailable") or 1))


def minimal(described: Described) -> bool:
    """Whether an update takes nodes away before it makes new ones (`updateStrategy: MINIMAL`, for scarce GPUs)."""
    return (described.get("updateConfig") or {}).get("updateStrategy") == "MINIMAL"


def outdated(instance: Described, described: Described) -> bool:
    """Made from another template version or image than the node group names now."""
    made_from, wanted = instances.source_template(instance), described.get("launchTemplate") or {}
    if made_from and wanted.get("version") and made_from[1] != str(wanted["version"]):
        return True
    return described.get("amiType") != "CUSTOM" and instance["ImageId"] != image(described)


def image(described: Described) -> str:
    """The image EKS launches for the node group's AMI type and release."""
    return instances.image_id(str(described.get("amiType")), str(described.get("releaseVersion")))
