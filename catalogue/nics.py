"""Network cards by the name servers are listed with. A card that speaks two links has a row for each use.

PCI device ids are those that the Network Operator selects devices by (vendor 15b3; Intel cards: 8086), from the PCI ID
repository. Rates are of one port, one way.
"""

from datetime import date

from catalogue.network_types import Generation, Nic
from catalogue.types import PurchasePrice

_AUGUST_2026 = date(2026, 8, 1)
_IDS = "PCI ID repository"
_CX6 = f"ConnectX-6 VPI user manual; {_IDS}"
_CX6_DX = f"ConnectX-6 Dx user manual; {_IDS}"
_CX7 = f"ConnectX-7 adapter cards user manual; {_IDS}"
_CX8 = f"ConnectX-8 SuperNIC user manual; {_IDS}"
_BF3 = f"BlueField-3 DPU controller user manual; {_IDS}"


def _budget(low: float, high: float) -> PurchasePrice:
    return PurchasePrice.between(low, high, _AUGUST_2026, "public budget figures per card; approximate")


def _nic(
    name: str,
    generation: Generation,
    pci_device_id: str,
    source: str,
    *,
    ports: int = 1,
    rdma: bool = True,
    price: PurchasePrice | None = None,
) -> Nic:
    return Nic(
        name=name,
        generation=generation,
        ports=ports,
        pci_device_id=pci_device_id,
        source=source,
        rdma=rdma,
        price=price,
    )


NICS = {
    nic.name: nic
    for nic in (
        _nic("ConnectX-6 EDR", Generation.EDR, "101b", _CX6),
        _nic("ConnectX-6 HDR", Generation.HDR, "101b", _CX6, price=_budget(1500, 4000)),
        _nic("ConnectX-6 HDR dual", Generation.HDR, "101b", _CX6, ports=2),
        _nic("ConnectX-6 100GbE", Generation.ETHERNET_100G, "101b", _CX6),
        _nic("ConnectX-6 200GbE", Generation.ETHERNET_200G, "101b", _CX6),
        _nic("ConnectX-6 Dx 100GbE dual", Generation.ETHERNET_100G, "101d", _CX6_DX, ports=2),
        _nic("ConnectX-7 HDR", Generation.HDR, "1021", _CX7, price=_budget(3000, 4000)),
        _nic("ConnectX-7 NDR", Generation.NDR, "1021", _CX7, price=_budget(6000, 8000)),
        _nic("ConnectX-7 200GbE", Generation.ETHERNET_200G, "1021", _CX7),
        _nic("ConnectX-7 400GbE", Generation.ETHERNET_400G, "1021", _CX7),
        _nic("ConnectX-8 XDR", Generation.XDR, "1023", _CX8),
        _nic("ConnectX-8 400GbE dual", Generation.ETHERNET_400G, "1023", _CX8, ports=2),
        _nic("BlueField-3 NDR", Generation.NDR, "a2dc", _BF3),
        _nic("BlueField-3 400GbE", Generation.ETHERNET_400G, "a2dc", _BF3),
        _nic("BlueField-3 200GbE dual", Generation.ETHERNET_200G, "a2dc", _BF3, ports=2),
        _nic("10GbE dual", Generation.ETHERNET_10G, "1563", "Intel X550 datasheet; " + _IDS, ports=2, rdma=False),
        _nic("1GbE", Generation.ETHERNET_1G, "1533", "Intel I210 datasheet; " + _IDS, rdma=False),
    )
}
"""Rows by name."""
