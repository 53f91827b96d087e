"""Network interfaces: addresses from their subnet, groups that exist, EFA and cards shown, none deleted in use.

Sources: EC2 API reference, CreateNetworkInterface, DeleteNetworkInterface, InstanceNetworkInterfaceAttachment.
"""

import ipaddress
from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.elastic_network_interfaces import Attachment, NetworkInterface
from moto.ec2.models.subnets import Subnet
from moto.ec2.responses import EC2Response

from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.errors import refusal
from rehearsal.cloud.ec2.use import remove_interface

AMENDMENTS = Amendments()


def require_groups(backend: Any, group_ids: list[str], subnet: Any) -> None:
    """Groups must exist in the subnet's VPC."""
    for group_id in group_ids:
        group = backend.get_security_group_from_id(group_id)
        if group is None:
            raise refusal("InvalidGroup.NotFound", f"The security group '{group_id}' does not exist")
        if group.vpc_id != subnet.vpc_id:
            message = f"Security group {group_id} and subnet {subnet.id} belong to different networks."
            raise refusal("InvalidParameter", message)


@AMENDMENTS.around(EC2Backend, "create_network_interface")
def create_network_interface(
    original: Any,
    self: Any,
    subnet: Any,
    private_ip_address: Any = None,
    private_ip_addresses: list[dict[str, Any]] | None = None,
    group_ids: list[str] | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """An address of the subnet that nobody else has, and only groups that exist; moto makes up both."""
    owner = self.get_subnet(subnet) if isinstance(subnet, str) else subnet
    require_groups(self, group_ids or [], owner)
    address = private_ip_address
    if isinstance(address, list):
        address = address[0] if address else None
    if not private_ip_addresses and (not address or ipaddress.ip_address(address) not in owner.cidr):
        address = owner.get_available_subnet_ip(None)
    return original(self, owner, address, private_ip_addresses, group_ids, *args, **kwargs)


@AMENDMENTS.around(Subnet, "get_available_subnet_ip")
def get_available_subnet_ip(original: Any, self: Any, instance: Any) -> Any:
    """InsufficientFreeAddressesInSubnet when there is none; moto breaks."""
    try:
        return original(self, instance)
    except (StopIteration, RuntimeError) as error:
        message = f"There are not enough free addresses in subnet '{self.id}' to satisfy the requested number."
        raise refusal("InsufficientFreeAddressesInSubnet", message) from error


@AMENDMENTS.around(EC2Response, "delete_network_interface")
def delete_network_interface(original: Any, self: Any) -> Any:
    """InvalidParameterValue while attached; interfaces that services made are not the user's to delete."""
    interface = self.ec2_backend.enis.get(self._get_param("NetworkInterfaceId"))
    if interface is not None and interface.requester_managed:
        raise refusal("AuthFailure", "You do not have permission to access the specified resource.")
    if interface is not None and interface.attachment_id:
        raise refusal("InvalidParameterValue", f"Network interface '{interface.id}' is currently in use.")
    return original(self)


@AMENDMENTS.around(EC2Backend, "delete_network_interface")
def forget_network_interface(original: Any, self: Any, eni_id: str) -> None:
    """Its addresses go back to the subnet and its tags go with it."""
    if eni_id not in self.enis:
        original(self, eni_id)
    remove_interface(self, eni_id)


@AMENDMENTS.around(Attachment, "__init__")
def attachment_init(original: Any, self: Any, eni: Any) -> None:
    """The attachment tells the network card; moto says 0."""
    original(self, eni)
    self.network_card_index = getattr(eni, "network_card_index", 0)


AMENDMENTS.attribute(NetworkInterface, "group_set", property(lambda interface: list(interface._group_set)))


@AMENDMENTS.around(EC2Backend, "modify_instance_security_groups")
def modify_instance_security_groups(original: Any, self: Any, instance_id: str, new_group_id_list: list[str]) -> Any:
    """An instance's groups are those of its primary interface; moto adds them to every interface."""
    instance = original(self, instance_id, new_group_id_list)
    instance.nics[0]._group_set = list(instance.security_groups)
    return instance
