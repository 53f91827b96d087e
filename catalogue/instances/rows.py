"""How the rows of the instance families are written down."""

from catalogue.prices import tabled
from catalogue.types import Gpu, Instance, NetworkCard, Nvme, Price, UsageClass

OPEN = frozenset({UsageClass.ON_DEMAND, UsageClass.SPOT})
OPEN_AND_BLOCKS = OPEN | {UsageClass.CAPACITY_BLOCK}
BLOCKS_ONLY = frozenset({UsageClass.CAPACITY_BLOCK})

DESCRIBED = "EC2 API, DescribeInstanceTypes: sizes, network cards, EfaInfo.MaximumEfaInterfaces, usage classes"


def equal_cards(count: int, *, interfaces: int, without_efa: frozenset[int] = frozenset()) -> tuple[NetworkCard, ...]:
    """Equal cards that carry EFA, but for those of `without_efa`."""
    return tuple(
        NetworkCard(index=index, efa=index not in without_efa, max_interfaces=interfaces) for index in range(count)
    )


def plain_card(*, interfaces: int) -> tuple[NetworkCard, ...]:
    """The one card of a type without EFA."""
    return equal_cards(1, interfaces=interfaces, without_efa=frozenset({0}))


def graphics(
    type_: str,
    *,
    gpu: Gpu,
    vcpu: int,
    memory_gib: int,
    disk_gb: int,
    interfaces: int,
    addresses: int,
    gbit_per_s: float,
    on_demand: Price,
    gpus: int = 1,
    disks: int = 1,
    cards: int = 1,
    efa: bool = False,
    spot: Price | None = None,
) -> Instance:
    """A row of the G families: `interfaces` of a card, `addresses` of an interface, `gbit_per_s` of all cards together.

    With EFA, every card carries one EFA interface.
    """
    return Instance(
        type=type_,
        vcpu=vcpu,
        memory_gib=memory_gib,
        cards=equal_cards(cards, interfaces=interfaces) if efa else plain_card(interfaces=interfaces),
        addresses_per_interface=addresses,
        network_gbit_per_s=gbit_per_s,
        usage_classes=OPEN,
        source=DESCRIBED,
        gpu=gpu,
        gpu_count=gpus,
        efa_max=cards if efa else 0,
        nvme=Nvme(count=disks, size_gb=disk_gb),
        on_demand=on_demand,
        spot=spot,
    )


def system(
    size: str, *, vcpu: int, memory_gib: int, interfaces: int, addresses: int, gbit_per_s: float, usd: float
) -> Instance:
    """A row of m7i, the system pool's family: `interfaces` of the card, `addresses` of an interface."""
    return Instance(
        type=f"m7i.{size}",
        vcpu=vcpu,
        memory_gib=memory_gib,
        cards=plain_card(interfaces=interfaces),
        addresses_per_interface=addresses,
        network_gbit_per_s=gbit_per_s,
        usage_classes=OPEN,
        source=DESCRIBED,
        on_demand=tabled(usd),
    )
