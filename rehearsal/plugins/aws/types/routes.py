"""Routes and endpoints of a VPC. Source: terraform-provider-aws internal/service/ec2, timeouts included."""

from collections.abc import Mapping
from typing import Any
from zlib import crc32

from rehearsal.plugins.aws.account import CallError
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import MINUTE, Change, Row, Wait, words
from rehearsal.plugins.aws.tagging import ec2

DESTINATIONS = {
    "destinationCidrBlock": "DestinationCidrBlock",
    "destinationIpv6CidrBlock": "DestinationIpv6CidrBlock",
    "destinationPrefixListId": "DestinationPrefixListId",
}
TARGETS = words(
    "carrierGatewayId coreNetworkArn egressOnlyGatewayId gatewayId localGatewayId natGatewayId networkInterfaceId "
    "transitGatewayId vpcEndpointId vpcPeeringConnectionId odbNetworkArn"
)


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
    found = list(obj.list("describe_route_tables -> RouteTables[].Associations[]"))
    by_id = {each["RouteTableAssociationId"]: each for each in found}
    if obj.id in by_id:
        return by_id[obj.id]
    known = {"RouteTableId": "routeTableId", "SubnetId": "subnetId", "GatewayId": "gatewayId"}
    wanted = {member: value for member, name in known.items() if (value := obj.inputs.get(name) or obj.known.get(name))}
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
    for name in ("routeTableIds", "subnetIds", "securityGroupIds"):
        member = name[0].upper() + name[1:]
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


def _endpoint_delete(obj: Object) -> None:
    """The call succeeds even where it deletes nothing, and says so in the reply."""
    for failed in obj.call("delete_vpc_endpoints", VpcEndpointIds=[obj.id]).get("Unsuccessful") or ():
        error = failed.get("Error") or {}
        raise CallError("DeleteVpcEndpoints", error.get("Code", ""), error.get("Message", ""))


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
    "aws:ec2/routeTable:RouteTable": Row(
        create="create_route_table -> RouteTable",
        read="describe_route_tables -> RouteTables[0]",
        id="{RouteTableId}",
        names={
            "routes.cidrBlock": "DestinationCidrBlock",
            "routes.ipv6CidrBlock": "DestinationIpv6CidrBlock",
            "routes.egressOnlyGatewayId": "EgressOnlyInternetGatewayId",
        },
        force_new=("vpcId",),
        computed=words("routes propagatingVgws"),
        look=lambda _, found: {"propagatingVgws": [each["GatewayId"] for each in found.get("PropagatingVgws") or ()]},
        busy=("DependencyViolation",),
        tags=ec2("route-table"),
        timeouts=(5 * MINUTE, 2 * MINUTE, 5 * MINUTE),
    ),
    "aws:ec2/route:Route": Row(
        create="create_route",
        read=_route_read,
        delete=_route_delete,
        id=_route_id,
        imports="{routeTableId}_{destination}",
        names={"egressOnlyGatewayId": "EgressOnlyInternetGatewayId"},
        later=TARGETS,
        force_new=("routeTableId", *DESTINATIONS),
        computed=words("gatewayId networkInterfaceId"),
        after=_route_after,
        timeouts=(5 * MINUTE, 2 * MINUTE, 5 * MINUTE),
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Row(
        create="associate_route_table -> {RouteTableAssociationId: AssociationId}",
        read=_association_read,
        delete=_association_delete,
        id="{RouteTableAssociationId}",
        imports="{subnetId}/{routeTableId}",
        listing="describe_route_tables -> RouteTables[].Associations[]",
        unique=words("routeTableId subnetId gatewayId"),
        unready=("InvalidRouteTableID.NotFound",),
        later=("routeTableId",),
        force_new=words("subnetId gatewayId"),
        after=_association_after,
        timeouts=(5 * MINUTE, 2 * MINUTE, 5 * MINUTE),
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Row(
        create="create_vpc_endpoint -> VpcEndpoint",
        read="describe_vpc_endpoints -> VpcEndpoints[0]",
        delete=_endpoint_delete,
        id="{VpcEndpointId}",
        names={"policy": "PolicyDocument"},
        defaults={"vpcEndpointType": "Gateway"},
        documents=("policy",),
        force_new=words("vpcId serviceName vpcEndpointType serviceRegion"),
        computed=words("policy routeTableIds subnetIds securityGroupIds privateDnsEnabled ipAddressType dnsOptions"),
        sets=words("routeTableIds subnetIds securityGroupIds"),
        later=words("routeTableIds subnetIds securityGroupIds policy privateDnsEnabled"),
        after=_endpoint_after,
        look=_endpoint_look,
        wait=Wait("State", ("available", "pendingAcceptance"), ("failed", "rejected", "expired"), "LastError.Message"),
        gone="State=='deleted'",
        lingers=True,
        tags=ec2("vpc-endpoint"),
        timeouts=(10 * MINUTE, 10 * MINUTE, 10 * MINUTE),
    ),
}
