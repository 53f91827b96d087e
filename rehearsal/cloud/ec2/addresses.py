"""Elastic addresses and NAT gateways, with the time a NAT gateway takes and the address it holds meanwhile.

Sources: Amazon VPC user guide, "NAT gateways" and "Troubleshoot NAT gateways"; EC2 API reference, CreateNatGateway,
DeleteNatGateway, ReleaseAddress, DisassociateAddress.
"""

from typing import Any

from moto.ec2.models import EC2Backend

from rehearsal.cloud.agenda import AGENDA
from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.errors import refusal
from rehearsal.cloud.ec2.use import forget_tags, remove_interface

AMENDMENTS = Amendments()

SETTLING_SECONDS = 0.3
"""Stands for the minute or two a NAT gateway takes; long enough that a program which does not wait is caught."""


@AMENDMENTS.around(EC2Backend, "create_nat_gateway")
def create_nat_gateway(original: Any, self: Any, subnet_id: str, allocation_id: str, *args: Any, **kwargs: Any) -> Any:
    """PENDING at first; FAILED with Gateway.NotAttached where the VPC has no internet gateway."""
    subnet = self.get_subnet(subnet_id)
    if allocation_id:
        self.address_by_allocation([allocation_id])
    gateway = original(self, subnet_id, allocation_id, *args, **kwargs)
    gateway._eni.description = f"Interface for NAT Gateway {gateway.id}"
    gateway._eni.requester_managed = True
    gateway._eni.status = "in-use"
    gateway.state = "pending"
    attached = any(each.vpc and each.vpc.id == subnet.vpc_id for each in self.internet_gateways.values())
    public = gateway.connectivity_type != "private"

    def settle() -> None:
        if gateway.state != "pending":
            return
        if public and not attached:
            gateway.state = "failed"
            gateway.failure_code = "Gateway.NotAttached"
            gateway.failure_message = f"Network {subnet.vpc_id} has no Internet gateway attached"
            _release_interface(self, gateway)
        else:
            gateway.state = "available"

    AGENDA.after(SETTLING_SECONDS, settle)
    return gateway


@AMENDMENTS.around(EC2Backend, "delete_nat_gateway")
def delete_nat_gateway(original: Any, self: Any, nat_gateway_id: str) -> Any:
    """DELETING, and its interface and address stay held until it is DELETED; moto keeps the interface without end."""
    gateway = self.nat_gateways.get(nat_gateway_id)
    if gateway is None:
        raise refusal("NatGatewayNotFound", f"The Nat Gateway {nat_gateway_id} was not found")
    if gateway.state in ("deleting", "deleted"):
        return gateway
    original(self, nat_gateway_id)
    gateway.state = "deleting"

    def gone() -> None:
        gateway.state = "deleted"
        _release_interface(self, gateway)
        forget_tags(self, nat_gateway_id)

    AGENDA.after(SETTLING_SECONDS, gone)
    return gateway


@AMENDMENTS.around(EC2Backend, "describe_nat_gateways")
def describe_nat_gateways(original: Any, self: Any, filters: Any, nat_gateway_ids: list[str] | None) -> Any:
    """An id that never was is NatGatewayNotFound; moto answers with an empty list."""
    for nat_gateway_id in nat_gateway_ids or []:
        if nat_gateway_id not in self.nat_gateways:
            raise refusal("NatGatewayNotFound", f"The Nat Gateway {nat_gateway_id} was not found")
    return original(self, filters, nat_gateway_ids)


def _release_interface(backend: Any, gateway: Any) -> None:
    for address in backend.addresses:
        if address.eni is gateway._eni:
            address.eni = address.instance = address.association_id = None
    gateway._eni.public_ip = None
    remove_interface(backend, gateway._eni.id)


@AMENDMENTS.around(EC2Backend, "release_address")
def release_address(original: Any, self: Any, address: str | None = None, allocation_id: str | None = None) -> None:
    """InvalidIPAddress.InUse while it is associated; moto disassociates it by itself."""
    found = self.address_by_ip([address]) if address else self.address_by_allocation([allocation_id])
    if found[0].association_id or found[0].eni:
        message = f"The address with allocation id [{found[0].allocation_id}] is in use and cannot be released."
        raise refusal("InvalidIPAddress.InUse", message)
    released = found[0].allocation_id
    original(self, address, allocation_id)
    forget_tags(self, released)


@AMENDMENTS.around(EC2Backend, "disassociate_address")
def disassociate_address(
    original: Any, self: Any, address: str | None = None, association_id: str | None = None
) -> None:
    """The address of a NAT gateway cannot be taken from it (AuthFailure: the interface is EC2's)."""
    found = self.address_by_ip([address]) if address else self.address_by_association([association_id])
    if found[0].eni and found[0].eni.requester_managed:
        raise refusal("AuthFailure", "You do not have permission to access the specified resource.")
    original(self, address, association_id)
