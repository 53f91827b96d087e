"""Addresses of pods: secondary addresses in the subnet of their node, as the VPC CNI gives them."""

import ipaddress
import threading
from collections.abc import Iterable

RESERVED = 5
PREFIX = 28


class ExhaustedError(Exception):
    """The subnet or the node has no address left."""


class Addresses:
    """Hands out free addresses per subnet, from the top down, away from where EC2 puts instances."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._of: dict[str, str] = {}
        self._node: dict[str, str] = {}
        self._next: dict[str, int] = {}
        self._prefixes: dict[str, list[ipaddress.IPv4Network]] = {}
        self._lock = threading.Lock()

    def take(
        self,
        owner: str,
        block: str,
        in_use: Iterable[str] = (),
        node: str = "",
        most: int | None = None,
        *,
        prefixes: bool = False,
    ) -> str:
        """An address of the block for a pod (its uid), the same one when asked again; its node may have `most` of them.
        With `prefixes` it is of a /28 that is the node's alone (amazon-vpc-cni-k8s, docs/prefix-and-ip-target.md).

        Raises ExhaustedError.
        """
        with self._lock:
            if owner in self._of:
                return self._of[owner]
            if most is not None and sum(each == node for each in self._node.values()) >= most:
                text = f"failed to assign an IP address to container: the {most} addresses of {node} are taken"
                raise ExhaustedError(text)
            if prefixes:
                address = self._of_prefix(block, set(in_use), node)
                self._set(owner, address, node)
                return address
            network = ipaddress.ip_network(block)
            size, used = network.num_addresses, set(in_use)
            start = self._next.get(block, size - 2)
            for step in range(size - RESERVED):
                offset = start - step
                if offset < RESERVED - 1:
                    offset += size - RESERVED
                address = str(network[offset])
                if address not in self._taken and address not in used:
                    self._next[block] = offset - 1
                    self._set(owner, address, node)
                    return address
            raise ExhaustedError(f"failed to assign an IP address to container: subnet {block} has no free address")

    def _of_prefix(self, block: str, used: set[str], node: str) -> str:
        """The first free address of the node's prefixes, or of a new one: a /28 in which nobody has an address."""
        own = self._prefixes.setdefault(node, [])
        for each in (str(one) for prefix in own for one in prefix):
            if each not in self._taken:
                return each
        subnet = ipaddress.IPv4Network(block)
        held = {prefix for prefixes in self._prefixes.values() for prefix in prefixes}
        occupied = self._taken | used | {str(subnet[0]), str(subnet[-1])}
        for prefix in reversed([*subnet.subnets(new_prefix=PREFIX)]):
            if prefix not in held and occupied.isdisjoint(map(str, prefix)):
                own.append(prefix)
                return str(prefix[0])
        raise ExhaustedError(f"failed to assign an IP address to container: subnet {block} has no free /28")

    def hold(self, owner: str, address: str, node: str = "") -> None:
        """The pod has this address already."""
        with self._lock:
            self._set(owner, address, node)

    def give_back(self, owner: str) -> None:
        with self._lock:
            address = self._of.pop(owner, None)
            self._node.pop(owner, None)
            if address is not None:
                self._taken.discard(address)

    def _set(self, owner: str, address: str, node: str) -> None:
        self._of[owner], self._node[owner] = address, node
        self._taken.add(address)
