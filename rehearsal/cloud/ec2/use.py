"""Who uses what inside EC2, asked before something is deleted, and the clean removal of network interfaces."""

from typing import Any

NOTICED = "spot-notice"
"""Beside the tags of a live instance that EC2 is going to take, in what the rehearsal's own route tells."""


def interfaces_in(backend: Any, subnet_id: str) -> list[str]:
    """Ids of the network interfaces in a subnet, whoever made them: instances, NAT, EKS, FSx, endpoints."""
    return [interface.id for interface in backend.enis.values() if interface.subnet.id == subnet_id]


def vpc_interfaces(backend: Any, vpc_id: str) -> list[Any]:
    """The network interfaces of a VPC."""
    return [interface for interface in backend.enis.values() if interface.subnet.vpc_id == vpc_id]


def group_users(backend: Any, group_id: str) -> list[str]:
    """What keeps a security group from being deleted: interfaces that carry it, groups whose rules name it."""
    carried = [
        interface.id
        for interface in backend.enis.values()
        if group_id in {group.id for group in interface.group_set if group}
    ]
    return carried + [
        group.id
        for groups in backend.groups.values()
        for group in groups.values()
        if group.id != group_id
        and any(
            (rule.source_group or {}).get("GroupId") == group_id for rule in group.ingress_rules + group.egress_rules
        )
    ]


def live_instances(backend: Any) -> list[Any]:
    """Instances that are not terminated."""
    return [
        instance
        for reservation in backend.reservations.values()
        for instance in reservation.instances
        if instance.state != "terminated"
    ]


def tags_of_live(backend: Any) -> dict[str, dict[str, str]]:
    """Tags by id of the instances that have not ended and are not about to."""
    found = [each for each in live_instances(backend) if each.state != "shutting-down"]
    return {each.id: dict(backend.tags.get(each.id, {})) for each in found}


def remove_interface(backend: Any, interface_id: str) -> None:
    """Take an interface away with its tags and give its addresses back to the subnet."""
    interface = backend.enis.pop(interface_id, None)
    if interface is None:
        return
    for address in interface.private_ip_addresses:
        interface.subnet.del_subnet_ip(address["PrivateIpAddress"])
    forget_tags(backend, interface_id)


def forget_tags(backend: Any, *resource_ids: str) -> None:
    """Tags go with their resource; moto keeps them without end."""
    for resource_id in resource_ids:
        backend.tags.pop(resource_id, None)
