"""A second range of the VPC, for pods alone: what EC2 lets it be beside the first one.

Source: Amazon VPC user guide, "VPC CIDR blocks" (its table of what may be associated with a VPC of which range).
"""

from collections.abc import Iterator
from ipaddress import IPv4Network

from settings.types import SERVICE_CIDR

SHARED = IPv4Network("100.64.0.0/10")
"""Addresses between a provider and its customers (RFC 6598): no network of a site should have them."""
_PRIVATE = tuple(IPv4Network(each) for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
_EXAMPLE = "take one of 100.64.0.0/10, such as 100.64.0.0/16"


def beside(pods: str, vpc: str) -> Iterator[str]:
    """What is wrong with a range of pods in a VPC of that first range."""
    network, first = IPv4Network(pods), IPv4Network(vpc)
    if not 16 <= network.prefixlen <= 20:
        yield f"{pods} does not divide into a subnet for each zone; take a /16 to a /20, such as 100.64.0.0/16"
    elif network.overlaps(first):
        yield f"{pods} overlaps {vpc} of vpcCidr; {_EXAMPLE}"
    elif network.overlaps(IPv4Network(SERVICE_CIDR)):
        yield f"{pods} overlaps the cluster's Service addresses {SERVICE_CIDR}; {_EXAMPLE}"
    elif not network.subnet_of(SHARED):
        yield from _of_another_range(network, first)


def _of_another_range(network: IPv4Network, first: IPv4Network) -> Iterator[str]:
    own = next((each for each in _PRIVATE if network.subnet_of(each)), None)
    if own is None:
        yield f"{network} is neither a private range nor of {SHARED}; {_EXAMPLE}"
    elif not first.subnet_of(own):
        yield f"EC2 adds no range of {own} to a VPC of {first}; {_EXAMPLE}"
    elif first.subnet_of(IPv4Network("10.0.0.0/15")) and network.subnet_of(IPv4Network("10.0.0.0/16")):
        yield f"EC2 adds no range of 10.0.0.0/16 to a VPC of {first}; {_EXAMPLE}"
    elif own == _PRIVATE[1] and network.overlaps(IPv4Network("172.31.0.0/16")):
        yield f"EC2 adds no range of 172.31.0.0/16, that of default VPCs; {_EXAMPLE}"
