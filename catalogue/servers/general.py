"""Servers without GPUs for the control plane and services, and boxes for a lab."""

from catalogue import gpus
from catalogue.metal_types import Cooling, PowerSupplies, Server
from catalogue.processors import cpu
from catalogue.servers.rows import MANAGEMENT, STORAGE, cards, price, supplies
from catalogue.types import Gpu, Nvme

_LAB = "a desktop computer of 2021 with one supply and no management controller; figures approximate"


def _lab(name: str, memory_gib: int, power: PowerSupplies, max_w: int, gpu: Gpu | None = None) -> Server:
    return Server(
        name=name,
        cpu=cpu("AMD Ryzen 7 5800X", sockets=1),
        memory_gib=memory_gib,
        gpu=gpu,
        gpu_count=1 if gpu else 0,
        nvme=Nvme(count=1, size_gb=1000),
        nics=(cards(MANAGEMENT, "1GbE", 1),),
        power_supplies=power,
        max_w=max_w,
        rack_units=4,
        cooling=Cooling.AIR,
        bmc=False,
        source=_LAB,
    )


GENERAL = (
    Server(
        name="Dell PowerEdge R660",
        cpu=cpu("Intel Xeon Gold 6430"),
        memory_gib=256,
        gpu=None,
        gpu_count=0,
        nvme=Nvme(count=2, size_gb=1920),
        nics=(cards(STORAGE, "ConnectX-6 Dx 100GbE dual", 1), cards(MANAGEMENT, "10GbE dual", 1)),
        power_supplies=supplies(2, 1100, 1),
        max_w=900,
        rack_units=1,
        cooling=Cooling.AIR,
        bmc=True,
        source="Dell PowerEdge R660 technical guide; maximum approximate",
        price=price(15_000, 10_000, 25_000, "configured two-socket servers"),
    ),
    Server(
        name="Dell PowerEdge R760",
        cpu=cpu("Intel Xeon Platinum 8480+"),
        memory_gib=512,
        gpu=None,
        gpu_count=0,
        nvme=Nvme(count=4, size_gb=3840),
        nics=(cards(STORAGE, "ConnectX-6 Dx 100GbE dual", 1), cards(MANAGEMENT, "10GbE dual", 1)),
        power_supplies=supplies(2, 1800, 1),
        max_w=1400,
        rack_units=2,
        cooling=Cooling.AIR,
        bmc=True,
        source="Dell PowerEdge R760 technical guide; maximum approximate",
        price=price(25_000, 15_000, 40_000, "configured two-socket servers"),
    ),
    _lab("Lab box", 32, supplies(1, 450, 0), 250),
    _lab("Lab box RTX 3060", 64, supplies(1, 650, 0), 420, gpus.RTX_3060),
    _lab("Lab box RTX 3080", 64, supplies(1, 750, 0), 570, gpus.RTX_3080),
)
