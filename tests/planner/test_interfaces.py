"""Network interfaces, pods and addresses per node."""

import pytest

from catalogue.instances import INSTANCES
from catalogue.types import InterfaceType
from planner.interfaces import addressed_pods, addresses_per_node, efa_count, eni_pods, layout, max_pods

ENA, EFA_ONLY = InterfaceType.ENA, InterfaceType.EFA_ONLY


PRIMARY, BESIDE = (0, 0, ENA), (0, 1, EFA_ONLY)


def _cards(*indexes: int) -> tuple[tuple[int, int, InterfaceType], ...]:
    return tuple((index, 0, EFA_ONLY) for index in indexes)


@pytest.mark.parametrize(
    ("name", "interfaces"),
    [
        ("p4d.24xlarge", (PRIMARY, BESIDE, *_cards(1, 2, 3))),
        ("p4de.24xlarge", (PRIMARY, BESIDE, *_cards(1, 2, 3))),
        ("p5.4xlarge", (PRIMARY, BESIDE)),
        ("p5.48xlarge", (PRIMARY, BESIDE, *_cards(*range(1, 32)))),
        ("p5e.48xlarge", (PRIMARY, BESIDE, *_cards(*range(1, 32)))),
        ("p5en.48xlarge", (PRIMARY, BESIDE, *_cards(*range(1, 16)))),
        ("p6-b200.48xlarge", (PRIMARY, BESIDE, *_cards(1, 2, 3, 4, 5, 6, 7))),
        ("p6-b300.48xlarge", (PRIMARY, *_cards(*range(1, 17)))),
        ("p6e-gb200.36xlarge", (PRIMARY, *_cards(1, 5, 9, 13))),
        ("g4dn.8xlarge", (PRIMARY, BESIDE)),
        ("g5.48xlarge", (PRIMARY, BESIDE)),
        ("g6e.12xlarge", (PRIMARY, BESIDE)),
        ("g6e.24xlarge", (PRIMARY, BESIDE, *_cards(1))),
        ("g6e.48xlarge", (PRIMARY, BESIDE, *_cards(1, 2, 3))),
        ("g7e.48xlarge", (PRIMARY, BESIDE, *_cards(1, 2, 3))),
        ("c5n.18xlarge", (PRIMARY, BESIDE)),
        ("hpc6id.32xlarge", ((0, 0, InterfaceType.EFA), *_cards(1))),
        ("g5.xlarge", (PRIMARY,)),
        ("inf2.xlarge", (PRIMARY,)),
    ],
)
def test_layouts_are_those_of_the_ec2_user_guide(
    name: str, interfaces: tuple[tuple[int, int, InterfaceType], ...]
) -> None:
    """NW10, NW11, E21: card 0 is ENA first; EFA beside it where the card carries it; further cards efa-only at 0."""
    assert layout(INSTANCES[name], fabric=True) == interfaces


def test_small_types_have_no_efa() -> None:
    """NW11, E21: EFA of the G families begins at 8xlarge; below there is none."""
    graphics = {row.type: efa_count(layout(row, fabric=True)) for row in INSTANCES.values() if row.type[0] == "g"}
    assert all((count > 0) is (INSTANCES[name].vcpu >= 32) for name, count in graphics.items())


@pytest.mark.parametrize("name", INSTANCES)
def test_layout_is_one_that_ec2_accepts(name: str) -> None:
    """NW11: never more EFA than EC2's limit, never more interfaces on a card than fit, no slot twice."""
    row = INSTANCES[name]
    interfaces = layout(row, fabric=True)
    assert interfaces[0][:2] == (0, 0)
    assert interfaces[0].interface_type is not EFA_ONLY
    assert efa_count(interfaces) == row.efa_max
    slots = [(interface.network_card_index, interface.device_index) for interface in interfaces]
    assert len(set(slots)) == len(slots)
    for card in row.cards:
        assert sum(interface.network_card_index == card.index for interface in interfaces) <= card.max_interfaces


@pytest.mark.parametrize("name", INSTANCES)
def test_without_a_fabric_there_is_one_interface(name: str) -> None:
    """Service and system nodes take no EFA, which would cost them pod addresses."""
    assert layout(INSTANCES[name], fabric=False) == ((0, 0, ENA),)


@pytest.mark.parametrize(
    ("name", "pods"),
    [
        ("m7i.large", 29),
        ("m7i.xlarge", 58),
        ("g6e.xlarge", 58),
        ("m7i.4xlarge", 110),
        ("p5.4xlarge", 110),
        ("g6e.48xlarge", 250),
        ("p4d.24xlarge", 250),
        ("p5.48xlarge", 100),
    ],
)
def test_pods_that_eks_lets_in_lf10(name: str, pods: int) -> None:
    """LF10: EKS counts by the type and caps at 110 and 250; what EFA takes of the places it does not know."""
    assert max_pods(INSTANCES[name]) == pods


@pytest.mark.parametrize(
    ("name", "fabric", "pods"),
    [
        ("g6e.xlarge", False, 58),
        ("p5.4xlarge", False, 110),
        ("p5.4xlarge", True, 89),
        ("p5.48xlarge", False, 100),
        ("p5.48xlarge", True, 51),
        ("p4d.24xlarge", True, 250),
        ("hpc6id.32xlarge", True, 51),
        ("p6e-gb200.36xlarge", True, 100),
    ],
)
def test_pods_that_have_addresses_lf10(name: str, fabric: bool, pods: int) -> None:
    """LF10: EFA beside the first interface takes a place that carries addresses: half of those of a p5."""
    row = INSTANCES[name]
    assert addressed_pods(row, layout(row, fabric)) == pods <= max_pods(row)


def test_the_kubelets_memory_is_kept_by_the_type_lf10() -> None:
    """nodeadm reserves 11 MiB for each pod of its own formula, 737 of them on p4d, whatever EKS then caps."""
    row = INSTANCES["p4d.24xlarge"]
    assert (eni_pods(row), max_pods(row)) == (737, 250)


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize("fabric", [True, False])
def test_addresses_suffice_for_the_pods(name: str, fabric: bool) -> None:
    """F02: a node's worst case covers its pods and itself, and comes in whole interfaces."""
    row = INSTANCES[name]
    interfaces = layout(row, fabric)
    addresses = addresses_per_node(row, interfaces)
    assert addresses % row.addresses_per_interface == 0
    assert addresses >= addressed_pods(row, interfaces) - 2


@pytest.mark.parametrize(
    ("name", "addresses"),
    [
        ("p5.48xlarge", 50),
        ("p5.4xlarge", 90),
        ("p6-b300.48xlarge", 200),
        ("hpc6id.32xlarge", 50),
        ("g6e.48xlarge", 350),
    ],
)
def test_efa_only_interfaces_take_no_addresses(name: str, addresses: int) -> None:
    """F02, E21: 33 interfaces of a p5 node take 50 addresses, as 32 of them have none; all slots are of card 0."""
    row = INSTANCES[name]
    assert addresses_per_node(row, layout(row, fabric=True)) == addresses
