"""What GPU boards draw, clock and move, by the product's name (`devices/gpus.py`).

Sources: NVIDIA's data sheets (V100 SXM2, T4, A10, A100 SXM4, L4, L40S, H100 SXM5, H200 SXM, B200 and B300 of HGX, RTX
PRO 6000 Blackwell Server Edition; the A10G of EC2 G5 has none of its own) and its page of the GeForce RTX 3060: board
power in W, memory in GB/s, dense BF16 (FP16 before Ampere) in TFLOPS, NVLinks and GB/s of each in one direction. Clocks
are the highest that `nvidia-smi -q` names ("Max Clocks") in MHz, of the GeForce the boost of its page.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Board:
    """One board; units as above. `hbm` tells whether its memory has a temperature of its own."""

    watts: float
    sm_mhz: int
    memory_mhz: int
    memory_gbps: float
    tflops: float
    links: int = 0
    link_gbps: float = 0.0
    hbm: bool = False


BOARDS: dict[str, Board] = {
    "Tesla-V100-SXM2-32GB": Board(300, 1530, 877, 900, 125, 6, 25, hbm=True),
    "Tesla-T4": Board(70, 1590, 5001, 320, 65),
    "NVIDIA-T4G": Board(70, 1590, 5001, 320, 65),
    "NVIDIA-A10G": Board(300, 1710, 6251, 600, 70),
    "NVIDIA-A100-SXM4-40GB": Board(400, 1410, 1215, 1555, 312, 12, 25, hbm=True),
    "NVIDIA-A100-SXM4-80GB": Board(400, 1410, 1593, 2039, 312, 12, 25, hbm=True),
    "NVIDIA-L4": Board(72, 2040, 6251, 300, 121),
    "NVIDIA-L40S": Board(350, 2520, 9001, 864, 362),
    "NVIDIA-H100-80GB-HBM3": Board(700, 1980, 2619, 3350, 989, 18, 25, hbm=True),
    "NVIDIA-H200": Board(700, 1980, 3201, 4800, 989, 18, 25, hbm=True),
    "NVIDIA-B200": Board(1000, 1965, 3996, 8000, 2250, 18, 50, hbm=True),
    "NVIDIA-B300-SXM6-AC": Board(1100, 2032, 3996, 8000, 2250, 18, 50, hbm=True),
    "NVIDIA-GeForce-RTX-3060": Board(170, 1777, 7501, 360, 25.5),
    "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition": Board(600, 2430, 12481, 1597, 503),
}

IDLE_SHARE, BUSY_SHARE = 0.1, 0.9
"""Of the board's power, what it draws when nothing runs and when kernels run all the time. Assumed, of all."""

IDLE_CELSIUS, BUSY_CELSIUS, SLOWDOWN_CELSIUS, MEMORY_ABOVE = 30.0, 65.0, 90.0, 8.0
"""Temperatures in a hall that is cooled as it should be, and the one from which a GPU slows down. Assumed, of all."""


def watts(board: Board, compute: float) -> float:
    """What a board draws while kernels run for a share `compute` of the time."""
    return board.watts * (IDLE_SHARE + (BUSY_SHARE - IDLE_SHARE) * compute)


def celsius(compute: float) -> float:
    """How warm its GPU is then."""
    return IDLE_CELSIUS + (BUSY_CELSIUS - IDLE_CELSIUS) * compute
