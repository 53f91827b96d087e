"""How long one look of a sweep or a keeper takes over a large account, by AWS' page sizes and rates: a simulation.

Requests go one after another. Each takes LATENCY, and waits for a token of its API's bucket (EC2 developer guide,
"Request throttling": 100 tokens and 20 a second for describe calls with filters or pages). EKS, FSx and Elastic Load
Balancing publish no numbers: theirs is half of EC2's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sweep.found import look

LATENCY = 0.25
"""Seconds of a describe call, from a function in the region; an assumption, on the slow side."""
TOKENS, REFILL = {"ec2": 100.0}, {"ec2": 20.0}
OTHERS_TOKENS, OTHERS_REFILL = 50.0, 10.0
PAGES = {
    "describe_instances": 1000,
    "describe_volumes": 500,
    "describe_security_groups": 1000,
    "describe_network_interfaces": 1000,
    "describe_nat_gateways": 1000,
    "describe_capacity_reservations": 1000,
    "describe_vpc_endpoints": 1000,
    "list_clusters": 100,
    "list_nodegroups": 100,
    "describe_file_systems": 50,
    "describe_load_balancers": 400,
}
"""Items in a page where nobody asks for another number (API references of EC2, EKS, FSx and Elastic Load Balancing)."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """What an account holds. Its GPUs are in nodes of eight."""

    gpus: int = 2048
    clusters: int = 8
    groups: int = 6
    volumes_per_node: int = 3
    balancers: int = 200
    classic: int = 50
    groups_of_balancers: int = 250
    interfaces: int = 500
    systems: int = 16
    homes: int = 8
    held: int = 8
    endpoints: int = 64

    @property
    def nodes(self) -> int:
        """With one for services beside each four of eight GPUs."""
        return self.gpus // 8 * 5 // 4


@dataclass
class Simulated:
    """An account that answers from numbers alone, and counts requests and seconds."""

    size: Size
    seconds: float = 0.0
    requests: Counter[str] = field(default_factory=Counter)
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)

    def pages(self, service: str, operation: str, **request: Any) -> Iterator[Mapping[str, Any]]:
        """Page after page, each a request."""
        items, wrap = self._items(service, operation, request)
        for begin in range(0, max(len(items), 1), PAGES[operation]):
            self._ask(service, operation)
            yield wrap(items[begin : begin + PAGES[operation]])

    def call(self, service: str, operation: str, **request: Any) -> Mapping[str, Any]:
        """One request."""
        self._ask(service, operation)
        tags = {"gpucluster:project": "gpucluster", "gpucluster:stack": "lab", "expiry": "2026-01-01"}
        if operation == "describe_cluster":
            return {"cluster": {"status": "ACTIVE", "tags": {**tags, "gpucluster:stack": request["name"][11:]}}}
        if operation == "describe_nodegroup":
            return {"nodegroup": {"status": "ACTIVE"}}
        if operation == "describe_addresses":
            addresses = [{"AllocationId": f"e-{n}", "Tags": _listed(tags)} for n in range(self.size.clusters * 3)]
            return {"Addresses": addresses}
        name, ids = next(iter(request.items()))  # describe_tags of either kind of load balancers
        key = {"ResourceArns": "ResourceArn", "LoadBalancerNames": "LoadBalancerName"}[name]
        owned = _listed({"elbv2.k8s.aws/cluster": "gpucluster-0"})
        return {"TagDescriptions": [{key: each, "Tags": owned} for each in ids]}

    def _ask(self, service: str, operation: str) -> None:
        api = f"{service}.{operation}"
        most, refill = TOKENS.get(service, OTHERS_TOKENS), REFILL.get(service, OTHERS_REFILL)
        left, since = self._buckets.get(api, (most, 0.0))
        left = min(most, left + (self.seconds - since) * refill)
        if left < 1:
            self.seconds += (1 - left) / refill
            left = 1
        self._buckets[api] = left - 1, self.seconds
        self.seconds += LATENCY
        self.requests[api] += 1

    def _items(self, service: str, operation: str, request: Mapping[str, Any]) -> tuple[list[Any], _Wrap]:
        size, mine = self.size, _listed({"gpucluster:project": "gpucluster", "gpucluster:stack": "0"})
        owned = _listed({"elbv2.k8s.aws/cluster": "gpucluster-0", "cluster.k8s.amazonaws.com/name": "gpucluster-0"})
        if operation == "list_clusters":
            return [f"gpucluster-{n}" for n in range(size.clusters)], lambda page: {"clusters": page}
        if operation == "list_nodegroups":
            return [f"{request['clusterName']}-{n}" for n in range(size.groups)], lambda page: {"nodegroups": page}
        if operation == "describe_instances":
            kind = {"InstanceType": "p5.48xlarge", "State": {"Name": "running"}, "Tags": mine}
            nodes = [{**kind, "InstanceId": f"i-{n}"} for n in range(size.nodes)]
            return nodes, lambda page: {"Reservations": [{"Instances": page}]}
        if operation == "describe_volumes":
            count = size.nodes * size.volumes_per_node
            volumes = [{"VolumeId": f"v-{n}", "Size": 500, "State": "in-use", "Tags": mine} for n in range(count)]
            return volumes, lambda page: {"Volumes": page}
        if operation == "describe_nat_gateways":
            gateways = [
                {"NatGatewayId": f"n-{n}", "State": "available", "Tags": mine} for n in range(size.clusters * 3)
            ]
            return gateways, lambda page: {"NatGateways": page}
        if operation == "describe_vpc_endpoints":
            each: dict[str, Any] = {"State": "available", "VpcEndpointType": "Interface", "NetworkInterfaceIds": ["e"]}
            doors = [{**each, "VpcEndpointId": f"vpce-{n}", "Tags": mine} for n in range(size.endpoints)]
            return doors, lambda page: {"VpcEndpoints": page}
        if operation == "describe_capacity_reservations":
            known: dict[str, Any] = {"InstanceType": "p5.48xlarge", "AvailableInstanceCount": 2, "State": "active"}
            reserved = [{**known, "CapacityReservationId": f"cr-{n}", "Tags": mine} for n in range(size.held)]
            return reserved, lambda page: {"CapacityReservations": page}
        if service == "efs":
            kept: dict[str, Any] = {"LifeCycleState": "available", "SizeInBytes": {"Value": 2**30}, "Tags": mine}
            return [{**kept, "FileSystemId": f"fs-home-{n}"} for n in range(size.homes)], lambda page: {
                "FileSystems": page
            }
        if operation == "describe_file_systems":
            like = {"FileSystemType": "LUSTRE", "StorageCapacity": 1200, "Lifecycle": "AVAILABLE", "Tags": mine}
            return [{**like, "FileSystemId": f"fs-{n}"} for n in range(size.systems)], lambda page: {
                "FileSystems": page
            }
        if operation == "describe_security_groups":
            groups = [{"GroupId": f"sg-{n}", "Tags": owned} for n in range(size.groups_of_balancers)]
            return groups, lambda page: {"SecurityGroups": page}
        if operation == "describe_network_interfaces":
            free = {"Status": "available", "TagSet": owned}
            found = [{**free, "NetworkInterfaceId": f"eni-{n}"} for n in range(size.interfaces)]
            return found, lambda page: {"NetworkInterfaces": page}
        if service == "elb":
            names = [{"LoadBalancerName": f"a{n}"} for n in range(size.classic)]
            return names, lambda page: {"LoadBalancerDescriptions": page}
        arns = [
            {"LoadBalancerArn": f"arn:{n}", "Type": "network", "State": {"Code": "active"}}
            for n in range(size.balancers)
        ]
        return arns, lambda page: {"LoadBalancers": page}


_Wrap = Callable[[list[Any]], Mapping[str, Any]]


def _listed(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def passed(size: Size) -> tuple[Simulated, int]:
    """The account after one look, and how many things were found."""
    account = Simulated(size)
    return account, len(look(account))
