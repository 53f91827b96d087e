"""What the server tables share: cards by name, drives, and prices."""

from datetime import date

from catalogue.metal_types import PowerSupplies
from catalogue.network_types import NicGroup, NicRole
from catalogue.nics import NICS
from catalogue.types import Nvme, PurchasePrice

_AUGUST_2026 = date(2026, 8, 1)

COMPUTE, STORAGE, MANAGEMENT = NicRole.COMPUTE, NicRole.STORAGE, NicRole.MANAGEMENT
DRIVES = Nvme(count=8, size_gb=3840)
BOARD_W = {"H100": 10_200, "H200": 10_200, "B200": 14_300, "B300": 14_500}
"""Most that NVIDIA's own system with eight of these GPUs draws: user guides of DGX H100/H200, B200; B300 as listed."""


def cards(role: NicRole, nic: str, count: int, *hcas: str, ports_per_cage: int = 1) -> NicGroup:
    """Equal cards; `hcas` are their RDMA devices in rail order."""
    return NicGroup(nic=NICS[nic], count=count, role=role, hcas=hcas, ports_per_cage=ports_per_cage)


def supplies(count: int, watts: int, redundant: int) -> PowerSupplies:
    """`count` units of `watts`, of which `redundant` may fail."""
    return PowerSupplies(count=count, watts=watts, redundant=redundant)


def price(usd: float, low: float, high: float, source: str) -> PurchasePrice:
    """An approximate price as of August 2026."""
    return PurchasePrice(usd=usd, low=low, high=high, as_of=_AUGUST_2026, source=f"{source}; approximate")
