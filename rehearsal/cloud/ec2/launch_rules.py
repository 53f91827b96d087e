"""What RunInstances refuses.

Sources: EC2 user guide, "Elastic Fabric Adapter for AI/ML and HPC workloads on Amazon EC2" and "Multiple network
interfaces for your Amazon EC2 instances"; API reference, RunInstances and "Error codes". Instance facts (cards, EFA
limits, zones) are those of DescribeInstanceTypes and DescribeInstanceTypeOfferings.
"""

from collections import Counter
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES

from rehearsal.cloud.ec2.errors import refusal
from rehearsal.cloud.ec2.interfaces import require_groups
from rehearsal.cloud.ec2.placement import require_placement_group
from rehearsal.cloud.ec2.use import live_instances

EFA_TYPES = ("efa", "efa-only")


def require_instance_type(name: str, region: str, zone: str) -> dict[str, Any]:
    """The facts of a type that exists and is offered in the zone."""
    facts: dict[str, Any] | None = INSTANCE_TYPES.get(name)
    if facts is None:
        raise refusal("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")
    offered = [
        row["Location"]
        for row in INSTANCE_TYPE_OFFERINGS["availability-zone"].get(region, [])
        if row["InstanceType"] == name
    ]
    if not offered:
        message = f"The requested configuration is currently not supported: {region} offers no {name}."
        raise refusal("Unsupported", message)
    if zone not in offered:
        message = (
            f"Your requested instance type ({name}) is not supported in your requested Availability Zone ({zone}). "
            f"Please retry your request by not specifying an Availability Zone or choosing {', '.join(offered)}."
        )
        raise refusal("Unsupported", message)
    return facts


def check_interfaces(backend: Any, facts: dict[str, Any], interfaces: list[dict[str, Any]], subnet: Any) -> None:
    """Cards, device indexes, EFA limits and groups of the interfaces one instance is to have."""
    name = facts["InstanceType"]
    cards = {card["NetworkCardIndex"]: card for card in facts["NetworkInfo"].get("NetworkCards", [])}
    places = Counter((card_of(interface), device_of(interface)) for interface in interfaces)
    if (0, 0) not in places:
        raise refusal("MissingParameter", "A primary network interface (network card 0, device index 0) is needed")
    for place, count in places.items():
        if count > 1:
            raise refusal(
                "InvalidParameterValue", f"Network card {place[0]}, device index {place[1]} is given {count} times"
            )
    for card, count in Counter(card for card, _ in places).items():
        if card not in cards:
            raise refusal("InvalidParameterValue", f"{name} has no network card with index {card}")
        limit = cards[card]["MaximumNetworkInterfaces"]
        if count > limit:
            message = f"Number of network interfaces on card {card} of {name} exceeds the limit of {limit}"
            raise refusal("NetworkInterfaceLimitExceeded", message)
    efa = [interface for interface in interfaces if kind_of(interface) in EFA_TYPES]
    limit = facts["NetworkInfo"].get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)
    if efa and not facts["NetworkInfo"].get("EfaSupported"):
        raise refusal("InvalidParameterCombination", f"EFA interfaces are not supported on {name}")
    if len(efa) > limit:
        raise refusal("InvalidParameterCombination", f"{len(efa)} EFA interfaces exceed the limit of {limit} on {name}")
    for interface in interfaces:
        _check_interface(backend, cards, interface, subnet, alone=len(interfaces) == 1)


def _check_interface(backend: Any, cards: dict[int, Any], interface: dict[str, Any], subnet: Any, alone: bool) -> None:
    kind, card = kind_of(interface), card_of(interface)
    if kind not in cards[card].get("InterfaceTypes", ["interface"]):
        raise refusal("InvalidParameterCombination", f"Network card {card} takes no interface of type {kind}")
    if kind == "efa-only" and (card, device_of(interface)) == (0, 0):
        raise refusal("InvalidParameterCombination", "An efa-only interface cannot be the primary network interface")
    if interface.get("AssociatePublicIpAddress") and not alone:
        message = "The associatePublicIPAddress parameter cannot be specified when launching with multiple interfaces."
        raise refusal("InvalidParameterCombination", message)
    require_groups(backend, interface.get("Groups") or [], subnet)


def check_placement(backend: Any, facts: dict[str, Any], placement: dict[str, Any], zone: str) -> str:
    """The name of the placement group, if one is asked for and may take the instance; else empty."""
    named = placement.get("GroupName") or placement.get("GroupId")
    if not named:
        return ""
    group = require_placement_group(backend, named)
    supported = facts.get("PlacementGroupInfo", {}).get("SupportedStrategies", ["cluster", "partition", "spread"])
    if group["Strategy"] not in supported:
        message = f"{facts['InstanceType']} is not supported in placement groups of strategy {group['Strategy']}"
        raise refusal("InvalidParameterCombination", message)
    name = str(group["GroupName"])
    zones = {each.placement.zone for each in live_instances(backend) if each.placement.group_name == name}
    if group["Strategy"] == "cluster" and zones - {zone}:
        message = (
            f"Cluster placement group {name} is in {', '.join(sorted(zones))}; an instance in {zone} cannot join it"
        )
        raise refusal("InvalidParameterCombination", message)
    return name


def kind_of(interface: dict[str, Any]) -> str:
    """``interface``, ``efa`` or ``efa-only``."""
    return str(interface.get("InterfaceType") or "interface")


def card_of(interface: dict[str, Any]) -> int:
    """Index of the network card."""
    return int(interface.get("NetworkCardIndex") or 0)


def device_of(interface: dict[str, Any]) -> int:
    """Device index on that card."""
    return int(interface.get("DeviceIndex") or 0)
