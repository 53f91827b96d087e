"""Network interfaces, pods and addresses per node."""

import pytest

from catalogue.instances import INSTANCES
from catalogue.types import InterfaceType
from planner.interfaces import addresses_per_node, efa_count, layout, max_pods

ENA, EFA_ONLY = InterfaceType.ENA, InterfaceType.EFA_ONLY


def test_p5_has_32_efa_devices_beside_its_ena_interface() -> None:
    """NW11, L07: EC2 user guide's own example for p5.48xlarge: 32 EFA-only interfaces and one ENA."""
    interfaces = layout(INSTANCES["p5.48xlarge"], fabric=True)
    assert interfaces[:3] == ((0, 0, ENA), (0, 1, EFA_ONLY), (1, 0, EFA_ONLY))
    assert len(interfaces) == 33
    assert efa_count(interfaces) == 32


def test_p5_4xlarge_has_one_efa_device_on_its_only_card() -> None:
    """NW11: the small p5 goes the whole EFA way with one card."""
    assert layout(INSTANCES["p5.4xlarge"], fabric=True) == ((0, 0, ENA), (0, 1, EFA_ONLY))


def test_p6_b300_keeps_card_0_free_of_efa() -> None:
    """NW11: 17 cards, of which the first is ENA only: 16 EFA devices at cards 1 to 16."""
    interfaces = layout(INSTANCES["p6-b300.48xlarge"], fabric=True)
    assert interfaces[0] == (0, 0, ENA)
    assert [interface.network_card_index for interface in interfaces[1:]] == list(range(1, 17))
    assert all(interface.device_index == 0 for interface in interfaces)


@pytest.mark.parametrize("name", INSTANCES)
def test_layout_is_one_that_ec2_accepts(name: str) -> None:
    """NW11: never more EFA than EC2's limit, never more interfaces on a card than fit, no slot twice."""
    row = INSTANCES[name]
    interfaces = layout(row, fabric=True)
    assert interfaces[0] == (0, 0, ENA)
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
    ("name", "fabric", "pods"),
    [
        ("m7i.xlarge", False, 58),
        ("m7i.large", False, 29),
        ("g6e.xlarge", False, 58),
        ("m7i.4xlarge", False, 110),
        ("g6e.48xlarge", False, 250),
        ("p5.48xlarge", False, 100),
        ("p5.48xlarge", True, 51),
        ("p4d.24xlarge", True, 250),
    ],
)
def test_pods_per_node(name: str, fabric: bool, pods: int) -> None:
    """eni-max-pods of the AMI (58, 29, 100), the caps of managed node groups (110, 250), and EFA's toll on p5."""
    row = INSTANCES[name]
    assert max_pods(row, layout(row, fabric)) == pods


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize("fabric", [True, False])
def test_addresses_suffice_for_the_pods(name: str, fabric: bool) -> None:
    """F02: a node's worst case covers its pods and itself, and comes in whole interfaces."""
    row = INSTANCES[name]
    interfaces = layout(row, fabric)
    addresses = addresses_per_node(row, interfaces)
    assert addresses % row.addresses_per_interface == 0
    assert addresses >= max_pods(row, interfaces) - 2
