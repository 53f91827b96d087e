"""Network interfaces: their groups must exist, EFA and cards are shown, and those in use are not deleted.

Sources: EC2 API reference, CreateNetworkInterface, DeleteNetworkInterface, InstanceNetworkInterfaceAttachment.
"""

from __future__ import annotations

from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.elastic_network_interfaces import Attachment

from ..amend import Amendments
from .errors import refusal
from .use import forget_tags

AMENDMENTS = Amendments()


@AMENDMENTS.around(EC2Backend, "create_network_interface")
def create_network_interface(original: Any, self: Any, subnet: Any, *args: Any, **kwargs: Any) -> Any:
    """Groups must exist in the subnet's VPC; moto makes the ones it does not know."""
    owner = self.get_subnet(subnet) if isinstance(subnet, str) else subnet
    for group_id in kwargs.get("group_ids") or []:
        group = self.get_security_group_from_id(group_id)
        if group is None:
            raise refusal("InvalidGroup.NotFound", f"The security group '{group_id}' does not exist")
        if group.vpc_id != owner.vpc_id:
            message = f"Security group {group_id} and subnet {owner.id} belong to different networks."
            raise refusal("InvalidParameter", message)
    return original(self, owner, *args, **kwargs)


@AMENDMENTS.around(EC2Backend, "delete_network_interface")
def delete_network_interface(original: Any, self: Any, eni_id: str) -> None:
    """InvalidNetworkInterface.InUse while attached, and services' interfaces are not the user's to delete."""
    interface = self.enis.get(eni_id)
    if interface is not None and interface.requester_managed:
        raise refusal("AuthFailure", "You do not have permission to access the specified resource.")
    if interface is not None and interface.instance is not None and interface.instance.state not in (
        "terminated",
        "shutting-down",
    ):
        gone = not interface.delete_on_termination
        if gone or interface.instance.state == "running":
            raise refusal("InvalidParameterValue", f"Network interface '{eni_id}' is currently in use.")
    original(self, eni_id)
    forget_tags(self, eni_id)


@AMENDMENTS.around(Attachment, "__init__")
def attachment_init(original: Any, self: Any, eni: Any) -> None:
    """The attachment tells the network card; moto says 0."""
    original(self, eni)
    self.network_card_index = getattr(eni, "network_card_index", 0)
