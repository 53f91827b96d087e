"""A stack that ends by itself, rehearsed past its end: the keeper runs on its schedule, with the clock set forward.

What is left is counted through AWS' own APIs, not by what made or removed it: everything that is billed by the hour in
the region, whatever its tags, and everything that is meant to last.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import jmespath
from botocore.exceptions import ClientError

from rehearsal.cloud.schedules import Call, Schedules
from rehearsal.keys import Account
from rehearsal.particulars import region
from rehearsed import preset
from rehearsed.inbox import Inbox

STEP = timedelta(minutes=10)
ROUNDS, PAUSE_SECONDS = 240, 1.0
"""Looks after the end, and what passes here between two of them: the slowest thing has gone long before the last."""
_ALIVE = [{"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped", "shutting-down"]}]
_GATEWAYS = [{"Name": "state", "Values": ["pending", "available", "deleting"]}]
_HELD = [{"Name": "state", "Values": ["pending", "active"]}]
BILLED: Mapping[str, tuple[str, str, dict[str, Any], str]] = {
    "cluster": ("eks", "list_clusters", {}, "clusters"),
    "instance": ("ec2", "describe_instances", {"Filters": _ALIVE}, "Reservations[].Instances[].InstanceId"),
    "capacity reservation": (
        *("ec2", "describe_capacity_reservations", {"Filters": _HELD}),
        "CapacityReservations[?ReservationType!='capacity-block'].CapacityReservationId",
    ),
    "volume": ("ec2", "describe_volumes", {}, "Volumes[].VolumeId"),
    "NAT gateway": ("ec2", "describe_nat_gateways", {"Filter": _GATEWAYS}, "NatGateways[].NatGatewayId"),
    "address": ("ec2", "describe_addresses", {}, "Addresses[].AllocationId"),
    "endpoint": ("ec2", "describe_vpc_endpoints", {}, "VpcEndpoints[?VpcEndpointType!='Gateway'].VpcEndpointId"),
    "home file system": ("efs", "describe_file_systems", {}, "FileSystems[].FileSystemId"),
    "file system": ("fsx", "describe_file_systems", {}, "FileSystems[].FileSystemId"),
    "load balancer": ("elbv2", "describe_load_balancers", {}, "LoadBalancers[].LoadBalancerArn"),
    "classic load balancer": (
        *("elb", "describe_load_balancers", {}),
        "LoadBalancerDescriptions[].LoadBalancerName",
    ),
}
"""What a region bills by the hour: the call that lists it, and where the ids stand in the answer (price pages of EKS,
EC2, VPC, EFS, FSx and Elastic Load Balancing). Gateway endpoints are free, and a capacity block is paid in advance.
"""
LASTING: Mapping[str, tuple[str, str, dict[str, Any], str]] = {
    "bucket": ("s3", "list_buckets", {}, "Buckets[].Name"),
    "key": ("kms", "list_keys", {}, "Keys[].KeyId"),
    "log group": ("logs", "describe_log_groups", {}, "logGroups[].logGroupName"),
    "network": ("ec2", "describe_vpcs", {}, "Vpcs[].VpcId"),
}
"""What holds data or stands until the stack is destroyed, likewise."""

Things = frozenset[tuple[str, str]]
"""Kinds and ids."""


@dataclass(frozen=True)
class Region:
    """One region of the rehearsed account, as any client of AWS sees it."""

    account: Account
    name: str

    def client(self, service: str) -> Any:
        return self.account.client(service, self.name)

    def billed(self) -> Things:
        """Everything that costs by the hour."""
        return frozenset(self._list(BILLED))

    def lasting(self) -> Things:
        """Everything that is meant to last, objects in buckets among it."""
        found = set(self._list(LASTING))
        s3 = self.client("s3")
        for _, bucket in [each for each in found if each[0] == "bucket"]:
            try:
                pages = list(s3.get_paginator("list_objects_v2").paginate(Bucket=bucket))
            except ClientError:  # a stranger's
                continue
            found |= {("object", f"{bucket}/{each['Key']}") for page in pages for each in page.get("Contents", ())}
        return frozenset(found)

    def _list(self, table: Mapping[str, tuple[str, str, dict[str, Any], str]]) -> Iterator[tuple[str, str]]:
        for kind, (service, operation, request, path) in table.items():
            client = self.client(service)
            pages = client.get_paginator(operation).paginate(**request) if client.can_paginate(operation) else None
            for page in pages or [getattr(client, operation)(**request)]:
                yield from ((kind, str(id)) for id in jmespath.search(path, page) or ())


def outlive(text: str, account: Account, say: Callable[[str], None]) -> list[str]:
    """Let the clock of the account pass the end of the stack whose file holds `text`, if it has one.

    Returns what is not as it should be then, in sentences.
    """
    keeper = preset.parsed(preset.whole(text))["config"].get("gpucluster:keeper")
    if keeper is None:
        return []
    places = [Region(account, name) for name in _regions(account, text)]
    found = [(place, task) for place in places if (task := _task(place)) is not None]
    if not found:
        return ["the stack file has a keeper, and no schedule of the account calls one"]
    place, task = found[0]
    clock = Schedules(account, place.name, datetime.now(UTC))
    strangers, inbox = Strangers(place, task), Inbox(account, place.name, task["topic"])
    try:
        wrong = list(_outlive(place, clock, task, strangers, inbox, say))
        return [*wrong, *_unheard(keeper, inbox)]
    finally:
        clock.close()
        strangers.leave()
        inbox.leave()


def _unheard(keeper: Mapping[str, Any], inbox: Inbox) -> Iterator[str]:
    """A sentence about the addresses of the stack file that nothing is sent to."""
    if missing := sorted({*keeper.get("emails", ())} - {*inbox.emails}):
        yield f"nothing is sent to {', '.join(missing)}, whom keeper.emails names"


def _regions(account: Account, text: str) -> list[str]:
    """Where a cluster is, and what the stack file names: a preset may have a region of its own, which no file shows."""
    told = account.ask("GET", "clusters", timeout=30.0).json()
    return sorted({region(text), *(each["region"] for each in told)})


def _task(place: Region) -> dict[str, Any] | None:
    """What the keeper that is called was told; None where nothing calls one."""
    for each in place.client("scheduler").list_schedules()["Schedules"]:
        name = each["Target"]["Arn"].rpartition(":")[2]
        told = place.client("lambda").get_function_configuration(FunctionName=name)["Environment"]["Variables"]
        if "KEEPER" in told:
            found: dict[str, Any] = json.loads(told["KEEPER"])
            return found
    return None


class Strangers:
    """Volumes beside the stack that its end must not touch: a neighbour's, and one of its own that is protected."""

    def __init__(self, place: Region, task: Mapping[str, Any]) -> None:
        self._ec2 = place.client("ec2")
        mine = {"gpucluster:project": task["project"], "gpucluster:stack": task["stack"], "expiry": "2000-01-01"}
        beside = ({**mine, "gpucluster:stack": "neighbour"}, {**mine, "gpucluster:protect": "true"})
        self.ids = frozenset(("volume", self._make(place.name, tags)) for tags in beside)

    def _make(self, name: str, tags: Mapping[str, str]) -> str:
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        made = self._ec2.create_volume(
            AvailabilityZone=f"{name}a",
            Size=1,
            VolumeType="gp3",
            TagSpecifications=[{"ResourceType": "volume", "Tags": listed}],
        )
        return str(made["VolumeId"])

    def leave(self) -> None:
        """Take them away; one that the end took with it is none the less reported."""
        for _, id in self.ids:
            try:
                self._ec2.delete_volume(VolumeId=id)
            except ClientError as error:
                if error.response["Error"]["Code"] != "InvalidVolume.NotFound":
                    raise


def _outlive(
    place: Region,
    clock: Schedules,
    task: Mapping[str, Any],
    strangers: Strangers,
    inbox: Inbox,
    say: Callable[[str], None],
) -> Iterator[str]:
    before, lasting = place.billed(), place.lasting()
    told = _answer(clock.run(clock.now + STEP))
    first = told.get("phase", "fails")
    if told.get("ends") is None:
        yield from () if told else ("the keeper's first look failed; its words are in the log",)
        return
    ends = datetime.fromisoformat(told["ends"])
    say(f"the account's clock is moved to the end of the stack: {told['ends']}")
    clock.now = max(clock.now, ends - timedelta(hours=task["warn_hours"]) - 2 * STEP)
    rest = clock.run(ends - timedelta(seconds=1))
    phases = [first, *(_answer([each]).get("phase", "fails") for each in rest)]
    if phases.count("warns") != 1 or set(phases) != {"runs", "warns"}:
        yield f"before its end the keeper has to warn once and do nothing else, and it says: {', '.join(phases)}"
    warned = f"{task['stack']} ends soon"
    if inbox.subjects.count(warned) != 1:
        yield f"the topic should have got {warned!r} once before the end, and it got {inbox.subjects}"
    if place.billed() != before:
        yield f"before its end the keeper takes {_named(before - place.billed())}"
    told_to = ", ".join(inbox.emails) or "nobody: keeper.emails names no address"
    say(f"  {len(phases)} looks before it: {len(before)} things that cost by the hour stand; warned by mail: {told_to}")
    looks = 0
    while looks < ROUNDS:
        told, looks = _answer(clock.run(clock.now + STEP, between=lambda: time.sleep(PAUSE_SECONDS))), looks + 1
        if told.get("phase") == "ends" and not told["left"]:
            break
    after = place.billed() - strangers.ids
    if not after and inbox.subjects[-1:] != [f"{task['stack']} has ended"]:
        yield f"the topic should have got that the stack has ended, and it got {inbox.subjects}"
    say(f"  {looks} looks after it: {len(before - strangers.ids - after)} of them have gone")
    if after:
        yield f"after its end and {looks} looks it goes on costing by the hour: {_named(after)}"
    if gone := (lasting | strangers.ids) - place.lasting() - place.billed():
        yield f"its end takes what was meant to last: {_named(gone)}"


def _answer(calls: Sequence[Call]) -> dict[str, Any]:
    """What the last call said; nothing if it failed."""
    return (calls[-1].answer or {}) if calls else {}


def _named(things: Things) -> str:
    return ", ".join(f"{kind} {id}" for kind, id in sorted(things))
