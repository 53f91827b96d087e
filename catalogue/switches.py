"""Switches by name: ports, rate, cages, power. Watts are the most one draws with active cables or optics in every cage.

Which InfiniBand switches are managed from outside: UFM-SDN appliance user manual, "Supported NVIDIA Externally Managed
Switches". In-network reduction (SHARP): none in Switch-IB (SB7700, SB7790), all of Quantum and later.
"""

from datetime import date

from catalogue.network_types import Generation, PortSplit, Switch
from catalogue.optics import FORMS, Connector
from catalogue.types import PurchasePrice

_AUGUST_2026 = date(2026, 8, 1)


def _seen(low: float, high: float, source: str) -> PurchasePrice:
    return PurchasePrice.between(low, high, _AUGUST_2026, f"{source}; approximate")


def _switch(
    name: str,
    generation: Generation,
    ports: int,
    watts: int,
    source: str,
    *,
    rack_units: int = 1,
    managed: bool = True,
    sharp: bool = False,
    splits: tuple[PortSplit, ...] = (),
    price: PurchasePrice | None = None,
) -> Switch:
    return Switch(
        name=name,
        generation=generation,
        ports=ports,
        ports_per_cage=2 if FORMS[generation].switch is Connector.OSFP_TWIN else 1,
        max_w=watts,
        rack_units=rack_units,
        managed=managed,
        sharp=sharp,
        source=source,
        splits=splits,
        price=price,
    )


_EDR = "SB77x0 EDR switch systems user manual, Specifications (power of the family with optical cables)"
_HDR = "QM87xx 1U HDR switch systems user manual (power approximate)"
_NDR = "QM97x0 1U NDR switch systems user manual: 32 twin-port OSFP cages (power approximate)"
_XDR = "Quantum-X800 switch systems user manual: 72 twin-port OSFP cages (power: 8 supplies of 875 W each)"
_SN5000 = "Spectrum-4 SN5000 switch systems user manual: 64 x 800GbE or 128 x 400GbE (power approximate)"
_SN4000 = "Spectrum-3 SN4000 switch systems hardware user manual (power approximate)"
_SN3000 = "Spectrum-2 SN3000 switch systems hardware user manual (power approximate)"
_SN2201 = "Spectrum SN2000 switch systems hardware user manual; 48 x 1GBASE-T, its 4 x 100GbE uplinks not counted"

_HDR_MANAGED = _seen(10_000, 22_000, "public budget figures and list prices with tax taken off")
_HDR_UNMANAGED = _seen(10_000, 18_000, "public budget figures and list prices with tax taken off")
_NDR_SEEN = _seen(25_000, 35_000, "public budget figures")
_ORDER = "order of magnitude of switches of this rate"
_SPECTRUM_4_SEEN = _seen(20_000, 90_000, _ORDER)
_SPECTRUM_3_SEEN = _seen(12_000, 45_000, _ORDER)
_GIGABIT_SEEN = _seen(1_500, 5_000, _ORDER)

_HALVES = (PortSplit(generation=Generation.ETHERNET_400G, ways=2),)

SWITCHES = {
    switch.name: switch
    for switch in (
        _switch("SB7790", Generation.EDR, 36, 332, _EDR, managed=False),
        _switch("QM8700", Generation.HDR, 40, 650, _HDR, sharp=True, price=_HDR_MANAGED),
        _switch("QM8790", Generation.HDR, 40, 650, _HDR, sharp=True, managed=False, price=_HDR_UNMANAGED),
        _switch("QM9700", Generation.NDR, 64, 1720, _NDR, sharp=True, price=_NDR_SEEN),
        _switch("QM9790", Generation.NDR, 64, 1720, _NDR, sharp=True, managed=False, price=_NDR_SEEN),
        _switch("Q3400-RA", Generation.XDR, 144, 7000, _XDR, sharp=True, rack_units=4),
        _switch(
            "SN5600", Generation.ETHERNET_800G, 64, 2200, _SN5000, rack_units=2, splits=_HALVES, price=_SPECTRUM_4_SEEN
        ),
        _switch("SN4600", Generation.ETHERNET_200G, 64, 900, _SN4000, rack_units=2, price=_SPECTRUM_3_SEEN),
        _switch("SN4600C", Generation.ETHERNET_100G, 64, 850, _SN4000, rack_units=2, price=_SPECTRUM_3_SEEN),
        _switch("SN3700", Generation.ETHERNET_200G, 32, 500, _SN3000, price=_SPECTRUM_3_SEEN),
        _switch("SN2201", Generation.ETHERNET_1G, 48, 300, _SN2201, price=_GIGABIT_SEEN),
    )
}
"""Rows by name."""
