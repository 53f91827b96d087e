"""Other makers' boxes around NVIDIA's boards of four or eight GPUs.

Their makers give sizing tools instead of a maximum: unless a row says otherwise it carries the maximum of NVIDIA's own
system with the same board, until the tool's figure is entered as a row of the site.
"""

from catalogue import gpus
from catalogue.metal_types import Cooling, PowerSupplies, Server
from catalogue.network_types import NicGroup
from catalogue.processors import cpu
from catalogue.servers.rows import BOARD_W, COMPUTE, DRIVES, MANAGEMENT, STORAGE, cards, price, supplies
from catalogue.types import Gpu, Nvme, PurchasePrice

_CARDS = (
    cards(COMPUTE, "ConnectX-7 NDR", 8),
    cards(STORAGE, "ConnectX-7 200GbE", 2),
    cards(MANAGEMENT, "10GbE dual", 1),
)
_ONE_HDR = (cards(COMPUTE, "ConnectX-7 HDR", 1, "mlx5_0"), cards(MANAGEMENT, "10GbE dual", 1))
_XE9680 = "Dell PowerEdge XE9680 technical guide (5+1 supplies)"
_QUOTED = price(310_000, 250_000, 375_000, "integrators' quotations of 2024 with eight 400 Gb/s cards")


def _eight(
    name: str,
    processor: str,
    *,
    memory_gib: int,
    rack_units: int,
    power: PowerSupplies,
    source: str,
    gpu: Gpu = gpus.H100,
    nics: tuple[NicGroup, ...] = _CARDS,
    nvme: Nvme = DRIVES,
    cooling: Cooling = Cooling.AIR,
    usd: PurchasePrice | None = _QUOTED,
) -> Server:
    """A box with eight GPUs on NVIDIA's board."""
    return Server(
        name=name,
        cpu=cpu(processor),
        memory_gib=memory_gib,
        gpu=gpu,
        gpu_count=8,
        nvme=nvme,
        nics=nics,
        power_supplies=power,
        max_w=BOARD_W[gpu.name],
        rack_units=rack_units,
        cooling=cooling,
        bmc=True,
        source=source,
        price=usd,
    )


HGX = (
    _eight(
        "Supermicro AS-8125GS-TNHR",
        "AMD EPYC 9654",
        memory_gib=2304,
        rack_units=8,
        power=supplies(6, 3000, 2),
        source="Supermicro AS-8125GS-TNHR page; 24 modules of 96 GB",
    ),
    _eight(
        "Supermicro SYS-821GE-TNHR H200",
        "Intel Xeon Platinum 8592+",
        memory_gib=1536,
        rack_units=8,
        power=supplies(6, 3000, 2),
        source="Supermicro SYS-821GE-TNHR page; 24 modules of 64 GB",
        gpu=gpus.H200,
        usd=price(350_000, 290_000, 450_000, "quotations with H100, and five thousand more per GPU"),
    ),
    _eight(
        "Supermicro SYS-421GE-TNHR2-LCC",
        "Intel Xeon Platinum 8480+",
        memory_gib=2048,
        rack_units=4,
        power=supplies(4, 5250, 2),
        source="Supermicro SYS-421GE-TNHR2-LCC page, cold plates on GPUs and processors",
        cooling=Cooling.DLC,
    ),
    _eight(
        "Dell PowerEdge XE9680",
        "Intel Xeon Platinum 8470",
        memory_gib=2048,
        rack_units=6,
        power=supplies(6, 2800, 1),
        source=f"{_XE9680}; processors, memory and cards as in MLPerf inference v3.1",
    ),
    _eight(
        "Dell PowerEdge XE9680 HDR",
        "Intel Xeon Platinum 8592+",
        memory_gib=1536,
        rack_units=6,
        power=supplies(6, 2800, 1),
        source=f"{_XE9680}; one 200 Gb/s card for eight GPUs, and no card for storage",
        nics=_ONE_HDR,
        nvme=Nvme(count=2, size_gb=3840),
        usd=price(260_000, 200_000, 330_000, "quotations with eight cards, less seven of 6 to 8 thousand"),
    ),
    _eight(
        "HPE Cray XD670",
        "Intel Xeon Platinum 8480+",
        memory_gib=2048,
        rack_units=5,
        power=supplies(6, 3000, 2),
        source="HPE Cray XD670 QuickSpecs, air-cooled; supplies as in GIGABYTE's G593, whose board it has",
    ),
    _eight(
        "ASUS XA NB3I-E12",
        "Intel Xeon 6776P",
        memory_gib=4096,
        rack_units=9,
        power=supplies(10, 3200, 5),
        source="ASUS XA NB3I-E12 page, HGX B300, 5+5 supplies",
        gpu=gpus.B300,
        nics=(
            cards(COMPUTE, "ConnectX-8 XDR", 8),
            cards(STORAGE, "BlueField-3 400GbE", 2),
            cards(MANAGEMENT, "10GbE dual", 1),
        ),
        usd=None,
    ),
    Server(
        name="Dell PowerEdge XE8640",
        cpu=cpu("Intel Xeon Platinum 8480+"),
        memory_gib=1024,
        gpu=gpus.H100,
        gpu_count=4,
        nvme=Nvme(count=4, size_gb=3840),
        nics=(
            cards(COMPUTE, "ConnectX-7 NDR", 4),
            cards(STORAGE, "ConnectX-7 200GbE", 1),
            cards(MANAGEMENT, "10GbE dual", 1),
        ),
        power_supplies=supplies(4, 2800, 2),
        max_w=5100,
        rack_units=4,
        cooling=Cooling.AIR,
        bmc=True,
        source="Dell PowerEdge XE8640 technical guide; maximum taken as half of the eight-GPU board's",
        price=price(165_000, 125_000, 200_000, "half of an eight-GPU quotation, and a tenth more for the rest"),
    ),
    Server(
        name="HPE ProLiant XL675d A100",
        cpu=cpu("AMD EPYC 7763"),
        memory_gib=1024,
        gpu=gpus.A100_80,
        gpu_count=8,
        nvme=Nvme(count=4, size_gb=3840),
        nics=(
            cards(COMPUTE, "ConnectX-6 HDR", 4),
            cards(STORAGE, "ConnectX-6 200GbE", 1),
            cards(MANAGEMENT, "10GbE dual", 1),
        ),
        power_supplies=supplies(6, 3000, 3),
        max_w=6500,
        rack_units=6,
        cooling=Cooling.AIR,
        bmc=True,
        source="HPE Apollo 6500 Gen10 Plus QuickSpecs (XL675d); maximum and supplies taken as DGX A100's",
    ),
)
