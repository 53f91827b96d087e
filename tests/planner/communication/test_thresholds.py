"""What a measured bandwidth must reach (NC13-NC16, FB19, P16-P19)."""

from itertools import pairwise

import pytest

from catalogue.gpus import A100_40, A100_80, B200, B300, H100, H100_NVL, H200, L40S
from catalogue.types import Gpu
from planner.communication.group import Collective, Group, Network
from planner.communication.thresholds import (
    COPIES,
    GIB,
    PUBLISHED,
    Origin,
    all_reduce_threshold,
    card_threshold,
    ring_threshold,
)
from tests.planner.communication.groups import NDR, NODE, ONE_HDR, P4DE, P5, SHARP, nodes

SIZE = 16 * GIB


@pytest.mark.parametrize(
    ("gpu", "ranks", "line"),
    [("H100", 8, 460), ("H200", 8, 431), ("A100 80GB", 8, 228), ("A100 40GB", 8, 228), ("H100 NVL", 2, 208)],
)
def test_published_lines_of_a_node(gpu: str, ranks: int, line: float) -> None:
    """T3.4, NC13: where Azure takes a node out, at 16 GiB."""
    rows = [row for row in PUBLISHED if row.domains == 1 and row.gpu == gpu and row.fail is not None]
    assert [(row.ranks, row.size_gib, row.fail) for row in rows] == [(ranks, 16, line)]


@pytest.mark.parametrize(
    ("gpu", "ranks", "warn", "fail"),
    [
        (H100, 8, 440, 420),
        (H200, 8, 440, 420),
        (A100_80, 8, 228, 200),
        (A100_40, 8, 228, 200),
        (H100_NVL, 2, 208, 208),
        (B200, 8, 600, 600),
    ],
)
def test_threshold_of_a_node(gpu: Gpu, ranks: int, warn: float, fail: float) -> None:
    """NC13, P16: not the same line for every GPU, and not 400 where 460 is healthy."""
    threshold = all_reduce_threshold(Group(gpu=gpu, ranks=ranks), SIZE)
    assert (threshold.origin, threshold.warn, threshold.fail) == (Origin.MEASURED, warn, fail)
    assert threshold.expected is not None
    assert threshold.expected >= warn
    assert threshold.source


def test_eight_cards_of_400_gbit() -> None:
    """NC14, P17: 350 and 300 follow from 8 x 400 Gb/s; a fabric at half speed fails, which 150 to 180 let through."""
    threshold = all_reduce_threshold(nodes(8), SIZE)
    assert threshold.origin is Origin.DERIVED
    assert (threshold.expected, threshold.warn, threshold.fail) == pytest.approx((360, 350, 300))


def test_one_card_of_200_gbit() -> None:
    """NC15, P18: 15 GB/s pass no more, and nothing above the 25 GB/s of the card is asked for."""
    threshold = all_reduce_threshold(nodes(8, ONE_HDR), SIZE)
    assert threshold.expected is not None
    assert threshold.fail is not None
    assert threshold.warn is not None
    assert 15 < threshold.fail < threshold.warn < 24 <= threshold.expected + 2 < 25


@pytest.mark.parametrize(
    ("nics", "gbit", "warn", "fail"), [(4, 400, 175, 150), (8, 800, 360.5, 309), (2, 100, 21.875, 18.75)]
)
def test_other_cards(nics: int, gbit: float, warn: float, fail: float) -> None:
    """NC14: 35/36 and 5/6 of cards x rate x 0.9; 8 x 800 Gb/s are held to the 370.8 GB/s of NVLink instead of 720."""
    threshold = all_reduce_threshold(nodes(4, Network(nics=nics, gbit_per_s=gbit)), SIZE)
    assert (threshold.warn, threshold.fail) == pytest.approx((warn, fail))


def test_sums_in_the_switches() -> None:
    """T3.4, NC14: with SHARP about 450 is expected and 400 warned of (Azure drains at 300); below 350 it is not on."""
    (published,) = [row for row in PUBLISHED if row.sharp]
    assert (published.expected, published.warn, published.fail) == (450, 400, 300)
    threshold = all_reduce_threshold(nodes(8, SHARP), SIZE)
    assert (threshold.expected, threshold.warn, threshold.fail) == pytest.approx((450, 400, 350))
    other = Group(gpu=H200, ranks=64, domains=8, network=SHARP)
    assert all_reduce_threshold(other, SIZE).origin is Origin.RECORD


@pytest.mark.parametrize(
    ("gpu", "network", "count", "gib", "measured", "floor"),
    [
        (H100, P5, 2, 16, 480, 400),
        (H100, P5, 2, 2, 438, 365),
        (A100_80, P4DE, 2, 2, 78, 65),
        (A100_40, P4DE, 2, 4, 77, 64.17),
        (B200, Network(nics=8, gbit_per_s=400), 4, 16, 377, 314.17),
        (B300, Network(nics=16, gbit_per_s=400), 2, 16, 654, 545),
        (B300, Network(nics=16, gbit_per_s=400), 2, 64, 751, 625.83),
    ],
)
def test_efa(gpu: Gpu, network: Network, count: int, gib: float, measured: float, floor: float) -> None:
    """T3.4: AWS's own results by type, size and cards; p5 is held to 400 of 480 and p4de to 65 of 78 GB/s."""
    group = Group(gpu=gpu, ranks=8 * count, domains=count, network=network)
    threshold = all_reduce_threshold(group, gib * GIB, efa=True)
    assert threshold.origin is Origin.MEASURED
    assert threshold.expected == measured
    assert threshold.fail == threshold.warn == pytest.approx(floor, abs=0.01)


def test_efa_on_more_nodes_than_were_measured() -> None:
    """NC14: sixteen p5 have one way of their cards: 2 x 127/128 x 17.2 GB at 360 GB/s and 1.39 ms are 355 GB/s, where
    two have 459; 355/459 of the 480 that were measured are 371, of which 309 are demanded."""
    threshold = all_reduce_threshold(nodes(16, P5), SIZE, efa=True)
    assert threshold.origin is Origin.DERIVED
    assert threshold.expected == pytest.approx(371, abs=0.5)
    assert threshold.fail == pytest.approx(309, abs=0.5)


def test_results_on_efa_at_1_gib() -> None:
    """T3.4: two p5 showed 313 GB/s at 1 GiB, which is recorded; the rows keep it."""
    assert [(row.size_gib, row.expected) for row in PUBLISHED if row.efa and row.gpu == "H100"] == [
        (1, 313),
        (2, 438),
        (16, 480),
    ]
    assert all_reduce_threshold(nodes(2, P5), GIB, efa=True).origin is Origin.RECORD


@pytest.mark.parametrize(
    ("group", "size", "efa"),
    [
        (Group(gpu=H200, ranks=16, domains=2, network=P5), SIZE, True),
        (Group(gpu=L40S, ranks=8), SIZE, False),
        (Group(gpu=H100, ranks=4), SIZE, False),
        (NODE, 128 * 2**20, False),
        (nodes(8), 4 * GIB, False),
        (nodes(2, P5), 128 * 2**20, True),
    ],
)
def test_what_nobody_measured_is_recorded(group: Group, size: float, efa: bool) -> None:
    """P19: no gate for unknown types, parts of a node and small messages; the model's number is shown with it."""
    threshold = all_reduce_threshold(group, size, efa=efa)
    assert threshold.origin is Origin.RECORD
    assert threshold.warn is threshold.fail is None
    assert threshold.expected is not None
    assert threshold.expected > 0


def test_no_line_lies_above_what_was_seen() -> None:
    """T3.4: AWS's 800 GB/s for every type is above anything measured and is no row."""
    lines = [line for row in PUBLISHED for line in (row.warn, row.fail) if line is not None and row.gpu != "GB300"]
    assert max(lines) < 751
    assert all(row.fail <= row.warn <= row.expected for row in PUBLISHED if row.fail and row.warn and row.expected)


@pytest.mark.parametrize(
    ("gbit", "warn", "fail", "origin"),
    [
        (400, 385, 360, Origin.MEASURED),
        (200, 190, 180, Origin.MEASURED),
        (100, 95, 90, Origin.DERIVED),
        (800, 760, 720, Origin.DERIVED),
    ],
)
def test_cards(gbit: float, warn: float, fail: float, origin: Origin) -> None:
    """FB19, T3.4: 380 of 400 Gb/s is 95 %; 190 of 200 is 95 %, not 98."""
    threshold = card_threshold(gbit)
    assert threshold.origin is origin
    assert (threshold.warn, threshold.fail) == pytest.approx((warn, fail))


def test_copies_and_checks_before_a_job() -> None:
    """T3.4: 48 GB/s with the host and 335 to a peer on H100, 21 and 238 on A100."""
    assert COPIES["H100"][:2] == COPIES["H200"][:2] == (48, 335)
    assert COPIES["A100 80GB"][:2] == (21, 238)


def test_racks_that_share_nvlink() -> None:
    """T3.4: 72 GB300 reach 937 GB/s in their rack and 200 between racks."""
    rows = [row for row in PUBLISHED if row.gpu == "GB300"]
    assert [(row.domains, row.expected, row.warn, row.fail) for row in rows] == [(1, 937, 800, 600), (2, 200, 180, 150)]


@pytest.mark.parametrize("efa", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3, 8, 63])
@pytest.mark.parametrize("network", [NDR, P5, P4DE, ONE_HDR, SHARP, Network(nics=16, gbit_per_s=400, latency_us=75)])
@pytest.mark.parametrize("gpu", [A100_80, H100, H200, B200, B300, L40S])
def test_one_expectation_at_every_size(gpu: Gpu, network: Network, count: int, efa: bool) -> None:
    """A smaller message is never expected to reach more than a larger one on the same nodes."""
    group = Group(gpu=gpu, ranks=8 * count, domains=count, network=network if count > 1 else None)
    sizes = [size * GIB for size in (0.001, 0.1, 1, 2, 4, 7.9, 8, 16, 64)]
    for expected in (
        [all_reduce_threshold(group, size, efa=efa).expected or 0 for size in sizes],
        [ring_threshold(Collective.ALL_GATHER, group, size, efa=efa).expected or 0 for size in sizes],
    ):
        assert all(one <= other * (1 + 1e-9) for one, other in pairwise(expected)), expected
