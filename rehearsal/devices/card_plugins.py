"""Device plugins of network cards: which of a machine's cards a configuration takes, and how often they are offered.

Source: k8s-rdma-shared-dev-plugin, README (`rdma/NAME`, so often as `rdmaHcaMax` says, on a node with a card that every
selector takes); sriov-network-device-plugin, README ("Device selectors", a device for each port or virtual function
that all of them take; `PF#FIRST-LAST` are some functions of a port).
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rehearsal.devices.daemons import Offer, advertising
from rehearsal.devices.nic_states import CONFIG, FILE, PORTS_CONFIG
from rehearsal.kubelet.hosts import Card, Racked
from rehearsal.kubelet.program import Launch, Program

NODES_CONFIG = "device-plugin-config"
"""Of the SR-IOV Network Operator: a file for each node, called as it is."""


def rdma_shared_device_plugin(launch: Launch) -> Program:
    """Offers the cards of its node that its configuration selects, so often as that says."""
    return _plugin(launch, lambda host: resources(_told(launch, CONFIG, FILE, "configList"), host.cards))


def port_plugin(launch: Launch) -> Program:
    """Offers ports of its node as they are, by the configuration in the NicClusterPolicy."""
    return _plugin(launch, lambda host: devices(_told(launch, PORTS_CONFIG, FILE, "resourceList"), host.cards, {}))


def function_plugin(launch: Launch) -> Program:
    """Offers the virtual functions that were made on its node, by the configuration that the operator has for it."""

    def offered(host: Racked) -> Offer:
        config = _told(launch, NODES_CONFIG, launch.node, "resourceList")
        return devices(config, host.cards, launch.world.hosts.functions(launch.node))

    return _plugin(launch, offered)


def _plugin(launch: Launch, offered: Callable[[Racked], Offer]) -> Program:
    def found() -> Offer:
        host = launch.world.hosts.get(launch.node)
        return offered(host) if isinstance(host, Racked) else {}

    return advertising(launch, found)


def _told(launch: Launch, name: str, file: str, key: str) -> list[Mapping[str, Any]]:
    config = launch.world.find("configmaps", name, launch.namespace) or {}
    try:
        found = json.loads((config.get("data") or {}).get(file) or "{}")
    except ValueError:
        return []
    return list(found.get(key) or []) if isinstance(found, dict) else []


def resources(config: Sequence[Mapping[str, Any]], cards: tuple[Card, ...]) -> Offer:
    """The shared resources of a configuration on a machine with these cards, with how many are there and well. Pure."""
    found = {}
    for each in config:
        if any(_takes(each.get("selectors") or {}, card) for card in cards):
            count = int(each.get("rdmaHcaMax") or 0)
            found[f"{each.get('resourcePrefix') or 'rdma'}/{each['resourceName']}"] = (count, count)
    return found


def _takes(selectors: Mapping[str, Any], card: Card) -> bool:
    """Whether each selector that is given takes the card; one without any takes none."""
    link = "infiniband" if card.infiniband else "ether"
    asked = (("vendors", card.vendor), ("deviceIDs", card.device), ("linkTypes", link))
    given = [(selectors[key], value) for key, value in asked if selectors.get(key)]
    return bool(given) and all(value in wanted for wanted, value in given)


def devices(config: Sequence[Mapping[str, Any]], cards: tuple[Card, ...], functions: Mapping[str, int]) -> Offer:
    """The resources of a configuration: ports that have no functions are devices, and functions of those that have.
    Each device is of the first resource that takes it. Pure.
    """
    left = [(card, number) for card in cards for number in _of_card(card, functions)]
    found: Offer = {}
    for each in config:
        taken = [(card, number) for card, number in left if _selects(each.get("selectors") or {}, card, number)]
        left = [device for device in left if device not in taken]
        if taken:
            found[f"{each.get('resourcePrefix') or 'intel.com'}/{each['resourceName']}"] = (len(taken), len(taken))
    return found


def _of_card(card: Card, functions: Mapping[str, int]) -> Iterator[int | None]:
    """Its functions by number, or itself."""
    count = functions.get(card.name, 0)
    yield from range(count) if count else (None,)


def _selects(selectors: Mapping[str, Any], card: Card, number: int | None) -> bool:
    asked = {"vendors": card.vendor, "rootDevices": card.pci, "pciAddresses": card.pci if number is None else ""}
    if any(selectors.get(key) and value not in selectors[key] for key, value in asked.items()):
        return False
    if selectors.get("isRdma") and not card.device:
        return False
    names = selectors.get("pfNames")
    return not names or any(_named(each, card.name, number) for each in names)


def _named(selector: str, name: str, number: int | None) -> bool:
    port, _, some = selector.partition("#")
    if port != name:
        return False
    first, _, last = some.partition("-")
    return not some or (number is not None and int(first) <= number <= int(last or first))
