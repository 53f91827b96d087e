"""Route tables, routes and VPC endpoints.

Sources: Amazon VPC user guide, "Configure route tables" and "Gateway endpoints for Amazon S3"; EC2 API reference,
CreateRoute, DeleteRouteTable, CreateVpcEndpoint, DeleteVpcEndpoints; PrivateLink guide, "Access an AWS service using an
interface VPC endpoint" (private DNS asks for both DNS attributes of the VPC, and a name leads to one endpoint only; one
subnet in a zone).
"""

import re
from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.vpcs import VPCEndPoint

from rehearsal.cloud.agenda import AGENDA
from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.errors import in_use, refusal
from rehearsal.cloud.ec2.use import forget_tags, remove_interface

AMENDMENTS = Amendments()

ENDPOINT_SECONDS = 0.2
GATEWAY_SERVICES = frozenset({"s3", "dynamodb"})


@AMENDMENTS.around(EC2Backend, "create_route")
def create_route(original: Any, self: Any, route_table_id: str, *args: Any, **kwargs: Any) -> Any:
    """The target must exist and be in the table's VPC; moto makes a route to nothing."""
    table = self.get_route_table(route_table_id)
    nat_gateway_id, gateway_id = kwargs.get("nat_gateway_id"), kwargs.get("gateway_id")
    if nat_gateway_id:
        gateway = self.nat_gateways.get(nat_gateway_id)
        if gateway is None or gateway.state in ("deleted", "deleting", "failed"):
            raise refusal("InvalidNatGatewayID.NotFound", f"The natGateway ID '{nat_gateway_id}' does not exist")
    if gateway_id and gateway_id.startswith("igw-"):
        attached = self.get_internet_gateway(gateway_id).vpc
        if attached is None or attached.id != table.vpc_id:
            message = f"route table {route_table_id} and network gateway {gateway_id} belong to different networks"
            raise refusal("InvalidParameterValue", message)
    return original(self, route_table_id, *args, **kwargs)


@AMENDMENTS.around(EC2Backend, "associate_route_table")
def associate_route_table(
    original: Any, self: Any, route_table_id: str, gateway_id: str | None = None, subnet_id: str | None = None
) -> Any:
    """A subnet has one association: Resource.AlreadyAssociated for another table, and one VPC holds both."""
    table = self.get_route_table(route_table_id)
    if subnet_id:
        if self.get_subnet(subnet_id).vpc_id != table.vpc_id:
            message = f"Route table {route_table_id} and subnet {subnet_id} belong to different networks"
            raise refusal("InvalidParameterValue", message)
        for other in self.route_tables.values():
            if other is not table and subnet_id in other._associations.values():
                message = f"the specified association for route table {other.id} conflicts with an existing association"
                raise refusal("Resource.AlreadyAssociated", message)
    return original(self, route_table_id, gateway_id, subnet_id)


@AMENDMENTS.around(EC2Backend, "delete_route_table")
def delete_route_table(original: Any, self: Any, route_table_id: str) -> None:
    """The main table of a VPC goes with the VPC only; gateway endpoints forget a deleted table."""
    table = self.get_route_table(route_table_id)
    others = [subnet for subnet in self.route_tables.values() if subnet.vpc_id == table.vpc_id and subnet is not table]
    if table.main_association_id and others:
        raise in_use("routeTable", route_table_id)
    original(self, route_table_id)
    for endpoint in self.vpc_end_points.values():
        endpoint.route_table_ids = [each for each in endpoint.route_table_ids or [] if each != route_table_id]
    forget_tags(self, route_table_id)


@AMENDMENTS.around(EC2Backend, "create_vpc_endpoint")
def create_vpc_endpoint(
    original: Any, self: Any, vpc_id: str, service_name: str, endpoint_type: str | None, *args: Any, **kwargs: Any
) -> Any:
    """The service must be one of this region (InvalidServiceName), and its interfaces carry the endpoint's groups."""
    endpoint_type = endpoint_type or "Gateway"
    name = re.fullmatch(rf"com\.amazonaws\.{re.escape(self.region_name)}\.([a-z0-9.\-]+)", service_name)
    gateway = endpoint_type.lower() == "gateway"
    if name is None or (gateway and name[1] not in GATEWAY_SERVICES):
        raise refusal("InvalidServiceName", f"The Vpc Endpoint Service '{service_name}' does not exist")
    for table_id in kwargs.get("route_table_ids") or (args[1] if len(args) > 1 else None) or []:
        if self.get_route_table(table_id).vpc_id != vpc_id:
            raise refusal("InvalidParameter", f"Route table {table_id} does not belong to {vpc_id}")
    if not gateway:
        _check_interfaces(self, vpc_id, service_name, kwargs)
    endpoint = original(self, vpc_id, service_name, endpoint_type, *args, **kwargs)
    for interface_id in endpoint.network_interface_ids:
        interface = self.enis[interface_id]
        interface.requester_managed = True
        interface.status = "in-use"
        carried = [self.get_security_group_from_id(group) for group in endpoint.security_group_ids]
        interface._group_set = carried or interface._group_set
    return endpoint


def _check_interfaces(backend: Any, vpc_id: str, service_name: str, wanted: dict[str, Any]) -> None:
    """What EC2 refuses of an interface endpoint; moto makes it wherever and however often it is asked to."""
    subnets = [backend.get_subnet(subnet_id) for subnet_id in wanted.get("subnet_ids") or []]
    for subnet in subnets:
        if subnet.vpc_id != vpc_id:
            raise refusal("InvalidParameter", f"The subnet ID '{subnet.id}' does not belong to {vpc_id}")
    zones = [subnet.availability_zone for subnet in subnets]
    if len(set(zones)) < len(zones):
        raise refusal("DuplicateSubnetsInSameZone", "Found another VPC endpoint subnet in the availability zone")
    if not wanted.get("private_dns_enabled"):
        return
    vpc = backend.get_vpc(vpc_id)
    if not (vpc.enable_dns_support and vpc.enable_dns_hostnames):
        message = (
            "Enabling private DNS requires both enableDnsSupport and enableDnsHostnames VPC attributes set to true "
            f"for {vpc_id}"
        )
        raise refusal("InvalidParameter", message)
    for other in backend.vpc_end_points.values():
        taken = other.vpc_id == vpc_id and other.service_name == service_name and other.private_dns_enabled
        if taken and other.state != "deleting":
            name = f"{service_name.split('.', 3)[3]}.{service_name.split('.')[2]}.amazonaws.com"
            message = (
                f"private-dns-enabled cannot be set because there is already a conflicting DNS domain for {name} in "
                f"the VPC {vpc_id}"
            )
            raise refusal("InvalidParameter", message)


@AMENDMENTS.around(EC2Backend, "modify_vpc_endpoint")
def modify_vpc_endpoint(original: Any, self: Any, vpc_id: str, *args: Any, **kwargs: Any) -> None:
    """A gateway endpoint's routes follow its tables; moto changes the list of tables only."""
    endpoint = self.describe_vpc_endpoints(vpc_end_point_ids=[vpc_id])[0]
    before = set(endpoint.route_table_ids or [])
    original(self, vpc_id, *args, **kwargs)
    after = set(endpoint.route_table_ids or [])
    _unroute(self, endpoint, before - after)
    for table_id in after - before if endpoint.destination_prefix_list_id else ():
        prefix_list = endpoint.destination_prefix_list_id
        self.create_route(table_id, None, gateway_id=endpoint.id, destination_prefix_list_id=prefix_list)


@AMENDMENTS.around(EC2Backend, "delete_vpc_endpoints")
def delete_vpc_endpoints(_original: Any, self: Any, vpce_ids: list[str] | None = None) -> None:
    """DELETING, then not found, and its routes and interfaces go with it; moto keeps it as deleted without end."""
    present = [vpce_id for vpce_id in vpce_ids or [] if vpce_id in self.vpc_end_points]
    for vpce_id in present:
        endpoint = self.vpc_end_points[vpce_id]
        endpoint.state = "deleting"
        _unroute(self, endpoint, set(endpoint.route_table_ids or []))
        for interface in endpoint.network_interface_ids:
            remove_interface(self, interface)

    def gone() -> None:
        for vpce_id in present:
            self.vpc_end_points.pop(vpce_id, None)
        forget_tags(self, *present)

    AGENDA.after(ENDPOINT_SECONDS, gone)


def _unroute(backend: Any, endpoint: Any, table_ids: set[str]) -> None:
    for table_id in table_ids & backend.route_tables.keys():
        routes = backend.route_tables[table_id]._routes
        for key in [key for key, route in routes.items() if route.gateway is endpoint]:
            del routes[key]


@AMENDMENTS.around(VPCEndPoint, "__init__")
def endpoint_init(original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
    """Private DNS is an interface endpoint's; moto shows it on gateway endpoints too."""
    original(self, *args, **kwargs)
    if self.vpc_endpoint_type.lower() == "gateway":
        self.private_dns_enabled = False
