"""Network interfaces of a node and the addresses and pods they leave room for."""

from catalogue.trunks import BRANCH_INTERFACES
from catalogue.types import Instance, Interface, InterfaceType

_MAX_PODS_SMALL = 110
_MAX_PODS_LARGE = 250
_SMALL_BELOW_VCPU = 30
_HOST_NETWORK_PODS = 2
_WARM_INTERFACES = 1
_WARM_PREFIXES = 1
PREFIX_ADDRESSES = 16
"""Addresses of a /28, which takes the place of one address on an interface (EC2 user guide, "Prefix delegation")."""


def layout(instance: Instance, fabric: bool) -> tuple[Interface, ...]:
    """The launch template's interfaces, in order; with `fabric` every card that carries EFA gets one EFA interface.

    Card 0, device 0 is a plain ENA interface, because an efa-only one cannot be primary. Card 0 takes its EFA at
    device 1 where it carries EFA, and further cards at device 0. efa-only interfaces have no address. A card 0 with
    room for one interface only (hpc6id) takes `efa`, which is ENA and EFA in one.
    Source: EC2 user guide, "Maximize network bandwidth on instances with multiple network cards", its layouts that
    save addresses. The same rule serves one-card types (p5.4xlarge: ENA plus one efa-only).
    """
    first = instance.cards[0]
    if not fabric:
        return (Interface(0, 0, InterfaceType.ENA),)
    further = (Interface(card.index, 0, InterfaceType.EFA_ONLY) for card in instance.cards[1:] if card.efa)
    if first.efa and first.max_interfaces == 1:
        return (Interface(0, 0, InterfaceType.EFA), *further)
    beside = (Interface(0, 1, InterfaceType.EFA_ONLY),) if first.efa else ()
    return (Interface(0, 0, InterfaceType.ENA), *beside, *further)


def efa_count(interfaces: tuple[Interface, ...]) -> int:
    """How many of the interfaces are EFA devices: what a node shows as vpc.amazonaws.com/efa."""
    return sum(interface.interface_type is not InterfaceType.ENA for interface in interfaces)


def eni_pods(instance: Instance) -> int:
    """Pods that nodeadm counts by the type alone: interfaces of card 0 x (addresses - 1) + 2, those of EFA included.

    Source: amazon-eks-ami, nodeadm/internal/kubelet/eni_max_pods.go. The kubelet's share of memory follows from it.
    """
    return _pods(instance, instance.cards[0].max_interfaces)


def max_pods(instance: Instance) -> int:
    """Pods that the kubelet of a managed node without an AMI of its own takes: EKS' number, which nobody overrules.

    110 at most below 30 vCPU, else 250 (EKS user guide, "How maxPods is determined": what EKS writes into the node's
    user data comes before the kubelet's configuration there). A node with EFA on card 0 has addresses for fewer.
    """
    return min(eni_pods(instance), _MAX_PODS_SMALL if instance.vcpu < _SMALL_BELOW_VCPU else _MAX_PODS_LARGE)


def branch_interfaces(instance: Instance, interfaces: tuple[Interface, ...], *, apart: bool = False) -> int:
    """Pods of a node that can have security groups of their own; 0 where the type has no trunk, or card 0 no place
    left for it beside the node's interface, its EFA and, where pods are `apart`, the one that has their addresses.

    Source: amazon-vpc-resource-controller-k8s, docs/sgp/workflow.md: a node needs room for one interface more.
    """
    room = _address_interfaces(instance, interfaces) > 1 + apart
    return BRANCH_INTERFACES.get(instance.type, 0) if room else 0


def addressed_pods(
    instance: Instance,
    interfaces: tuple[Interface, ...],
    *,
    apart: bool = False,
    prefixes: bool = False,
    trunk: bool = False,
) -> int:
    """Pods that a node has addresses for, those on the host's network included: at most what the kubelet takes.

    `apart`: pods are in subnets of their own, and the primary interface, which is in the node's, carries none of them
    (EKS user guide, "Deploy Pods in alternate subnets with custom networking"). `prefixes`: each place of an interface
    holds a /28 (EKS user guide, "Assign more IP addresses to Amazon EKS nodes with prefixes"). A `trunk` takes the
    place of an interface.
    """
    carrying = _address_interfaces(instance, interfaces) - apart - trunk
    return min(max_pods(instance), _pods(instance, carrying, PREFIX_ADDRESSES if prefixes else 1))


def _pods(instance: Instance, interfaces: int, of_a_place: int = 1) -> int:
    return interfaces * (instance.addresses_per_interface - 1) * of_a_place + _HOST_NETWORK_PODS


def _address_interfaces(instance: Instance, interfaces: tuple[Interface, ...]) -> int:
    """Interfaces of card 0 that can carry pod addresses: the VPC CNI uses card 0 only, and EFA takes slots there."""
    taken = sum(
        interface.network_card_index == 0 and interface.interface_type is InterfaceType.EFA_ONLY
        for interface in interfaces
    )
    return instance.cards[0].max_interfaces - taken


def addresses_per_node(
    instance: Instance, interfaces: tuple[Interface, ...], *, apart: bool = False, prefixes: bool = False
) -> int:
    """Most addresses a node takes from its subnet: whole interfaces for its pods, and one warm (WARM_ENI_TARGET); its
    own one where pods are `apart`. With `prefixes`, whole /28: those of its pods, one warm (WARM_PREFIX_TARGET), and
    one for each interface, whose own address may lie in a /28 that is then no prefix any more.
    """
    if apart:
        return 1
    pods = addressed_pods(instance, interfaces, prefixes=prefixes) - _HOST_NETWORK_PODS
    return _whole(instance, pods, _address_interfaces(instance, interfaces), prefixes=prefixes)


def pod_addresses_per_node(instance: Instance, interfaces: tuple[Interface, ...], *, prefixes: bool = False) -> int:
    """Most addresses of a node in its pods' own subnet: whole interfaces beside the primary one, one of them warm, or
    whole /28 as `addresses_per_node` counts them.
    """
    pods = addressed_pods(instance, interfaces, apart=True, prefixes=prefixes) - _HOST_NETWORK_PODS
    return _whole(instance, pods, _address_interfaces(instance, interfaces) - 1, prefixes=prefixes)


def _whole(instance: Instance, pods: int, most: int, *, prefixes: bool) -> int:
    places = instance.addresses_per_interface - 1
    if prefixes:
        blocks = min(-(-pods // PREFIX_ADDRESSES) + _WARM_PREFIXES, most * places)
        return (blocks + -(-blocks // places)) * PREFIX_ADDRESSES
    needed = -(-pods // (instance.addresses_per_interface - 1)) + _WARM_INTERFACES
    return min(needed, most) * instance.addresses_per_interface
