"""FSx for Lustre: the sizes AWS sells and the throughput that comes with them.

Source: FSx for Lustre user guide, "Managing storage capacity", "Performance" and "EFA-enabled file systems". A tier is
MB/s per TiB of capacity; None is SCRATCH_2, whose throughput is fixed.
"""

from math import ceil

from catalogue.units import GIB_PER_TIB, gbyte_per_s

SMALLEST_GIB = 1200
STEP_GIB = 2400
EFA_STEP_GIB = {125: 38400, 250: 19200, 500: 9600, 1000: 4800}
SCRATCH_2_MB_PER_S_PER_TIB = 200

FULL = 0.9
"""Share of the capacity above which an SSD file system slows down and soon refuses writes."""

_CLIENT_GBIT_PER_S = {False: 100, True: 700}


EFA_CONNECTIONS = 1024
"""Of all clients together with one file system: a client has one for each EFA interface that it takes."""

_EFA_INTERFACES = 8
_OF_MANY = ("p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "p6e-gb200.36xlarge")


def efa_interfaces(instance: str, efa: int) -> int:
    """How many of a node's `efa` interfaces its Lustre client takes: AWS' own numbers for its types (user guide,
    "Configuring EFA clients"), 2 on others with several cards.
    """
    return min(efa, _EFA_INTERFACES if instance in _OF_MANY else 2)


def step_gib(tier: int | None, efa: bool) -> int:
    """Capacities are multiples of this; with EFA it is the minimum as well."""
    return EFA_STEP_GIB.get(tier or 0, STEP_GIB) if efa else STEP_GIB


def is_size(capacity_gib: int, tier: int | None, efa: bool) -> bool:
    """Whether AWS sells that capacity."""
    step = step_gib(tier, efa)
    return (capacity_gib > 0 and capacity_gib % step == 0) or (step == STEP_GIB and capacity_gib == SMALLEST_GIB)


def sizes_around(capacity_gib: int, tier: int | None, efa: bool) -> tuple[int, int]:
    """The nearest capacities that AWS sells, below and above; twice the smallest if there is nothing below."""
    step = step_gib(tier, efa)
    smallest = step if step != STEP_GIB else SMALLEST_GIB
    if capacity_gib < smallest:
        return smallest, smallest
    return max(capacity_gib // step * step, smallest), (capacity_gib // step + 1) * step


def mb_per_s(capacity_gib: float, tier: int | None) -> float:
    """Throughput of a file system in MB/s."""
    return capacity_gib / GIB_PER_TIB * (tier or SCRATCH_2_MB_PER_S_PER_TIB)


def client_gb_per_s(network_gbit_per_s: float, efa: bool) -> float:
    """GB/s between the file system and one client: Lustre takes 100 Gb/s over ENA, and 700 over EFA."""
    return gbyte_per_s(min(network_gbit_per_s, _CLIENT_GBIT_PER_S[efa]))


def tib_needed(gb_per_s: float, tier: int | None) -> float:
    """TiB of that tier that deliver `gb_per_s`, before rounding to a size that is sold."""
    return gb_per_s * 1000 / (tier or SCRATCH_2_MB_PER_S_PER_TIB)


def capacity_gib_for(gb_per_s: float, tier: int | None, efa: bool) -> int:
    """The smallest capacity AWS sells that delivers `gb_per_s`."""
    step, needed = step_gib(tier, efa), tib_needed(gb_per_s, tier) * GIB_PER_TIB
    if step == STEP_GIB and needed <= SMALLEST_GIB:
        return SMALLEST_GIB
    return max(1, ceil(needed / step - 1e-9)) * step
