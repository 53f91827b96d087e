"""VPC and what is in it. Sources: terraform-provider-aws internal/service/ec2, for timeouts and retries as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

from .account import CallError
from .row import MINUTE, Change, Object, Row, Wait, words
from .tagging import ec2

ARN = "arn:{partition}:ec2:{region}:{account}:"
IN_USE = ("DependencyViolation",)
DESTINATIONS = {
    "destinationCidrBlock": "DestinationCidrBlock",
    "destinationIpv6CidrBlock": "DestinationIpv6CidrBlock",
    "destinationPrefixListId": "DestinationPrefixListId",
}
TARGETS = words(
    "carrierGatewayId coreNetworkArn egressOnlyGatewayId gatewayId localGatewayId natGatewayId networkInterfaceId "
    "transitGatewayId vpcEndpointId vpcPeeringConnectionId odbNetworkArn"
)


def _set_attributes(call: str, member: str, attributes: Mapping[str, str], *, first_true: bool = False) -> Any:
    """A follow-up that sets attributes one by one, as the API wants it: input -> member of the request."""

    def after(obj: Object, change: Change) -> None:
        for name, attribute in attributes.items():
            value = obj.inputs.get(name)
            if value is None or not change.touches(name) or (change.first and value is first_true):
                continue
            wrapped = value if isinstance(value, str) else {"Value": value}
            obj.call(call, **{member: obj.id, attribute: wrapped})

    return after


VPC_ATTRIBUTES = {
    "enableDnsSupport": "EnableDnsSupport",
    "enableDnsHostnames": "EnableDnsHostnames",
    "enableNetworkAddressUsageMetrics": "EnableNetworkAddressUsageMetrics",
}


def _vpc_after(obj: Object, change: Change) -> None:
    for name, attribute in VPC_ATTRIBUTES.items():
        value = obj.inputs.get(name)
        born = name == "enableDnsSupport"  # what a new VPC has
        if value is not None and change.touches(name) and not (change.first and value is born):
            obj.call("modify_vpc_attribute", VpcId=obj.id, **{attribute: {"Value": value}})


def _vpc_look(obj: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
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


def _subnet_look(obj: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
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
            obj.call("attach_internet_gateway", InternetGatewayId=obj.id, VpcId=after)
        except CallError as error:
            if error.code != "Resource.AlreadyAssociated" or not change.first:
                raise


def _gateway_delete(obj: Object) -> None:
    if vpc := obj.inputs.get("vpcId"):
        obj.missing("detach_internet_gateway", InternetGatewayId=obj.id, VpcId=vpc)
    obj.call("delete_internet_gateway", InternetGatewayId=obj.id)


def _nat_look(obj: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    addresses = found.get("NatGatewayAddresses") or [{}]
    first = next((each for each in addresses if each.get("IsPrimary")), addresses[0])
    members = ("AllocationId", "AssociationId", "NetworkInterfaceId", "PrivateIp", "PublicIp")
    return {member[0].lower() + member[1:]: first.get(member) for member in members}


def _destination(obj: Object) -> tuple[str, str]:
    """(request member, value) of a route's destination."""
    for name, member in DESTINATIONS.items():
        if value := obj.inputs.get(name):
            return member, value
    value = obj.fill("{destination}")
    kind = "destinationPrefixListId" if value.startswith("pl-") else "destinationCidrBlock"
    return DESTINATIONS["destinationIpv6CidrBlock" if ":" in value else kind], value


def _route_id(obj: Object) -> str:
    return f"r-{obj.fill('{routeTableId}')}{crc32(_destination(obj)[1].encode())}"


def _route_read(obj: Object) -> Any:
    member, value = _destination(obj)
    table = obj.fill("{routeTableId}")
    routes = obj.search("describe_route_tables -> RouteTables[0].Routes", RouteTableIds=[table]) or []
    found = next((route for route in routes if route.get(member) == value), None)
    if found is None:
        return None
    endpoint = {"vpcEndpointId": found["GatewayId"]} if str(found.get("GatewayId", "")).startswith("vpce-") else {}
    return {**found, "routeTableId": table, **endpoint}


def _route_after(obj: Object, change: Change) -> None:
    if not change.first and change.touches(*TARGETS):
        member, value = _destination(obj)
        target = {name[0].upper() + name[1:]: obj.inputs[name] for name in TARGETS if obj.inputs.get(name)}
        if "EgressOnlyGatewayId" in target:
            target["EgressOnlyInternetGatewayId"] = target.pop("EgressOnlyGatewayId")
        obj.call("replace_route", RouteTableId=obj.inputs["routeTableId"], **{member: value}, **target)


def _route_delete(obj: Object) -> None:
    member, value = _destination(obj)
    obj.call("delete_route", RouteTableId=obj.inputs["routeTableId"], **{member: value})


def _association_read(obj: Object) -> Any:
    """By id; after a change of table, which gives the association a new id, by what it associates."""
    found = obj.search("describe_route_tables -> RouteTables[].Associations[]") or []
    by_id = {each["RouteTableAssociationId"]: each for each in found}
    if obj.id in by_id:
        return by_id[obj.id]
    known = {"RouteTableId": "routeTableId", "SubnetId": "subnetId", "GatewayId": "gatewayId"}
    wanted = {
        member: value
        for member, name in known.items()
        if (value := obj.inputs.get(name) or obj.known.get(name))
    }
    if len(wanted) < 2:  # a table and one end
        return None
    return next((each for each in found if wanted.items() <= each.items()), None)


def _association_after(obj: Object, change: Change) -> None:
    if not change.first and change.touches("routeTableId"):
        old = {**obj.inputs, "routeTableId": change.old["routeTableId"]}
        found = _association_read(Object(obj.account, obj.row, obj.token, old, obj.deadline, obj.id)) or {}
        obj.call(
            "replace_route_table_association",
            AssociationId=found.get("RouteTableAssociationId", obj.id),
            RouteTableId=obj.inputs["routeTableId"],
        )


def _association_delete(obj: Object) -> None:
    found = _association_read(obj)
    if found:
        obj.call("disassociate_route_table", AssociationId=found["RouteTableAssociationId"])


def _endpoint_after(obj: Object, change: Change) -> None:
    if change.first:
        return
    body: dict[str, Any] = {}
    for name, member in (("routeTableIds", "RouteTableIds"), ("subnetIds", "SubnetIds"), ("securityGroupIds", "SecurityGroupIds")):
        before, after = set(change.old.get(name) or ()), set(obj.inputs.get(name) or ())
        if added := sorted(after - before):
            body[f"Add{member}"] = added
        if removed := sorted(before - after):
            body[f"Remove{member}"] = removed
    if change.touches("policy"):
        body["PolicyDocument"] = obj.inputs.get("policy") or ""
        body["ResetPolicy"] = not obj.inputs.get("policy")
    if change.touches("privateDnsEnabled"):
        body["PrivateDnsEnabled"] = bool(obj.inputs.get("privateDnsEnabled"))
    if body:
        obj.call("modify_vpc_endpoint", VpcEndpointId=obj.id, **body)


def _endpoint_look(obj: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    named = [{"Name": "prefix-list-name", "Values": [found.get("ServiceName", "")]}]
    lists = obj.search("describe_prefix_lists -> PrefixLists", Filters=named) if _is_gateway(found) else []
    first = lists[0] if lists else {}
    return {
        "prefixListId": first.get("PrefixListId"),
        "cidrBlocks": first.get("Cidrs"),
        "privateDnsEnabled": None if _is_gateway(found) else found.get("PrivateDnsEnabled"),
        "securityGroupIds": [group["GroupId"] for group in found.get("Groups") or ()],
    }


def _is_gateway(found: Mapping[str, Any]) -> bool:
    return found.get("VpcEndpointType") == "Gateway"


ROWS: dict[str, Row] = {
    "aws:ec2/vpc:Vpc": Row(
        service="ec2",
        create="create_vpc -> Vpc",
        read="describe_vpcs -> Vpcs[0]",
        delete="delete_vpc",
        key={"VpcIds": "{VpcId}", "VpcId": "{VpcId}"},
        id="{VpcId}",
        arn=ARN + "vpc/{id}",
        names={"assignGeneratedIpv6CidrBlock": "AmazonProvidedIpv6CidrBlock"},
        defaults={"enableDnsSupport": True, "instanceTenancy": "default"},
        apart=tuple(VPC_ATTRIBUTES),
        unseen=words("assignGeneratedIpv6CidrBlock ipv4IpamPoolId ipv4NetmaskLength"),
        force_new=words("cidrBlock instanceTenancy ipv4IpamPoolId ipv4NetmaskLength"),
        computed=words("cidrBlock enableDnsHostnames enableNetworkAddressUsageMetrics ipv6CidrBlock"),
        after=_vpc_after,
        look=_vpc_look,
        wait=Wait("State", ("available",)),
        busy=IN_USE,
        tags=ec2("vpc"),
        timeouts=(10 * MINUTE, 10 * MINUTE, 5 * MINUTE),
    ),
    "aws:ec2/subnet:Subnet": Row(
        service="ec2",
        create="create_subnet -> Subnet",
        read="describe_subnets -> Subnets[0]",
        delete="delete_subnet",
        key={"SubnetIds": "{SubnetId}", "SubnetId": "{SubnetId}"},
        id="{SubnetId}",
        arn=ARN + "subnet/{id}",
        defaults={name: False for name in SUBNET_ATTRIBUTES if name != "privateDnsHostnameTypeOnLaunch"}
        | {"ipv6Native": False},
        apart=tuple(SUBNET_ATTRIBUTES),
        force_new=words("availabilityZone availabilityZoneId cidrBlock vpcId ipv6Native outpostArn"),
        computed=words("availabilityZone availabilityZoneId cidrBlock privateDnsHostnameTypeOnLaunch"),
        after=_set_attributes("modify_subnet_attribute", "SubnetId", SUBNET_ATTRIBUTES),
        look=_subnet_look,
        wait=Wait("State", ("available",)),
        busy=IN_USE,
        tags=ec2("subnet"),
        timeouts=(10 * MINUTE, 10 * MINUTE, 20 * MINUTE),
    ),
    "aws:ec2/internetGateway:InternetGateway": Row(
        service="ec2",
        create="create_internet_gateway -> InternetGateway",
        read="describe_internet_gateways -> InternetGateways[0]",
        delete=_gateway_delete,
        key={"InternetGatewayIds": "{InternetGatewayId}"},
        id="{InternetGatewayId}",
        arn=ARN + "internet-gateway/{id}",
        apart=("vpcId",),
        computed=("vpcId",),
        after=_gateway_after,
        look=lambda obj, found: {"vpcId": next((each["VpcId"] for each in found.get("Attachments") or ()), None)},
        busy=IN_USE,
        tags=ec2("internet-gateway"),
    ),
    "aws:ec2/eip:Eip": Row(
        service="ec2",
        create="allocate_address",
        read="describe_addresses -> Addresses[0]",
        delete="release_address",
        key={"AllocationIds": "{AllocationId}", "AllocationId": "{AllocationId}"},
        id="{AllocationId}",
        arn=ARN + "elastic-ip/{id}",
        names={"privateIp": "PrivateIpAddress"},
        force_new=words("domain customerOwnedIpv4Pool ipamPoolId networkBorderGroup publicIpv4Pool address"),
        computed=words("domain networkBorderGroup publicIpv4Pool"),
        busy=("InvalidIPAddress.InUse", "AuthFailure"),  # what AWS says while a NAT gateway still holds it
        tags=ec2("elastic-ip"),
        timeouts=(15 * MINUTE, 5 * MINUTE, 3 * MINUTE),
    ),
    "aws:ec2/natGateway:NatGateway": Row(
        service="ec2",
        create="create_nat_gateway -> NatGateway",
        read="describe_nat_gateways -> NatGateways[0]",
        delete="delete_nat_gateway",
        key={"NatGatewayIds": "{NatGatewayId}", "NatGatewayId": "{NatGatewayId}"},
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
    "aws:ec2/routeTable:RouteTable": Row(
        service="ec2",
        create="create_route_table -> RouteTable",
        read="describe_route_tables -> RouteTables[0]",
        delete="delete_route_table",
        key={"RouteTableIds": "{RouteTableId}", "RouteTableId": "{RouteTableId}"},
        id="{RouteTableId}",
        arn=ARN + "route-table/{id}",
        names={
            "routes.cidrBlock": "DestinationCidrBlock",
            "routes.ipv6CidrBlock": "DestinationIpv6CidrBlock",
            "routes.egressOnlyGatewayId": "EgressOnlyInternetGatewayId",
        },
        force_new=("vpcId",),
        computed=words("routes propagatingVgws"),
        look=lambda obj, found: {"propagatingVgws": [each["GatewayId"] for each in found.get("PropagatingVgws") or ()]},
        busy=IN_USE,
        tags=ec2("route-table"),
        timeouts=(5 * MINUTE, 2 * MINUTE, 5 * MINUTE),
    ),
    "aws:ec2/route:Route": Row(
        service="ec2",
        create="create_route",
        read=_route_read,
        delete=_route_delete,
        key={},
        id=_route_id,
        imports="{routeTableId}_{destination}",
        names={"egressOnlyGatewayId": "EgressOnlyInternetGatewayId"},
        apart=(),
        force_new=("routeTableId", *DESTINATIONS),
        computed=words("gatewayId networkInterfaceId"),
        updates=(),
        after=_route_after,
        timeouts=(5 * MINUTE, 2 * MINUTE, 5 * MINUTE),
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Row(
        service="ec2",
        create="associate_route_table -> {RouteTableAssociationId: AssociationId}",
        read=_association_read,
        delete=_association_delete,
        key={},
        id="{RouteTableAssociationId}",
        imports="{subnetId}/{routeTableId}",
        force_new=words("subnetId gatewayId"),
        after=_association_after,
        timeouts=(5 * MINUTE, 2 * MINUTE, 5 * MINUTE),
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Row(
        service="ec2",
        create="create_vpc_endpoint -> VpcEndpoint",
        read="describe_vpc_endpoints -> VpcEndpoints[0]",
        delete="delete_vpc_endpoints",
        key={"VpcEndpointIds": "{VpcEndpointId}"},
        id="{VpcEndpointId}",
        arn=ARN + "vpc-endpoint/{id}",
        names={"policy": "PolicyDocument"},
        defaults={"vpcEndpointType": "Gateway"},
        documents=("policy",),
        force_new=words("vpcId serviceName vpcEndpointType serviceRegion"),
        computed=words("policy routeTableIds subnetIds securityGroupIds privateDnsEnabled ipAddressType dnsOptions"),
        sets=words("routeTableIds subnetIds securityGroupIds"),
        after=_endpoint_after,
        look=_endpoint_look,
        wait=Wait("State", ("available", "pendingAcceptance"), ("failed", "rejected", "expired"), "LastError.Message"),
        gone="State=='deleted'",
        lingers=True,
        tags=ec2("vpc-endpoint"),
        timeouts=(10 * MINUTE, 10 * MINUTE, 10 * MINUTE),
    ),
    "aws:ec2/placementGroup:PlacementGroup": Row(
        service="ec2",
        create="create_placement_group",
        read="describe_placement_groups -> PlacementGroups[0]",
        delete="delete_placement_group",
        key={"GroupNames": "{name}", "GroupName": "{name}"},
        id="{name}",
        arn=ARN + "placement-group/{name}",
        names={"name": "GroupName", "placementGroupId": "GroupId"},
        autoname=None,
        force_new=words("name strategy partitionCount spreadLevel"),
        computed=words("partitionCount spreadLevel"),
        wait=Wait("State", ("available",)),
        gone="State=='deleted'",
        lingers=True,
        busy=("InvalidPlacementGroup.InUse",),
        tags=ec2("placement-group", "{GroupId}"),
    ),
}
