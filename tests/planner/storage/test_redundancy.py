"""Raw and usable capacity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.storage.servers import LustreServers
from planner.storage.types import Redundancy, parse, replicated, usable
from tests.planner.storage.servers import storage_server


@pytest.mark.parametrize(
    ("scheme", "raw", "left"),
    [
        (parse("8+2"), 48 * 16, 614.4),
        (parse("8+2"), 48 * 15.36, 589.824),
        (Redundancy(data=8, parity=2), 48 * 10, 384),
        (replicated(3), 921.6, 307.2),
        (parse("4+2"), 921.6, 614.4),
        (replicated(1), 7, 7),
    ],
)
def test_usable_capacity(scheme: Redundancy, raw: float, left: float) -> None:
    """ST05, G20: 48 x 16 TB are 768 TB raw, of which 8+2 leaves 614; the others are raw x data / width by hand."""
    assert usable(raw, scheme) == pytest.approx(left)


def test_drives_are_not_their_capacity() -> None:
    """ST04: four servers of 48 drives of 10 TB hold 1,920 TB raw, 480 each; 192 is the number of drives.

    RAID-6 over 12 drives leaves 10 of 12: 1,600 TB.
    """
    one, four = (
        LustreServers(server=storage_server(48), count=count, drives=48, redundancy=Redundancy(data=10, parity=2))
        for count in (1, 4)
    )
    assert (one.raw_tb, four.raw_tb) == (480, 1920)
    assert four.usable_tb == pytest.approx(1600)


@pytest.mark.parametrize("text", ["8", "8+", "+2", "0+2", "8-2", "eight+2", "8+22", ""])
def test_what_is_no_scheme(text: str) -> None:
    """Text that is not DATA+PARITY is refused by name."""
    with pytest.raises(ValueError, match="DATA"):
        parse(text)


def test_nothing_is_stored_without_data() -> None:
    """A scheme has a part with data."""
    with pytest.raises(ValueError, match="stores no data"):
        Redundancy(data=0, parity=2)


def test_names() -> None:
    """Schemes read as people write them."""
    assert [str(scheme) for scheme in (replicated(3), parse("8+2"))] == ["3 replicas", "8+2"]


@given(raw=st.floats(0, 1e9), data=st.integers(1, 99), parity=st.integers(0, 9))
def test_usable_is_never_more_than_raw(raw: float, data: int, parity: int) -> None:
    """ST05: redundancy only takes capacity, and more parity takes more."""
    left = usable(raw, Redundancy(data=data, parity=parity))
    assert left <= raw
    assert usable(raw, Redundancy(data=data, parity=parity + 1)) <= left
    assert usable(raw, Redundancy(data=data + 1, parity=parity)) >= left * (1 - 1e-12)
