"""Route tables, routes and VPC endpoints.

Sources: Amazon VPC user guide, "Configure route tables" and "Gateway endpoints for Amazon S3"; EC2 API reference,
CreateRoute, DeleteRouteTable, CreateVpcEndpoint, DeleteVpcEndpoints.
"""

from __future__ import annotations

import re
from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.vpcs import VPCEndPoint

from ..agenda import AGENDA
from ..amend import Amendments
from .errors import in_use, refusal
from .use import forget_tags

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
    """The service must be one of this region and offer endpoints of the type (InvalidServiceName)."""
    endpoint_type = endpoint_type or "Gateway"
    name = re.fullmatch(rf"com\.amazonaws\.{re.escape(self.region_name)}\.([a-z0-9.\-]+)", service_name)
    gateway = endpoint_type.lower() == "gateway"
    if name is None or (gateway and name[1] not in GATEWAY_SERVICES):
        raise refusal("InvalidServiceName", f"The Vpc Endpoint Service '{service_name}' does not exist")
    for table_id in kwargs.get("route_table_ids") or (args[1] if len(args) > 1 else None) or []:
        if self.get_route_table(table_id).vpc_id != vpc_id:
            raise refusal("InvalidParameter", f"Route table {table_id} does not belong to {vpc_id}")
    return original(self, vpc_id, service_name, endpoint_type, *args, **kwargs)


@AMENDMENTS.around(EC2Backend, "delete_vpc_endpoints")
def delete_vpc_endpoints(original: Any, self: Any, vpce_ids: list[str] | None = None) -> None:
    """DELETING, then not found; moto keeps it as deleted for ever."""
    present = [vpce_id for vpce_id in vpce_ids or [] if vpce_id in self.vpc_end_points]
    original(self, present)
    for vpce_id in present:
        self.vpc_end_points[vpce_id].state = "deleting"

    def gone() -> None:
        for vpce_id in present:
            self.vpc_end_points.pop(vpce_id, None)
        forget_tags(self, *present)

    AGENDA.after(ENDPOINT_SECONDS, gone)


@AMENDMENTS.around(VPCEndPoint, "__init__")
def endpoint_init(original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
    """Private DNS is an interface endpoint's; moto shows it on gateway endpoints too."""
    original(self, *args, **kwargs)
    if self.vpc_endpoint_type.lower() == "gateway":
        self.private_dns_enabled = False
