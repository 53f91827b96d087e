"""Arithmetic of ports."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.nics import NICS
from catalogue.switches import SWITCHES
from planner.fabric.ports import LeafSplit, Radix, even_shares, leaf_split, radix, smallest_divisor, uplinks


@pytest.mark.parametrize(
    ("ports", "ratio", "down", "up"),
    [
        (64, 1, 32, 32),
        (40, 1, 20, 20),
        (64, 2, 42, 22),
        (64, 3, 48, 16),
        (64, 4, 51, 13),
        (36, 1.5, 21, 15),
        (5, 1, 2, 3),
    ],
)
def test_leaves_are_divided(ports: int, ratio: float, down: int, up: int) -> None:
    """A14: most ports down within the ratio: 64 at 2:1 are 42 and 22, as 43 and 21 were more than 2."""
    assert leaf_split(ports, ratio) == LeafSplit(down=down, up=up)


@given(ports=st.integers(2, 300), ratio=st.floats(1, 16))
def test_the_ratio_is_kept_and_not_wasted(ports: int, ratio: float) -> None:
    """One port more down would break the ratio."""
    split = leaf_split(ports, ratio)
    assert split.down + split.up == ports
    assert split.down <= Fraction(ratio) * split.up
    assert split.down + 1 > Fraction(ratio) * (split.up - 1)


def test_a_ratio_below_one_is_a_slip_of_the_caller() -> None:
    """Settings do not take it."""
    with pytest.raises(ValueError, match=r"0\.5"):
        leaf_split(64, 0.5)


def test_small_things() -> None:
    """Worked out by hand."""
    assert [uplinks(32, 1), uplinks(32, 4), uplinks(33, 4), uplinks(35, 1.5)] == [32, 8, 9, 24]
    assert [
        smallest_divisor(32, Fraction(12)),
        smallest_divisor(72, Fraction(16)),
        smallest_divisor(6, Fraction(7)),
    ] == [
        16,
        18,
        None,
    ]
    assert even_shares(80, 3) == [27, 27, 26]


def test_ports_for_a_card() -> None:
    """E04: a Spectrum-4 switch has 128 ports for cards of 400 Gb/s, two in a cage; an InfiniBand switch has its own."""
    assert radix(SWITCHES["SN5600"], NICS["ConnectX-7 400GbE"]) == Radix(ports=128, gbit_per_s=400, ports_per_cage=2)
    assert radix(SWITCHES["SN5600"], NICS["ConnectX-7 200GbE"]) == Radix(ports=64, gbit_per_s=800, ports_per_cage=1)
    assert radix(SWITCHES["QM9700"], NICS["ConnectX-7 HDR"]) == Radix(ports=64, gbit_per_s=400, ports_per_cage=2)
