"""Storage servers: object and metadata servers of Lustre, OSD hosts of Ceph.

Drives are of sizes that are sold; rates are sequential, of one drive, from the data sheets of Micron 7450 and Samsung
PM1733 (NVMe), PM1643a (SAS) and Seagate Exos X20 (disks). Maxima are approximate: 25 W per NVMe drive, and 600 W.
"""

from datetime import date

from catalogue.metal_types import Media, StorageServer
from catalogue.network_types import NicGroup, NicRole
from catalogue.nics import NICS
from catalogue.types import PurchasePrice

NVME_TB = (0.96, 1.92, 3.84, 7.68, 15.36, 30.72, 61.44, 122.88)
"""Sizes of data-centre SSDs made to be read from; half a step less is kept free for writing."""

SSD_TB = frozenset({*NVME_TB, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 0.5, 1.0, 2.0, 4.0, 8.0})
"""All SSD sizes that are sold: to be read from, to be written to, and for desktop computers."""

_MANAGEMENT = NicGroup(nic=NICS["10GbE dual"], count=1, role=NicRole.MANAGEMENT)
_BAYS = "2U servers with 24 bays (Supermicro ASG-2115S, Dell R760 class)"
_PRICE = PurchasePrice(
    usd=45_000,
    low=22_000,
    high=60_000,
    as_of=date(2026, 8, 1),
    source="public budgets: 200 to 400 thousand USD for nine servers, 300 for five with support; approximate",
)
_RATES = {Media.NVME: (6.8, 4.0), Media.SAS_SSD: (2.1, 2.0), Media.HDD: (0.28, 0.28)}


def _row(
    name: str,
    drives: int,
    drive_tb: float,
    nic: str,
    cards: int,
    *,
    memory_gib: int,
    max_w: int,
    rack_units: int = 2,
    media: Media = Media.NVME,
    source: str = _BAYS,
    price: PurchasePrice | None = _PRICE,
) -> StorageServer:
    read, write = _RATES[media]
    return StorageServer(
        name=name,
        drives=drives,
        drive_tb=drive_tb,
        drive_read_gb_per_s=read,
        drive_write_gb_per_s=write,
        memory_gib=memory_gib,
        nics=(NicGroup(nic=NICS[nic], count=cards, role=NicRole.STORAGE), _MANAGEMENT),
        max_w=max_w,
        rack_units=rack_units,
        source=source,
        media=media,
        price=price,
    )


_OSS = (
    _row("OSS 12x15.36TB NDR", 12, 15.36, "ConnectX-7 NDR", 1, memory_gib=256, max_w=900),
    _row("OSS 24x15.36TB NDR", 24, 15.36, "ConnectX-7 NDR", 2, memory_gib=512, max_w=1200),
    _row("OSS 24x7.68TB HDR", 24, 7.68, "ConnectX-6 HDR", 2, memory_gib=512, max_w=1200),
    _row("OSS 24x7.68TB 200GbE", 24, 7.68, "ConnectX-7 200GbE", 2, memory_gib=512, max_w=1200),
    _row(
        "OSS 48x7.68TB 100GbE",
        48,
        7.68,
        "ConnectX-6 Dx 100GbE dual",
        1,
        memory_gib=512,
        max_w=1400,
        rack_units=4,
        media=Media.SAS_SSD,
        source="4U servers with 48 SAS bays",
    ),
)
_MDS = (
    _row("MDS 8x3.84TB NDR", 8, 3.84, "ConnectX-7 NDR", 1, memory_gib=512, max_w=800, rack_units=1),
    _row("MDS 8x3.84TB HDR", 8, 3.84, "ConnectX-6 HDR", 1, memory_gib=512, max_w=800, rack_units=1),
    _row("MDS 8x3.84TB 200GbE", 8, 3.84, "ConnectX-7 200GbE", 1, memory_gib=512, max_w=800, rack_units=1),
    _row("MDS 4x3.84TB 100GbE", 4, 3.84, "ConnectX-6 Dx 100GbE dual", 1, memory_gib=256, max_w=700, rack_units=1),
)
_OSD = (
    _row("OSD 12x7.68TB 200GbE", 12, 7.68, "ConnectX-7 200GbE", 2, memory_gib=256, max_w=900),
    _row("OSD 24x15.36TB NDR", 24, 15.36, "ConnectX-7 NDR", 2, memory_gib=512, max_w=1200),
    _row("OSD 24x7.68TB 100GbE", 24, 7.68, "ConnectX-6 Dx 100GbE dual", 2, memory_gib=512, max_w=1200),
    _row(
        "OSD 24x20TB disks 100GbE",
        24,
        20,
        "ConnectX-6 Dx 100GbE dual",
        1,
        memory_gib=256,
        max_w=900,
        rack_units=4,
        media=Media.HDD,
        source="4U servers with 24 disk bays, 10 W each",
    ),
    _row(
        "Lab storage box",
        2,
        2,
        "1GbE",
        1,
        memory_gib=32,
        max_w=150,
        rack_units=4,
        source="a desktop computer with two SSDs; approximate",
        price=None,
    ),
)

STORAGE_SERVERS = {row.name: row for row in (*_OSS, *_MDS, *_OSD)}
"""Rows by name."""
