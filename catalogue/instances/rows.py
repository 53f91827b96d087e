"""How the rows of the instance families are written down."""

import json
from collections.abc import Mapping

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


def family(gpu: Gpu, table: str, spots: Mapping[str, Price] | None = None) -> tuple[Instance, ...]:
    """Rows of a G family, one type a line. The head names the columns: the type, arguments of `graphics`, and its price
    on demand, `usd` an hour, with the dearest one seen, `high`. `spots` are the spot prices that are known.

    Raises ValueError for a line with other columns than the head, and TypeError for a column that is unknown.
    """
    (_, *columns), *lines = (line.split() for line in table.strip().splitlines())
    rows = {type_: dict(zip(columns, map(json.loads, cells), strict=True)) for type_, *cells in lines}
    return tuple(
        graphics(
            type_, gpu=gpu, on_demand=tabled(row.pop("usd"), row.pop("high")), spot=(spots or {}).get(type_), **row
        )
        for type_, row in rows.items()
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
