"""Whether packets pass in a VPC: security groups and routes, as EC2 describes them.

Source: EC2 user guide, "Security group rules" (stateful, allow only, a rule's peer is an address range, a prefix list
or a group) and "Route tables" (a subnet without an own association uses the VPC's main table).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Rule = Mapping[str, Any]
PRIVATE = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")))
"""Ranges that the Internet does not carry (RFC 1918, RFC 6598): an address of them is in somebody's own network."""


@dataclass(frozen=True)
class End:
    """One end of a conversation: its security groups (ids) and private addresses."""

    groups: tuple[str, ...]
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class Groups:
    """Security groups by id, as DescribeSecurityGroups gives them."""

    by_id: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, described: Iterable[Mapping[str, Any]]) -> Groups:
        return cls({group["GroupId"]: group for group in described})

    def passes(self, source: End, target: End, protocol: str, port: int) -> bool:
        """Whether `source` may open a connection to `target`: out of its groups and into the target's."""
        return self.leaves(source, target, protocol, port) and self.enters(source, target, protocol, port)

    def leaves(self, source: End, target: End, protocol: str, port: int) -> bool:
        rules = self._rules(source.groups, "IpPermissionsEgress")
        return any(_matches(rule, target, protocol, port) for rule in rules)

    def enters(self, source: End, target: End, protocol: str, port: int) -> bool:
        rules = self._rules(target.groups, "IpPermissions")
        return any(_matches(rule, source, protocol, port) for rule in rules)

    def carries_efa(self, end: End) -> bool:
        """Whether one of its groups lets everything in from, and out to, the group itself: EFA goes by such rules only.

        Source: EC2 user guide, "Get started with EFA", step 1. Rules for addresses do not count.
        """
        return any(
            all(self._all_of_itself(group, direction) for direction in ("IpPermissions", "IpPermissionsEgress"))
            for group in end.groups
        )

    def _all_of_itself(self, group: str, direction: str) -> bool:
        return any(
            rule["IpProtocol"] == "-1"
            and any(pair.get("GroupId") == group for pair in rule.get("UserIdGroupPairs", []))
            for rule in self._rules([group], direction)
        )

    def _rules(self, groups: Sequence[str], direction: str) -> list[Rule]:
        return [rule for group in groups if group in self.by_id for rule in self.by_id[group].get(direction, [])]


def _matches(rule: Rule, peer: End, protocol: str, port: int) -> bool:
    if rule["IpProtocol"] not in ("-1", protocol):
        return False
    if rule["IpProtocol"] != "-1":
        first, last = rule.get("FromPort", -1), rule.get("ToPort", -1)
        if first != -1 and not first <= port <= last:
            return False
    if any(pair.get("GroupId") in peer.groups for pair in rule.get("UserIdGroupPairs", [])):
        return True
    ranges = [ipaddress.ip_network(each["CidrIp"], strict=False) for each in rule.get("IpRanges", [])]
    return any(ipaddress.ip_address(address) in block for address in peer.addresses for block in ranges)


@dataclass(frozen=True)
class Routes:
    """Where a subnet's packets go. `tables` as DescribeRouteTables, `endpoints` as DescribeVpcEndpoints."""

    tables: Sequence[Mapping[str, Any]]
    endpoints: Sequence[Mapping[str, Any]] = ()

    def table(self, subnet: str, vpc: str) -> Mapping[str, Any] | None:
        """The route table a subnet uses."""
        of_vpc = [table for table in self.tables if table["VpcId"] == vpc]
        for table in of_vpc:
            if any(link.get("SubnetId") == subnet for link in table.get("Associations", [])):
                return table
        return next((t for t in of_vpc if any(link.get("Main") for link in t.get("Associations", []))), None)

    def way_out(self, subnet: str, vpc: str, public_address: bool) -> bool:
        """Whether the subnet reaches the internet: a live default route to a NAT gateway, or to an internet gateway
        for an interface that has a public address.
        """
        table = self.table(subnet, vpc)
        for route in (table or {}).get("Routes", []):
            if route.get("DestinationCidrBlock") != "0.0.0.0/0" or route.get("State") == "blackhole":
                continue
            if route.get("NatGatewayId") or route.get("TransitGatewayId") or route.get("NetworkInterfaceId"):
                return True
            if str(route.get("GatewayId", "")).startswith("igw-") and public_address:
                return True
        return False

    def services_inside(self, vpc: str, subnet: str, node: End, groups: Groups) -> set[str]:
        """Short names ("ecr.api") of the AWS services that a node reaches by an endpoint of its VPC.

        An interface endpoint answers to the service's own name where private DNS is on, and whom its groups let in on
        443; a gateway endpoint the subnets whose route table it is in.
        Source: PrivateLink guide, "Access an AWS service using an interface VPC endpoint" and "Gateway endpoints".
        """
        live = [e for e in self.endpoints if e["VpcId"] == vpc and e.get("State", "available").lower() == "available"]
        table = (self.table(subnet, vpc) or {}).get("RouteTableId")
        return {
            str(endpoint["ServiceName"]).split(".", 3)[-1]
            for endpoint in live
            if (
                _answers(endpoint, node, groups)
                if endpoint["VpcEndpointType"] == "Interface"
                else table in endpoint.get("RouteTableIds", ())
            )
        }


def _answers(endpoint: Mapping[str, Any], node: End, groups: Groups) -> bool:
    own = End(tuple(each["GroupId"] for each in endpoint.get("Groups", ())), ())
    return bool(endpoint.get("PrivateDnsEnabled")) and groups.enters(node, own, "tcp", 443)
