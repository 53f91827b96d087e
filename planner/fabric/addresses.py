"""Addresses of the compute ports: a network for each rail."""

from ipaddress import IPv4Network

_NOT_HOSTS = 2
"""Addresses of a network that no host has: its own, and the broadcast."""


def rail_prefix(nodes: int) -> int:
    """The longest prefix of a network in which every node has a host address."""
    return 32 - (nodes + _NOT_HOSTS - 1).bit_length()


def rail_networks(cidr: str, rails: int, nodes: int) -> tuple[IPv4Network, ...] | None:
    """A network for each rail, carved from `cidr` in order, each with a host address for every node.

    Ports of one host that share a network answer for each other, so RoCE keeps rails apart. None if `cidr` is too
    small.
    """
    whole, prefix = IPv4Network(cidr), rail_prefix(nodes)
    if prefix < whole.prefixlen or 1 << (prefix - whole.prefixlen) < rails:
        return None
    networks = whole.subnets(new_prefix=prefix)
    return tuple(next(networks) for _ in range(rails))


def prefix_for_rails(rails: int, nodes: int) -> int:
    """The longest prefix of a range that holds a network for each rail."""
    return rail_prefix(nodes) - (rails - 1).bit_length()
