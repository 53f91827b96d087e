"""What a rehearsal counts after a stack's end as costing by the hour: each kind, in each state that is billed."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from rehearsed.ending import BILLED, Region
from tests.sweep.everything import account, ec2, instance
from tests.sweep.inventory import Inventory

HOME = {
    "FileSystemId": "fs-home",
    "OwnerId": "123456789012",
    "CreationToken": "a",
    "PerformanceMode": "generalPurpose",
    "LifeCycleState": "available",
    "NumberOfMountTargets": 2,
    "SizeInBytes": {"Value": 1},
    "Tags": [],
    "CreationTime": datetime(2026, 11, 1, tzinfo=UTC),
}


class Client:
    """boto3's client of one service, as far as a count needs it: requests and answers are held against its model."""

    def __init__(self, there: Inventory, service: str) -> None:
        self._there, self._service = there, service

    def can_paginate(self, operation: str) -> bool:
        try:
            next(self._there.pages(self._service, operation), None)
        except ValueError:
            return False
        return True

    def get_paginator(self, operation: str) -> Any:
        there, service = self._there, self._service

        class Pages:
            def paginate(self, **request: Any) -> Iterator[Mapping[str, Any]]:
                return there.pages(service, operation, **request)

        return Pages()

    def __getattr__(self, operation: str) -> Any:
        return lambda **request: self._there.call(self._service, operation, **request)


class Keys:
    """The rehearsed account's credentials."""

    def __init__(self, there: Inventory) -> None:
        self._there = there

    def client(self, service: str, region: str) -> Client:
        assert region == self._there.region
        return Client(self._there, service)


def billed(there: Inventory) -> dict[str, set[str]]:
    keys: Any = Keys(there)
    found: dict[str, set[str]] = {}
    for kind, name in Region(keys, "us-east-2").billed():
        found.setdefault(kind, set()).add(name)
    return found


def test_everything_that_is_billed_by_the_hour_is_counted_whosever_it_is() -> None:
    there = account()
    there.things["efs describe_file_systems"] = [HOME]
    found = billed(there)
    assert {*found} == {*BILLED}
    ids = {
        kind: {each[key] for each in there.things[f"{service} {operation}"]}
        for kind, (service, operation, key) in {
            "cluster": ("eks", "list_clusters", "name"),
            "volume": ("ec2", "describe_volumes", "VolumeId"),
            "address": ("ec2", "describe_addresses", "AllocationId"),
            "home file system": ("efs", "describe_file_systems", "FileSystemId"),
            "file system": ("fsx", "describe_file_systems", "FileSystemId"),
            "load balancer": ("elbv2", "describe_load_balancers", "LoadBalancerArn"),
            "classic load balancer": ("elb", "describe_load_balancers", "LoadBalancerName"),
        }.items()
    }
    assert {kind: found[kind] for kind in ids} == ids
    assert found["endpoint"] == {
        each["VpcEndpointId"]
        for each in there.things["ec2 describe_vpc_endpoints"]
        if each["VpcEndpointType"] != "Gateway"
    }


def test_what_ended_or_was_paid_in_advance_is_not_counted() -> None:
    """Of instances those that are off are: their volumes stand, and they may be started."""
    states = ("pending", "running", "stopping", "stopped", "shutting-down", "terminated")
    held = ("pending", "active", "expired", "cancelled", "failed")
    gateways = ("pending", "available", "deleting", "deleted", "failed")
    there = Inventory()
    there.things |= {
        "ec2 describe_instances": [instance(f"i-{each}", each, "g6.xlarge", None) for each in states],
        "ec2 describe_capacity_reservations": [
            *(ec2("CapacityReservationId", f"cr-{each}", each, None, ReservationType="default") for each in held),
            ec2("CapacityReservationId", "cr-block", "active", None, ReservationType="capacity-block"),
        ],
        "ec2 describe_nat_gateways": [ec2("NatGatewayId", f"nat-{each}", each, None) for each in gateways],
    }
    assert billed(there) == {
        "instance": {f"i-{each}" for each in states[:5]},
        "capacity reservation": {"cr-pending", "cr-active"},
        "NAT gateway": {"nat-pending", "nat-available", "nat-deleting"},
    }
