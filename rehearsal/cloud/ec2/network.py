"""VPCs, subnets and internet gateways: what may be made where, and what may not be deleted while it is used.

Sources: Amazon VPC user guide, "Delete your VPC" and "Delete a subnet"; EC2 API reference, DeleteVpc, DeleteSubnet,
DetachInternetGateway.
"""

from typing import Any

from moto.ec2.models import EC2Backend

from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.errors import in_use, refusal
from rehearsal.cloud.ec2.use import forget_tags, interfaces_in, vpc_interfaces

AMENDMENTS = Amendments()


@AMENDMENTS.around(EC2Backend, "create_subnet")
def create_subnet(
    original: Any,
    self: Any,
    vpc_id: str,
    cidr_block: str,
    ipv6_cidr_block: str | None = None,
    availability_zone: str | None = None,
    availability_zone_id: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """The zone must be one of this region, by name or by id; moto takes any region's and forgets zones given by id."""
    zones = self.describe_availability_zones()
    if availability_zone_id and not availability_zone:
        named = next((zone.name for zone in zones if zone.zone_id == availability_zone_id), None)
        if named is None:
            known = ", ".join(zone.zone_id for zone in zones)
            message = (
                f"Value ({availability_zone_id}) for parameter availabilityZoneId is invalid. Choose from: {known}."
            )
            raise refusal("InvalidParameterValue", message)
        availability_zone = named
    if availability_zone and availability_zone not in {zone.name for zone in zones}:
        known = ", ".join(zone.name for zone in zones)
        message = (
            f"Value ({availability_zone}) for parameter availabilityZone is invalid. Subnets can currently only be "
            f"created in the following availability zones: {known}."
        )
        raise refusal("InvalidParameterValue", message)
    return original(self, vpc_id, cidr_block, ipv6_cidr_block, availability_zone, None, *args, **kwargs)


@AMENDMENTS.around(EC2Backend, "delete_subnet")
def delete_subnet(original: Any, self: Any, subnet_id: str) -> Any:
    """DependencyViolation while a network interface is in it; its route table association goes with it."""
    self.get_subnet(subnet_id)
    if interfaces_in(self, subnet_id):
        raise in_use("subnet", subnet_id)
    for table in self.route_tables.values():
        for association in [key for key, subnet in table._associations.items() if subnet == subnet_id]:
            del table._associations[association]
    for acl in self.network_acls.values():
        for association in [key for key, link in acl._associations.items() if link.subnet_id == subnet_id]:
            del acl._associations[association]
    subnet = original(self, subnet_id)
    forget_tags(self, subnet_id)
    return subnet


@AMENDMENTS.around(EC2Backend, "delete_vpc")
def delete_vpc(original: Any, self: Any, vpc_id: str) -> Any:
    """DependencyViolation while anything but the VPC's own defaults is in it; the default network ACL goes with it."""
    self.get_vpc(vpc_id)
    if _vpc_users(self, vpc_id):
        raise in_use("vpc", vpc_id)
    tables = [table.id for table in self.route_tables.values() if table.vpc_id == vpc_id]
    groups = list(self.groups.get(vpc_id, {}))
    acls = [acl.id for acl in self.network_acls.values() if acl.vpc_id == vpc_id]
    vpc = original(self, vpc_id)
    for acl in acls:
        self.network_acls.pop(acl, None)
    self.groups.pop(vpc_id, None)
    forget_tags(self, vpc_id, *tables, *groups, *acls)
    return vpc


def _vpc_users(backend: Any, vpc_id: str) -> list[str]:
    """What keeps a VPC from being deleted."""
    tables = [table for table in backend.route_tables.values() if table.vpc_id == vpc_id]
    return (
        [subnet.id for subnet in backend.describe_subnets(filters={"vpc-id": [vpc_id]})]
        + [gateway.id for gateway in backend.internet_gateways.values() if gateway.vpc and gateway.vpc.id == vpc_id]
        + [gateway.id for gateway in backend.egress_only_internet_gateways.values() if gateway.vpc_id == vpc_id]
        + [group.id for group in backend.groups.get(vpc_id, {}).values() if group.name != "default"]
        + [table.id for table in tables if not table.main_association_id]
        + [endpoint.id for endpoint in backend.vpc_end_points.values() if endpoint.vpc_id == vpc_id]
        + [interface.id for interface in vpc_interfaces(backend, vpc_id)]
        + [acl.id for acl in backend.network_acls.values() if acl.vpc_id == vpc_id and not acl.default]
    )


@AMENDMENTS.around(EC2Backend, "detach_internet_gateway")
def detach_internet_gateway(original: Any, self: Any, internet_gateway_id: str, vpc_id: str) -> Any:
    """DependencyViolation while an interface of the VPC has a public address, NAT gateways' included."""
    if any(interface.public_ip for interface in vpc_interfaces(self, vpc_id)):
        message = (
            f"Network {vpc_id} has some mapped public address(es). Please unmap those public address(es) before "
            "detaching the gateway."
        )
        raise refusal("DependencyViolation", message)
    return original(self, internet_gateway_id, vpc_id)


@AMENDMENTS.around(EC2Backend, "attach_internet_gateway")
def attach_internet_gateway(original: Any, self: Any, internet_gateway_id: str, vpc_id: str) -> Any:
    """A VPC has one internet gateway at most (InvalidParameterValue)."""
    for gateway in self.internet_gateways.values():
        if gateway.vpc and gateway.vpc.id == vpc_id and gateway.id != internet_gateway_id:
            raise refusal("InvalidParameterValue", f"Network {vpc_id} already has an internet gateway attached")
    return original(self, internet_gateway_id, vpc_id)


@AMENDMENTS.around(EC2Backend, "delete_internet_gateway")
def delete_internet_gateway(original: Any, self: Any, internet_gateway_id: str) -> None:
    """Its tags go with it."""
    original(self, internet_gateway_id)
    forget_tags(self, internet_gateway_id)
