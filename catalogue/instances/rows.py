"""How the rows of the instance families are written down."""

from catalogue.prices import tabled
from catalogue.types import Gpu, Instance, NetworkCard, Nvme, Price, UsageClass

OPEN = frozenset({UsageClass.ON_DEMAND, UsageClass.SPOT})
OPEN_AND_BLOCKS = OPEN | {UsageClass.CAPACITY_BLOCK}
BLOCKS_ONLY = frozenset({UsageClass.CAPACITY_BLOCK})

DESCRIBED = "EC2 API, DescribeInstanceTypes: sizes, network cards, EfaInfo.MaximumEfaInterfaces, usage classes"


def cards(count: int, interfaces: int, *, without_efa: frozenset[int] = frozenset()) -> tuple[NetworkCard, ...]:
    """Equal cards that carry EFA, but for those of `without_efa`."""
    return tuple(
        NetworkCard(index=index, efa=index not in without_efa, max_interfaces=interfaces) for index in range(count)
    )


def plain_card(interfaces: int) -> tuple[NetworkCard, ...]:
    """The one card of a type without EFA."""
    return cards(1, interfaces, without_efa=frozenset({0}))


def graphics(
    type_: str,
    gpu: Gpu,
    gpu_count: int,
    vcpu: int,
    memory_gib: int,
    nvme: tuple[int, int],
    network: tuple[int, int, int, float],
    price: Price,
    *,
    efa: bool = False,
    spot: Price | None = None,
) -> Instance:
    """A row of the G families.

    `nvme` is (disks, GB each); `network` is (cards, interfaces a card, addresses each, Gb/s of all). With EFA, every
    card carries one EFA interface.
    """
    count, interfaces, addresses, gbit_per_s = network
    return Instance(
        type=type_,
        vcpu=vcpu,
        memory_gib=memory_gib,
        cards=cards(count, interfaces) if efa else plain_card(interfaces),
        addresses_per_interface=addresses,
        network_gbit_per_s=gbit_per_s,
        usage_classes=OPEN,
        source=DESCRIBED,
        gpu=gpu,
        gpu_count=gpu_count,
        efa_max=count if efa else 0,
        nvme=Nvme(count=nvme[0], size_gb=nvme[1]),
        on_demand=price,
        spot=spot,
    )


def system(size: str, vcpu: int, memory_gib: int, network: tuple[int, int, float], usd: float) -> Instance:
    """A row of m7i, the system pool's family. `network` is (interfaces, addresses each, Gb/s)."""
    interfaces, addresses, gbit_per_s = network
    return Instance(
        type=f"m7i.{size}",
        vcpu=vcpu,
        memory_gib=memory_gib,
        cards=plain_card(interfaces),
        addresses_per_interface=addresses,
        network_gbit_per_s=gbit_per_s,
        usage_classes=OPEN,
        source=DESCRIBED,
        on_demand=tabled(usd),
    )
