"""EC2 instance types: the system pool's m7i sizes and the GPU families g5, g6, g6e and p4d to p6.

Sizes, cards and EFA limits as DescribeInstanceTypes publishes them (a test compares with another copy of that data).
"""

from catalogue import gpus
from catalogue.prices import listed, spot, tabled
from catalogue.types import Gpu, Instance, NetworkCard, Nvme, Price, UsageClass

_OPEN = frozenset({UsageClass.ON_DEMAND, UsageClass.SPOT})
_OPEN_AND_BLOCKS = _OPEN | {UsageClass.CAPACITY_BLOCK}


def _cards(count: int, interfaces: int, efa: bool = True, first_without_efa: bool = False) -> tuple[NetworkCard, ...]:
    return tuple(
        NetworkCard(index=index, efa=efa and not (first_without_efa and index == 0), max_interfaces=interfaces)
        for index in range(count)
    )


def _system(size: str, vcpu: int, memory_gib: int, interfaces: int, addresses: int, usd: float) -> Instance:
    return Instance(
        type=f"m7i.{size}",
        vcpu=vcpu,
        memory_gib=memory_gib,
        cards=_cards(1, interfaces, efa=False),
        addresses_per_interface=addresses,
        usage_classes=_OPEN,
        on_demand=tabled(usd),
    )


def _graphics(
    type_: str,
    gpu: Gpu,
    gpu_count: int,
    vcpu: int,
    memory_gib: int,
    nvme: tuple[int, int],
    network: tuple[int, int, int],
    price: Price,
    efa: int = 0,
) -> Instance:
    """A row of the G families. `nvme` is (disks, GB each), `network` is (cards, interfaces a card, addresses each)."""
    cards, interfaces, addresses = network
    return Instance(
        type=type_,
        vcpu=vcpu,
        memory_gib=memory_gib,
        cards=_cards(cards, interfaces, efa=efa > 0),
        addresses_per_interface=addresses,
        usage_classes=_OPEN,
        gpu=gpu,
        gpu_count=gpu_count,
        efa_max=efa,
        nvme=Nvme(count=nvme[0], size_gb=nvme[1]),
        on_demand=price,
    )


def _training(
    type_: str,
    gpu: Gpu,
    *,
    vcpu: int,
    memory_gib: int,
    cards: tuple[NetworkCard, ...],
    efa: int,
    on_demand: Price | None,
    spot_price: Price | None = None,
    gpu_count: int = 8,
    addresses: int = 50,
    nvme: tuple[int, int] = (8, 3800),
) -> Instance:
    """A row of the P families. `nvme` is (disks, GB each)."""
    return Instance(
        type=type_,
        vcpu=vcpu,
        memory_gib=memory_gib,
        cards=cards,
        addresses_per_interface=addresses,
        usage_classes=_OPEN_AND_BLOCKS,
        gpu=gpu,
        gpu_count=gpu_count,
        efa_max=efa,
        nvme=Nvme(count=nvme[0], size_gb=nvme[1]),
        on_demand=on_demand,
        spot=spot_price,
    )


_SYSTEM = (
    _system("large", 2, 8, 3, 10, 0.1008),
    _system("xlarge", 4, 16, 4, 15, 0.2016),
    _system("2xlarge", 8, 32, 4, 15, 0.4032),
    _system("4xlarge", 16, 64, 8, 30, 0.8064),
    _system("8xlarge", 32, 128, 8, 30, 1.6128),
    _system("12xlarge", 48, 192, 8, 30, 2.4192),
    _system("16xlarge", 64, 256, 15, 50, 3.2256),
)

_G5 = (
    _graphics("g5.xlarge", gpus.A10G, 1, 4, 16, (1, 250), (1, 4, 15), tabled(1.006)),
    _graphics("g5.2xlarge", gpus.A10G, 1, 8, 32, (1, 450), (1, 4, 15), tabled(1.212)),
    _graphics("g5.4xlarge", gpus.A10G, 1, 16, 64, (1, 600), (1, 8, 30), tabled(1.624)),
    _graphics("g5.8xlarge", gpus.A10G, 1, 32, 128, (1, 900), (1, 8, 30), tabled(2.448), efa=1),
    _graphics("g5.12xlarge", gpus.A10G, 4, 48, 192, (1, 3800), (1, 15, 50), tabled(5.672), efa=1),
    _graphics("g5.16xlarge", gpus.A10G, 1, 64, 256, (1, 1900), (1, 8, 30), tabled(4.096), efa=1),
    _graphics("g5.24xlarge", gpus.A10G, 4, 96, 384, (1, 3800), (1, 15, 50), tabled(8.144), efa=1),
    _graphics("g5.48xlarge", gpus.A10G, 8, 192, 768, (2, 3800), (1, 7, 50), tabled(16.288), efa=1),
)

_G6 = (
    _graphics("g6.xlarge", gpus.L4, 1, 4, 16, (1, 250), (1, 4, 15), tabled(0.8048)),
    _graphics("g6.2xlarge", gpus.L4, 1, 8, 32, (1, 450), (1, 4, 15), tabled(0.9776)),
    _graphics("g6.4xlarge", gpus.L4, 1, 16, 64, (1, 600), (1, 8, 30), tabled(1.3232)),
    _graphics("g6.8xlarge", gpus.L4, 1, 32, 128, (2, 450), (1, 8, 30), tabled(2.0144), efa=1),
    _graphics("g6.12xlarge", gpus.L4, 4, 48, 192, (4, 940), (1, 8, 30), tabled(4.6016), efa=1),
    _graphics("g6.16xlarge", gpus.L4, 1, 64, 256, (2, 940), (1, 15, 50), tabled(3.3968), efa=1),
    _graphics("g6.24xlarge", gpus.L4, 4, 96, 384, (4, 940), (1, 15, 50), tabled(6.6752), efa=1),
    _graphics("g6.48xlarge", gpus.L4, 8, 192, 768, (8, 940), (1, 15, 50), tabled(13.3504), efa=1),
)

_G6E = (
    _graphics("g6e.xlarge", gpus.L40S, 1, 4, 32, (1, 250), (1, 4, 15), tabled(1.861)),
    _graphics("g6e.2xlarge", gpus.L40S, 1, 8, 64, (1, 450), (1, 4, 15), tabled(2.24208)),
    _graphics("g6e.4xlarge", gpus.L40S, 1, 16, 128, (1, 600), (1, 8, 30), tabled(3.00424)),
    _graphics("g6e.8xlarge", gpus.L40S, 1, 32, 256, (2, 450), (1, 8, 30), tabled(4.52856), efa=1),
    _graphics("g6e.12xlarge", gpus.L40S, 4, 48, 384, (2, 1900), (1, 10, 30), tabled(10.49264, 10.6032), efa=1),
    _graphics("g6e.16xlarge", gpus.L40S, 1, 64, 512, (2, 950), (1, 15, 50), tabled(7.57719), efa=1),
    _graphics("g6e.24xlarge", gpus.L40S, 4, 96, 768, (2, 1900), (2, 10, 50), tabled(15.06559), efa=2),
    _graphics("g6e.48xlarge", gpus.L40S, 8, 192, 1536, (4, 1900), (4, 10, 50), tabled(30.13118), efa=4),
)

_P = (
    _training(
        "p4d.24xlarge",
        gpus.A100_40,
        vcpu=96,
        memory_gib=1152,
        cards=_cards(4, 15),
        efa=4,
        on_demand=listed(21.95764, 28.54493),
        spot_price=spot(8.2, 2.47, 21.96),
        nvme=(8, 1000),
    ),
    _training(
        "p4de.24xlarge",
        gpus.A100_80,
        vcpu=96,
        memory_gib=1152,
        cards=_cards(4, 15),
        efa=4,
        on_demand=listed(27.44705, 37.6223),
        spot_price=spot(10.4, 8.03, 37.62),
        nvme=(8, 1000),
    ),
    _training(
        "p5.4xlarge",
        gpus.H100,
        vcpu=16,
        memory_gib=256,
        cards=_cards(1, 4),
        efa=1,
        on_demand=listed(6.88, 9.4944),
        gpu_count=1,
        addresses=30,
        nvme=(1, 3800),
    ),
    _training(
        "p5.48xlarge",
        gpus.H100,
        vcpu=192,
        memory_gib=2048,
        cards=_cards(32, 2),
        efa=32,
        on_demand=listed(55.04, 75.9552),
        spot_price=spot(21.0, 10.2, 55.04),
    ),
    _training(
        "p5e.48xlarge",
        gpus.H200,
        vcpu=192,
        memory_gib=2048,
        cards=_cards(32, 2),
        efa=32,
        on_demand=None,
        spot_price=spot(19.4, 18.7, 63.0),
    ),
    _training(
        "p5en.48xlarge",
        gpus.H200,
        vcpu=192,
        memory_gib=2048,
        cards=_cards(16, 4),
        efa=16,
        on_demand=listed(63.296, 87.34848),
        spot_price=spot(26.6, 6.8, 39.8),
    ),
    _training(
        "p6-b200.48xlarge",
        gpus.B200,
        vcpu=192,
        memory_gib=2048,
        cards=_cards(8, 4),
        efa=8,
        on_demand=listed(113.9328),
        spot_price=spot(22.0, 13.0, 114.0),
    ),
    _training(
        "p6-b300.48xlarge",
        gpus.B300,
        vcpu=192,
        memory_gib=4096,
        cards=_cards(17, 4, first_without_efa=True),
        efa=16,
        on_demand=None,
    ),
)

INSTANCES = {row.type: row for row in (*_SYSTEM, *_G5, *_G6, *_G6E, *_P)}
