"""VPC and what is in it. Sources: terraform-provider-aws internal/service/ec2, for timeouts and retries as well."""

from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.account import CallError
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import MINUTE, Autoname, Change, Followup, Row, Wait, words
from rehearsal.plugins.aws.tagging import ec2

IN_USE = ("DependencyViolation",)


def _attributes(call: str, member: str, attributes: Mapping[str, str], born: Mapping[str, Any]) -> Followup:
    """A follow-up that sets attributes one by one, as the API wants it: input -> member of the request.

    ``born`` are the values that a new object has anyway.
    """

    def after(obj: Object, change: Change) -> None:
        for name, attribute in attributes.items():
            value = obj.inputs.get(name)
            if value is None or not change.touches(name) or (change.first and born.get(name, False) == value):
                continue
            wrapped = value if isinstance(value, str) else {"Value": value}
            obj.call(call, **{member: obj.id, attribute: wrapped})

    return after


VPC_ATTRIBUTES = {
    "enableDnsSupport": "EnableDnsSupport",
    "enableDnsHostnames": "EnableDnsHostnames",
    "enableNetworkAddressUsageMetrics": "EnableNetworkAddressUsageMetrics",
}


def _vpc_look(obj: Object, _: Mapping[str, Any]) -> Mapping[str, Any]:
    own = [{"Name": "vpc-id", "Values": [obj.id]}]
    attributes = {
        name: obj.search(f"describe_vpc_attribute -> {attribute}.Value", VpcId=obj.id, Attribute=name)
        for name, attribute in VPC_ATTRIBUTES.items()
    }
    main = [*own, {"Name": "association.main", "Values": ["true"]}]
    table = obj.search("describe_route_tables -> RouteTables[0].RouteTableId", Filters=main)
    named = [*own, {"Name": "group-name", "Values": ["default"]}]
    acl = [*own, {"Name": "default", "Values": ["true"]}]
    return {
        **attributes,
        "mainRouteTableId": table,
        "defaultRouteTableId": table,
        "defaultSecurityGroupId": obj.search("describe_security_groups -> SecurityGroups[0].GroupId", Filters=named),
        "defaultNetworkAclId": obj.search("describe_network_acls -> NetworkAcls[0].NetworkAclId", Filters=acl),
    }


SUBNET_ATTRIBUTES = {
    "assignIpv6AddressOnCreation": "AssignIpv6AddressOnCreation",
    "enableDns64": "EnableDns64",
    "enableResourceNameDnsARecordOnLaunch": "EnableResourceNameDnsARecordOnLaunch",
    "enableResourceNameDnsAaaaRecordOnLaunch": "EnableResourceNameDnsAAAARecordOnLaunch",
    "mapPublicIpOnLaunch": "MapPublicIpOnLaunch",
    "privateDnsHostnameTypeOnLaunch": "PrivateDnsHostnameTypeOnLaunch",
}


def _subnet_look(_: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    naming = found.get("PrivateDnsNameOptionsOnLaunch") or {}
    return {
        "privateDnsHostnameTypeOnLaunch": naming.get("HostnameType"),
        "enableResourceNameDnsARecordOnLaunch": naming.get("EnableResourceNameDnsARecord"),
        "enableResourceNameDnsAaaaRecordOnLaunch": naming.get("EnableResourceNameDnsAAAARecord"),
        "ipv6CidrBlock": next((each["Ipv6CidrBlock"] for each in found.get("Ipv6CidrBlockAssociationSet", ())), None),
    }


def _gateway_after(obj: Object, change: Change) -> None:
    if not change.touches("vpcId"):
        return
    before, after = change.old.get("vpcId"), obj.inputs.get("vpcId")
    if before:
        obj.call("detach_internet_gateway", InternetGatewayId=obj.id, VpcId=before)
    if after:
        try:
            late = ("InvalidInternetGatewayID.NotFound",)
            obj.patiently(late, "attach_internet_gateway", InternetGatewayId=obj.id, VpcId=after)
        except CallError as error:
            if error.code != "Resource.AlreadyAssociated" or not change.first:
                raise


def _gateway_delete(obj: Object) -> None:
    if vpc := obj.inputs.get("vpcId"):
        obj.missing("detach_internet_gateway", InternetGatewayId=obj.id, VpcId=vpc)
    obj.call("delete_internet_gateway", InternetGatewayId=obj.id)


def _nat_look(_: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    addresses = found.get("NatGatewayAddresses") or [{}]
    first = next((each for each in addresses if each.get("IsPrimary")), addresses[0])
    members = ("AllocationId", "AssociationId", "NetworkInterfaceId", "PrivateIp", "PublicIp")
    return {member[0].lower() + member[1:]: first.get(member) for member in members}


ROWS: dict[str, Row] = {
    "aws:ec2/vpc:Vpc": Row(
        create="create_vpc -> Vpc",
        read="describe_vpcs -> Vpcs[0]",
        id="{VpcId}",
        names={"assignGeneratedIpv6CidrBlock": "AmazonProvidedIpv6CidrBlock"},
        defaults={"enableDnsSupport": True, "instanceTenancy": "default"},
        apart=tuple(VPC_ATTRIBUTES),
        unseen=words("assignGeneratedIpv6CidrBlock ipv4IpamPoolId ipv4NetmaskLength"),
        force_new=words("cidrBlock instanceTenancy ipv4IpamPoolId ipv4NetmaskLength"),
        computed=words("cidrBlock enableDnsHostnames enableNetworkAddressUsageMetrics ipv6CidrBlock"),
        after=_attributes("modify_vpc_attribute", "VpcId", VPC_ATTRIBUTES, {"enableDnsSupport": True}),
        look=_vpc_look,
        wait=Wait("State", ("available",)),
        busy=IN_USE,
        tags=ec2("vpc"),
        timeouts=(10 * MINUTE, 10 * MINUTE, 5 * MINUTE),
    ),
    "aws:ec2/subnet:Subnet": Row(
        create="create_subnet -> Subnet",
        read="describe_subnets -> Subnets[0]",
        id="{SubnetId}",
        defaults={name: False for name in SUBNET_ATTRIBUTES if name != "privateDnsHostnameTypeOnLaunch"}
        | {"ipv6Native": False},
        apart=tuple(SUBNET_ATTRIBUTES),
        force_new=words("availabilityZone availabilityZoneId cidrBlock vpcId ipv6Native outpostArn"),
        computed=words("availabilityZone availabilityZoneId cidrBlock privateDnsHostnameTypeOnLaunch"),
        after=_attributes("modify_subnet_attribute", "SubnetId", SUBNET_ATTRIBUTES, {}),
        look=_subnet_look,
        wait=Wait("State", ("available",)),
        busy=IN_USE,
        tags=ec2("subnet"),
        timeouts=(10 * MINUTE, 10 * MINUTE, 20 * MINUTE),
    ),
    "aws:ec2/internetGateway:InternetGateway": Row(
        create="create_internet_gateway -> InternetGateway",
        read="describe_internet_gateways -> InternetGateways[0]",
        delete=_gateway_delete,
        id="{InternetGatewayId}",
        apart=("vpcId",),
        computed=("vpcId",),
        after=_gateway_after,
        look=lambda _, found: {"vpcId": next((each["VpcId"] for each in found.get("Attachments") or ()), None)},
        busy=IN_USE,
        tags=ec2("internet-gateway"),
    ),
    "aws:ec2/eip:Eip": Row(
        create="allocate_address",
        read="describe_addresses -> Addresses[0]",
        delete="release_address",
        id="{AllocationId}",
        names={"privateIp": "PrivateIpAddress"},
        force_new=words("domain customerOwnedIpv4Pool ipamPoolId networkBorderGroup publicIpv4Pool address"),
        computed=words("domain networkBorderGroup publicIpv4Pool"),
        busy=("InvalidIPAddress.InUse", "AuthFailure"),  # what AWS says while a NAT gateway still holds it
        tags=ec2("elastic-ip"),
        timeouts=(15 * MINUTE, 5 * MINUTE, 3 * MINUTE),
    ),
    "aws:ec2/natGateway:NatGateway": Row(
        create="create_nat_gateway -> NatGateway",
        read="describe_nat_gateways -> NatGateways[0]",
        id="{NatGatewayId}",
        defaults={"connectivityType": "public"},
        force_new=words("allocationId connectivityType privateIp subnetId availabilityMode vpcId"),
        computed=words("privateIp availabilityMode vpcId"),
        look=_nat_look,
        wait=Wait("State", ("available",), ("failed",), "FailureMessage"),
        gone="State=='deleted'",
        lingers=True,
        tags=ec2("natgateway"),
        timeouts=(10 * MINUTE, 10 * MINUTE, 30 * MINUTE),
    ),
    "aws:ec2/placementGroup:PlacementGroup": Row(
        create="create_placement_group",
        read="describe_placement_groups -> PlacementGroups[0]",
        key={"GroupNames": "{name}", "GroupName": "{name}"},
        id="{name}",
        names={"name": "GroupName", "placementGroupId": "GroupId"},
        autoname=Autoname(),
        force_new=words("name strategy partitionCount spreadLevel"),
        computed=words("partitionCount spreadLevel"),
        wait=Wait("State", ("available",)),
        gone="State=='deleted'",
        lingers=True,
        busy=("InvalidPlacementGroup.InUse",),
        tags=ec2("placement-group", "{GroupId}"),
    ),
}
