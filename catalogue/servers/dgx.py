"""NVIDIA's own systems: maxima, supplies and device names from their user guides."""

from catalogue import gpus
from catalogue.metal_types import Cooling, Server
from catalogue.processors import cpu
from catalogue.servers.rows import BOARD_W, COMPUTE, DRIVES, MANAGEMENT, STORAGE, cards, price, supplies

_H_GUIDE = "NVIDIA DGX H100/H200 System User Guide"
_H_CARDS = (
    cards(
        COMPUTE,
        "ConnectX-7 NDR",
        8,
        *("mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11"),
        ports_per_cage=2,
    ),
    cards(STORAGE, "ConnectX-7 NDR", 2, "mlx5_1", "mlx5_7"),
    cards(MANAGEMENT, "ConnectX-7 400GbE", 2, "mlx5_2", "mlx5_8"),
)
_WARMEST_C = 30
"""System user guides of DGX A100 and of DGX H100/H200, Environmental Specifications: 5 to 30 C in operation."""

_A100_RAILS = ("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_6", "mlx5_7", "mlx5_8", "mlx5_9")

DGX = (
    Server(
        name="DGX A100",
        cpu=cpu("AMD EPYC 7742"),
        memory_gib=2048,
        gpu=gpus.A100_80,
        gpu_count=8,
        nvme=DRIVES,
        nics=(
            cards(COMPUTE, "ConnectX-6 HDR", 8, *_A100_RAILS),
            cards(STORAGE, "ConnectX-6 HDR dual", 1, "mlx5_4", "mlx5_5"),
            cards(MANAGEMENT, "1GbE", 1),
        ),
        power_supplies=supplies(6, 3000, 3),
        max_w=6500,
        rack_units=6,
        cooling=Cooling.AIR,
        bmc=True,
        source="NVIDIA DGX A100 System User Guide, 640 GB; devices in the order of their names",
        inlet_c=_WARMEST_C,
        price=price(199_000, 149_000, 249_000, "list price at launch"),
    ),
    Server(
        name="DGX H100",
        cpu=cpu("Intel Xeon Platinum 8480C"),
        memory_gib=2048,
        gpu=gpus.H100,
        gpu_count=8,
        nvme=DRIVES,
        nics=_H_CARDS,
        power_supplies=supplies(6, 3300, 2),
        max_w=BOARD_W["H100"],
        rack_units=8,
        cooling=Cooling.AIR,
        bmc=True,
        source=f"{_H_GUIDE}, devices by GPU; a dual-port card counts as one InfiniBand and one Ethernet card",
        inlet_c=_WARMEST_C,
        price=price(300_000, 250_000, 375_000, "eight for 2 to 3 million USD; 270 thousand each (SemiAnalysis, 2023)"),
    ),
    Server(
        name="DGX H200",
        cpu=cpu("Intel Xeon Platinum 8480C"),
        memory_gib=2048,
        gpu=gpus.H200,
        gpu_count=8,
        nvme=DRIVES,
        nics=_H_CARDS,
        power_supplies=supplies(6, 3300, 2),
        max_w=BOARD_W["H200"],
        rack_units=8,
        cooling=Cooling.AIR,
        bmc=True,
        source=_H_GUIDE,
        inlet_c=_WARMEST_C,
        price=price(350_000, 290_000, 450_000, "the H100 system, and five thousand more per GPU"),
    ),
    Server(
        name="DGX B200",
        cpu=cpu("Intel Xeon Platinum 8570"),
        memory_gib=2048,
        gpu=gpus.B200,
        gpu_count=8,
        nvme=DRIVES,
        nics=(
            cards(COMPUTE, "ConnectX-7 NDR", 8, ports_per_cage=2),
            cards(STORAGE, "BlueField-3 NDR", 2),
            cards(MANAGEMENT, "BlueField-3 400GbE", 2),
        ),
        power_supplies=supplies(6, 3300, 1),
        max_w=BOARD_W["B200"],
        rack_units=10,
        cooling=Cooling.AIR,
        bmc=True,
        source="NVIDIA DGX B200 System User Guide",
        price=price(515_000, 400_000, 600_000, "price seen in March 2025"),
    ),
)
"""Six supplies each. H100 and H200 run at reduced speed on three of them, B200 needs five."""
