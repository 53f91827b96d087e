"""What goes into ports: rate, lanes and connector of each generation, and the cables that are made for it."""

from dataclasses import dataclass
from enum import StrEnum

from catalogue.network_types import Generation


class Connector(StrEnum):
    """What a port takes. `twin` OSFP holds two ports of a switch in one cage."""

    RJ45 = "rj45"
    SFP28 = "sfp28"
    QSFP28 = "qsfp28"
    QSFP56 = "qsfp56"
    QSFP112 = "qsfp112"
    OSFP = "osfp"
    OSFP_TWIN = "osfp-twin"


class CableKind(StrEnum):
    """How a link is made: copper pairs, direct-attach copper, the same amplified, optics in one piece, or fibre."""

    TWISTED_PAIR = "twisted-pair"
    DAC = "dac"
    ACC = "acc"
    AOC = "aoc"
    MULTIMODE = "multimode"
    SINGLE_MODE = "single-mode"


@dataclass(frozen=True, kw_only=True)
class CableType:
    """A kind of cable that is made for `generations`, and how long it can be between a card and a switch, or two
    switches (0: not made for that). `transceivers`: its ends are modules of their own, counted apart from the fibre.
    """

    kind: CableKind
    generations: frozenset[Generation]
    card_max_m: float
    switch_max_m: float
    transceivers: bool
    source: str


@dataclass(frozen=True, kw_only=True)
class PortForm:
    """Ports of a generation: lanes that carry its rate, and the connectors of switches and cards."""

    lanes: int
    switch: Connector
    cards: tuple[Connector, ...]


def _form(lanes: int, switch: Connector, *cards: Connector) -> PortForm:
    return PortForm(lanes=lanes, switch=switch, cards=cards or (switch,))


FORMS = {
    Generation.EDR: _form(4, Connector.QSFP28),
    Generation.HDR: _form(4, Connector.QSFP56),
    Generation.NDR: _form(4, Connector.OSFP_TWIN, Connector.OSFP, Connector.QSFP112),
    Generation.XDR: _form(4, Connector.OSFP_TWIN, Connector.OSFP),
    Generation.ETHERNET_1G: _form(1, Connector.RJ45),
    Generation.ETHERNET_10G: _form(1, Connector.RJ45),
    Generation.ETHERNET_25G: _form(1, Connector.SFP28),
    Generation.ETHERNET_100G: _form(4, Connector.QSFP28),
    Generation.ETHERNET_200G: _form(4, Connector.QSFP56),
    Generation.ETHERNET_400G: _form(4, Connector.OSFP_TWIN, Connector.OSFP, Connector.QSFP112),
    Generation.ETHERNET_800G: _form(8, Connector.OSFP, Connector.OSFP),
}
"""Form of each generation's ports. Sources: the switches' and cards' user manuals, "Data Interfaces"; LinkX guides."""

_NRZ_25G = frozenset({Generation.EDR, Generation.ETHERNET_100G, Generation.ETHERNET_25G})
_PAM4_50G = frozenset({Generation.HDR, Generation.ETHERNET_200G})
_PAM4_100G = frozenset({Generation.NDR, Generation.ETHERNET_400G, Generation.ETHERNET_800G})
_PAM4_200G = frozenset({Generation.XDR})
_BASE_T = frozenset({Generation.ETHERNET_1G, Generation.ETHERNET_10G})

_LINKX_25G = "LinkX 100 Gb/s QSFP28 product specifications (MCP1600, MFA1A00, MMA1B00)"
_LINKX_50G = "LinkX 200 Gb/s QSFP56 product specifications (MCP1650, MCA1J00, MFS1S00, MMA1T00)"
_LINKX_100G = "LinkX user guide for 400 Gb/s 100G-PAM4 cables and transceivers, product line overview"
_LINKX_200G = "LinkX 800 Gb/s XDR part list, 200G-PAM4: no DAC, no multimode, no AOC"


def _cable(
    kind: CableKind, generations: frozenset[Generation], card_max_m: float, switch_max_m: float, source: str
) -> CableType:
    return CableType(
        kind=kind,
        generations=generations,
        card_max_m=card_max_m,
        switch_max_m=switch_max_m,
        transceivers=kind in (CableKind.MULTIMODE, CableKind.SINGLE_MODE),
        source=source,
    )


CABLES = (
    _cable(CableKind.TWISTED_PAIR, _BASE_T, 100, 100, "IEEE 802.3ab and 802.3an, category 6A"),
    _cable(CableKind.DAC, _NRZ_25G, 5, 5, _LINKX_25G),
    _cable(CableKind.AOC, _NRZ_25G, 100, 100, _LINKX_25G),
    _cable(CableKind.MULTIMODE, _NRZ_25G, 100, 100, _LINKX_25G),
    _cable(CableKind.DAC, _PAM4_50G, 2, 2, _LINKX_50G),
    _cable(CableKind.ACC, _PAM4_50G, 4, 4, _LINKX_50G),
    _cable(CableKind.AOC, _PAM4_50G, 100, 100, _LINKX_50G),
    _cable(CableKind.MULTIMODE, _PAM4_50G, 100, 100, _LINKX_50G),
    _cable(CableKind.DAC, _PAM4_100G, 3, 2, _LINKX_100G),
    _cable(CableKind.ACC, _PAM4_100G, 0, 5, _LINKX_100G),
    _cable(CableKind.MULTIMODE, _PAM4_100G, 50, 50, _LINKX_100G),
    _cable(CableKind.SINGLE_MODE, _PAM4_100G, 100, 500, _LINKX_100G),
    _cable(CableKind.SINGLE_MODE, _PAM4_200G, 500, 500, _LINKX_200G),
)
"""Cables by generation, the plainest first: a link takes the first that is long enough."""
