"""The P families: A100 (p4d, p4de), H100 (p5), H200 (p5e, p5en), B200 and B300 (p6), GB200 (p6e)."""

from collections.abc import Set
from datetime import date

from catalogue.gpus import A100_40, A100_80, B200, B300, GB200, H100, H200
from catalogue.instances.rows import BLOCKS_ONLY, DESCRIBED, OPEN_AND_BLOCKS, equal_cards
from catalogue.prices import BLOCK_PAGE, BLOCK_TABLES, block, listed, spot, tabled
from catalogue.types import Architecture, Gpu, Instance, NetworkCard, Nvme, Price, UsageClass

_ULTRASERVER = (
    "EC2 user guide, EFA configuration for P6e-GB200, and EC2 instance types page; interfaces and addresses per card "
    "are not published and taken as small as those of p5.48xlarge"
)
# Card 0 is ENA only; even cards share a NIC with the one before; 3, 7, 11 and 15 share a GPU with 1, 5, 9 and 13.
_ULTRASERVER_WITHOUT_EFA = frozenset(range(17)) - {1, 5, 9, 13}


def _training(
    type_: str,
    *,
    gpu: Gpu,
    cards: tuple[NetworkCard, ...],
    gbit_per_s: float,
    efa: int,
    vcpu: int = 192,
    memory_gib: int = 2048,
    gpus: int = 8,
    addresses: int = 50,
    disks: int = 8,
    disk_gb: int = 3800,
    usage: Set[UsageClass] = OPEN_AND_BLOCKS,
    architecture: Architecture = Architecture.X86_64,
    source: str = DESCRIBED,
    on_demand: Price | None = None,
    spot_price: Price | None = None,
    block_price: Price | None = None,
) -> Instance:
    """A row of the P families: `addresses` of an interface, `gbit_per_s` of all cards together."""
    return Instance(
        type=type_,
        vcpu=vcpu,
        memory_gib=memory_gib,
        cards=cards,
        addresses_per_interface=addresses,
        network_gbit_per_s=gbit_per_s,
        usage_classes=frozenset(usage),
        source=source,
        architecture=architecture,
        gpu=gpu,
        gpu_count=gpus,
        efa_max=efa,
        nvme=Nvme(count=disks, size_gb=disk_gb),
        on_demand=on_demand,
        spot=spot_price,
        capacity_block=block_price,
    )


P4 = (
    _training(
        "p4d.24xlarge",
        gpu=A100_40,
        vcpu=96,
        memory_gib=1152,
        cards=equal_cards(4, interfaces=15),
        gbit_per_s=400,
        efa=4,
        disks=8,
        disk_gb=1000,
        on_demand=listed(21.95764, 28.54493),
        spot_price=spot(8.2, 2.47, 21.96),
        block_price=block(14.75, 14.75, 14.75, date(2024, 12, 1), BLOCK_PAGE),
    ),
    _training(
        "p4de.24xlarge",
        gpu=A100_80,
        vcpu=96,
        memory_gib=1152,
        cards=equal_cards(4, interfaces=15),
        gbit_per_s=400,
        efa=4,
        disks=8,
        disk_gb=1000,
        on_demand=listed(27.44705, 37.6223),
        spot_price=spot(10.4, 8.03, 37.62),
    ),
)

P5 = (
    _training(
        "p5.4xlarge",
        gpu=H100,
        vcpu=16,
        memory_gib=256,
        cards=equal_cards(1, interfaces=4),
        gbit_per_s=100,
        efa=1,
        gpus=1,
        addresses=30,
        disks=1,
        disk_gb=3800,
        on_demand=listed(6.88, 9.4944),
    ),
    _training(
        "p5.48xlarge",
        gpu=H100,
        cards=equal_cards(32, interfaces=2),
        gbit_per_s=3200,
        efa=32,
        on_demand=listed(55.04, 75.9552),
        spot_price=spot(21.0, 10.2, 55.04),
        block_price=block(39.33, 35.0, 39.33, date(2024, 12, 1), BLOCK_PAGE),
    ),
    _training(
        "p5e.48xlarge",
        gpu=H200,
        cards=equal_cards(32, interfaces=2),
        gbit_per_s=3200,
        efa=32,
        spot_price=spot(19.4, 18.7, 63.0),
        block_price=block(39.80, 34.61, 43.26, date(2026, 4, 26), BLOCK_TABLES),
    ),
    _training(
        "p5en.48xlarge",
        gpu=H200,
        cards=equal_cards(16, interfaces=4),
        gbit_per_s=3200,
        efa=16,
        on_demand=listed(63.296, 87.34848),
        spot_price=spot(26.6, 6.8, 39.8),
        block_price=block(41.61, 36.18, 45.8, date(2026, 4, 26), BLOCK_TABLES),
    ),
)

P6 = (
    _training(
        "p6-b200.48xlarge",
        gpu=B200,
        cards=equal_cards(8, interfaces=4),
        gbit_per_s=3200,
        efa=8,
        on_demand=listed(113.9328),
        spot_price=spot(42.2, 11.4, 114.0),
        block_price=block(98.84, 98.84, 98.84, date(2026, 8, 1), BLOCK_TABLES),
    ),
    _training(
        "p6-b300.48xlarge",
        gpu=B300,
        memory_gib=4096,
        cards=equal_cards(17, interfaces=4, without_efa=frozenset({0})),
        gbit_per_s=6400,
        efa=16,
        on_demand=tabled(142.42),
        spot_price=spot(49.4, 44.59, 51.55),
        block_price=block(112.32, 112.32, 112.32, date(2026, 8, 1), BLOCK_TABLES),
    ),
    _training(
        "p6e-gb200.36xlarge",
        gpu=GB200,
        vcpu=144,
        memory_gib=960,
        cards=equal_cards(17, interfaces=2, without_efa=_ULTRASERVER_WITHOUT_EFA),
        gbit_per_s=1600,
        efa=4,
        gpus=4,
        disks=3,
        disk_gb=7500,
        usage=BLOCKS_ONLY,
        architecture=Architecture.ARM64,
        source=_ULTRASERVER,
        block_price=block(42.328, 42.328, 42.328, date(2026, 4, 24), f"{BLOCK_TABLES}; an eighteenth of 761.904"),
    ),
)

ROWS = (*P4, *P5, *P6)
