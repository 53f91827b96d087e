"""Further IPv4 ranges of a VPC: which may be added beside which, and when one may go.

Sources: Amazon VPC user guide, "VPC CIDR blocks", with its table of permitted and restricted associations, and "Add or
remove a CIDR block from your VPC" (not while a subnet has addresses of it). Code and words of a refusal are those that
people have quoted from EC2; for a range in use none was found quoted.
"""

from ipaddress import IPv4Network
from typing import Any

from moto.ec2.models import EC2Backend

from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.errors import refusal

AMENDMENTS = Amendments()

TEN, TWELVE, SIXTEEN = (IPv4Network(each) for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
EVERYWHERE = IPv4Network("198.19.0.0/16")
RESTRICTED = {
    TEN: (TWELVE, SIXTEEN, EVERYWHERE),
    TWELVE: (TEN, SIXTEEN, IPv4Network("172.31.0.0/16"), EVERYWHERE),
    SIXTEEN: (TEN, TWELVE, EVERYWHERE),
}
"""By the range that the VPC's first block is of. A VPC of any other takes no private range."""


@AMENDMENTS.around(EC2Backend, "associate_vpc_cidr_block")
def associate_vpc_cidr_block(
    original: Any, self: Any, vpc_id: str, cidr_block: str, amazon_provided_ipv6_cidr_block: bool
) -> Any:
    """InvalidVpc.Range for a size or a range that EC2 does not add; moto takes any."""
    if cidr_block and not amazon_provided_ipv6_cidr_block:
        wanted, vpc = IPv4Network(cidr_block), self.get_vpc(vpc_id)
        if not 16 <= wanted.prefixlen <= 28:
            raise refusal("InvalidVpc.Range", f"The CIDR '{cidr_block}' is invalid.")
        there = [
            IPv4Network(each["cidr_block"])
            for each in vpc.get_cidr_block_association_set()
            if each["cidr_block_state"]["state"] == "associated"
        ]
        if _restricted(wanted, IPv4Network(vpc.cidr_block)) or any(wanted.overlaps(each) for each in there):
            message = (
                f"The CIDR '{cidr_block}' is restricted. Use a CIDR from the same private address range as the current "
                "VPC CIDR, or use a publicly-routable CIDR. For additional restrictions, see "
                "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"
            )
            raise refusal("InvalidVpc.Range", message)
    return original(self, vpc_id, cidr_block, amazon_provided_ipv6_cidr_block)


@AMENDMENTS.around(EC2Backend, "disassociate_vpc_cidr_block")
def disassociate_vpc_cidr_block(original: Any, self: Any, association_id: str) -> Any:
    """Not while a subnet has addresses of it."""
    for vpc in self.vpcs.values():
        block = next(
            (each["cidr_block"] for each in vpc.get_cidr_block_association_set() if _id(each) == association_id), None
        )
        inside = self.describe_subnets(filters={"vpc-id": [vpc.id]}) if block else []
        if block and any(IPv4Network(each.cidr_block).subnet_of(IPv4Network(block)) for each in inside):
            message = f"The vpc currently has a subnet within CIDR block {block}"
            raise refusal("InvalidCidrBlock.InUse", message)
    return original(self, association_id)


def _id(association: dict[str, Any]) -> str:
    return str(association["association_id"])


def _restricted(wanted: IPv4Network, first: IPv4Network) -> bool:
    own = next((each for each in RESTRICTED if first.subnet_of(each)), None)
    if own is None:
        return any(wanted.overlaps(each) for each in (*RESTRICTED, EVERYWHERE))
    if first.subnet_of(IPv4Network("10.0.0.0/15")) and wanted.subnet_of(IPv4Network("10.0.0.0/16")):
        return True
    return any(wanted.overlaps(each) for each in RESTRICTED[own])
