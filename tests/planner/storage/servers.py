"""Storage servers for the tests: round figures, so that results can be worked out by hand."""

from catalogue.metal_types import StorageServer
from catalogue.network_types import NicGroup, NicRole
from catalogue.nics import NICS


def storage_server(
    drives: int = 20, drive_tb: float = 10, nic: str = "ConnectX-6 100GbE", cards: int = 2
) -> StorageServer:
    """Drives that read 2 GB/s and write 1 GB/s each; cards of 12.5 GB/s unless told."""
    return StorageServer(
        name="box",
        drives=drives,
        drive_tb=drive_tb,
        drive_read_gb_per_s=2,
        drive_write_gb_per_s=1,
        memory_gib=256,
        nics=(NicGroup(nic=NICS[nic], count=cards, role=NicRole.STORAGE),),
        max_w=1000,
        rack_units=2,
        source="tests",
    )
