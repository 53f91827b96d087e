"""Network cards, switches and cables: rows agree with their generation, and what is often mistaken is right."""

from dataclasses import fields, replace

import pytest

from catalogue.network_types import Generation, Link, Nic, NicGroup, NicRole, PortSplit, Switch
from catalogue.nics import NICS
from catalogue.optics import CABLES, FORMS, CableKind, Connector
from catalogue.servers import SERVERS
from catalogue.switches import SWITCHES


@pytest.mark.parametrize(
    ("card", "device"),
    [("ConnectX-6 HDR", "101b"), ("ConnectX-7 NDR", "1021"), ("ConnectX-8 XDR", "1023"), ("BlueField-3 NDR", "a2dc")],
)
def test_pci_device_ids(card: str, device: str) -> None:
    """NW02: a device plugin's selector for ConnectX-7 names 1021; 101b is ConnectX-6."""
    assert NICS[card].pci_device_id == device


def test_cards_of_one_chip_have_one_device_id() -> None:
    """NW02: whatever a ConnectX-7 speaks, it is 1021."""
    chips = {name.partition(" ")[0] for name in NICS if name.startswith(("ConnectX", "BlueField"))}
    for chip in chips - {"ConnectX-6"}:
        assert len({nic.pci_device_id for name, nic in NICS.items() if name.startswith(chip)}) == 1


@pytest.mark.parametrize(
    ("switch", "ports", "gbit_per_s", "cages"),
    [
        ("SB7790", 36, 100, 36),
        ("QM8700", 40, 200, 40),
        ("QM8790", 40, 200, 40),
        ("QM9700", 64, 400, 32),
        ("QM9790", 64, 400, 32),
        ("Q3400-RA", 144, 800, 72),
        ("SN5600", 64, 800, 64),
        ("SN4600", 64, 200, 64),
        ("SN3700", 32, 200, 32),
        ("SN2201", 48, 1, 48),
    ],
)
def test_switches(switch: str, ports: int, gbit_per_s: int, cages: int) -> None:
    """FB06, FB07, FB16, T3.1: SB7790 is EDR; HDR has 40 ports, NDR 64 in 32 cages; E10: XDR has 144."""
    row = SWITCHES[switch]
    assert (row.ports, row.gbit_per_s, row.ports // row.ports_per_cage) == (ports, gbit_per_s, cages)


def test_who_manages_the_subnet() -> None:
    """FB05: the models whose number ends in 90 run no subnet manager."""
    managed = {name: row.managed for name, row in SWITCHES.items() if row.link is Link.INFINIBAND}
    assert managed == {
        "SB7790": False,
        "QM8700": True,
        "QM8790": False,
        "QM9700": True,
        "QM9790": False,
        "Q3400-RA": True,
    }


def test_who_reduces() -> None:
    """E11: Quantum switches and later do; EDR's SB7790 and Ethernet switches do not."""
    assert {name for name, row in SWITCHES.items() if row.sharp} == {"QM8700", "QM8790", "QM9700", "QM9790", "Q3400-RA"}


def test_links_are_infiniband_or_ethernet() -> None:
    """FB10: no switch speaks NVLink or bridges it; a row has one link, which is one of two."""
    assert {link.value for link in Link} == {"infiniband", "ethernet"}
    assert {row.link for row in SWITCHES.values()} == set(Link)


def test_rates_are_those_of_generations() -> None:
    """FB12: there is no generation of 300 Gb/s, and no row of one."""
    assert [Generation(name).gbit_per_s for name in ("edr", "hdr", "ndr", "xdr")] == [100, 200, 400, 800]
    assert 300 not in {generation.gbit_per_s for generation in Generation}
    switch = replace(SWITCHES["QM9700"], generation=Generation.HDR)
    assert (switch.link, switch.gbit_per_s) == (Link.INFINIBAND, 200)
    for kind in (Nic, Switch):
        assert not {"link", "gbit_per_s"} & {field.name for field in fields(kind)}, "a row cannot say otherwise"


def test_rows_that_cannot_be_are_refused() -> None:
    """Rows come from sites as well: no ports, too many, cages of none, splits that do not add up."""
    switch, nic = SWITCHES["QM9700"], NICS["ConnectX-7 NDR"]
    for ports, in_a_cage in ((0, 1), (1, 1), (3, 1), (10**9, 1), (64, 0), (64, 65)):
        with pytest.raises(ValueError, match="a switch has 4 to 2048 ports"):
            replace(switch, ports=ports, ports_per_cage=in_a_cage)
    with pytest.raises(ValueError, match="2 ports of hdr are not one of xdr"):
        replace(SWITCHES["Q3400-RA"], splits=(PortSplit(generation=Generation.HDR, ways=2),))
    with pytest.raises(ValueError, match="a card has 1 to 8 ports, not 0"):
        replace(nic, ports=0)
    with pytest.raises(ValueError, match="a cage holds at least one port"):
        NicGroup(nic=nic, count=1, role=NicRole.COMPUTE, ports_per_cage=0)


@pytest.mark.parametrize("hcas", [("mlx5_0", "mlx5"), ("mlx5_0", "mlx5_0"), ("mlx5_0",), ("mlx5_0", "mlx5 1")])
def test_device_names_are_whole_and_one_for_each_port(hcas: tuple[str, ...]) -> None:
    """NC08: `mlx5` would stand for storage cards as well."""
    with pytest.raises(ValueError, match="must name each of 2 ports' devices"):
        NicGroup(nic=NICS["ConnectX-7 NDR"], count=2, role=NicRole.COMPUTE, hcas=hcas)


@pytest.mark.parametrize(
    ("generation", "switch", "cards"),
    [
        (Generation.EDR, Connector.QSFP28, {Connector.QSFP28}),
        (Generation.HDR, Connector.QSFP56, {Connector.QSFP56}),
        (Generation.NDR, Connector.OSFP_TWIN, {Connector.OSFP, Connector.QSFP112}),
        (Generation.XDR, Connector.OSFP_TWIN, {Connector.OSFP}),
    ],
)
def test_connectors(generation: Generation, switch: Connector, cards: set[Connector]) -> None:
    """FB08, B13: HDR is QSFP56, NDR is OSFP and QSFP112."""
    assert (FORMS[generation].switch, set(FORMS[generation].cards)) == (switch, cards)


def test_connectors_that_do_not_exist_have_no_name() -> None:
    """FB08: there is no QSFP114."""
    assert "qsfp114" not in {connector.value for connector in Connector}


def test_every_generation_has_a_form_and_a_cable() -> None:
    """E20: whatever a port is, something can be plugged in; shorter kinds come first."""
    for generation in Generation:
        made = [cable for cable in CABLES if generation in cable.generations]
        assert FORMS[generation]
        assert [cable.card_max_m for cable in made if cable.card_max_m] == sorted(
            cable.card_max_m for cable in made if cable.card_max_m
        )
        assert max((cable.switch_max_m for cable in made), default=0) >= 100


def test_cables_of_xdr() -> None:
    """At 200 Gb/s a lane there is neither passive copper nor multimode (LinkX XDR part list)."""
    assert {cable.kind for cable in CABLES if Generation.XDR in cable.generations} == {CableKind.SINGLE_MODE}


def test_tens_of_thousands_for_a_fast_ethernet_switch() -> None:
    """FB09: a 400 or 800 Gb/s Ethernet switch is not had for 2,000 to 5,000 USD."""
    price = SWITCHES["SN5600"].price
    assert price is not None
    assert price.low >= 10_000


def test_every_row_has_a_source() -> None:
    """Each row says where it is from."""
    assert all([*(nic.source for nic in NICS.values()), *(switch.source for switch in SWITCHES.values())])
    assert all(cable.source for cable in CABLES)


def test_servers_have_compute_cards_of_one_kind() -> None:
    """E12: rails of a server are equal, or a plan by the first group's card would be wrong."""
    for server in SERVERS.values():
        assert len({group.nic for group in server.nics if group.role is NicRole.COMPUTE}) <= 1, server.name
