"""What a measured bandwidth must reach: by GPU, cards and their rate, size, and sums in switches.

Published figures first; else what the cards' rate allows; else nothing: such a result is recorded and stops nobody.
All-reduce of nccl-tests in GB/s of bus bandwidth, without wrong values. Transfers between two cards (ib_write_bw with
GPUDirect RDMA) in Gb/s, copies (nvbandwidth) in GB/s, all one way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from planner.communication.group import Collective, Group
from planner.communication.nccl import fastest

GIB = 2**30

_AZURE_NODE = "Azure node health checks (AzNHC), conf/{}"
_AZURE_CLUSTER = "Azure AI infrastructure guide, SKU performance baseline"
_AWS_NCCL_TESTS = "AWS distributed training reference architectures, nccl-tests README"
_AWS_SUITE = "AWS distributed training reference architectures, NVLink-only check"


@dataclass(frozen=True, kw_only=True)
class Published:
    """An all-reduce of `size_gib` among `ranks` GPUs of one NVLink domain, or of several domains.

    `expected` was measured on healthy machines; below `warn` the publisher warns, below `fail` it takes a node out.
    `gbit_per_s` is what all cards of a domain carry, None inside one. `efa` is AWS's fabric.
    """

    gpu: str
    ranks: int
    domains: int = 1
    size_gib: float = 16.0
    expected: float | None = None
    warn: float | None = None
    fail: float | None = None
    gbit_per_s: float | None = None
    efa: bool = False
    sharp: bool = False
    source: str


_azure, _efa = partial(Published, source=_AZURE_CLUSTER), partial(Published, efa=True, source=_AWS_NCCL_TESTS)


def _azure_node(gpu: str, file: str, fail: float, *, ranks: int = 8, expected: float | None = None) -> Published:
    return Published(gpu=gpu, ranks=ranks, fail=fail, expected=expected, source=_AZURE_NODE.format(file))


PUBLISHED = (
    _azure_node("H100", "nd96isr_h100_v5.conf", 460),
    _azure_node("H200", "nd96isr_h200_v5.conf", 431, expected=480),
    _azure_node("A100 80GB", "nd96asr_v4.conf and its family", 228),
    _azure_node("A100 40GB", "nd96asr_v4.conf and its family", 228),
    _azure_node("H100 NVL", "nc80adis_h100_v5.conf", 208, ranks=2),
    Published(gpu="A100 80GB", ranks=8, warn=200, source=_AWS_SUITE),
    Published(gpu="A100 40GB", ranks=8, warn=200, source=_AWS_SUITE),
    Published(gpu="B200", ranks=8, warn=600, source=_AWS_SUITE),
    _azure(gpu="GB300", ranks=72, expected=937, warn=800, fail=600),
    _azure(gpu="GB300", ranks=144, domains=2, gbit_per_s=57_600, expected=200, warn=180, fail=150),
    _azure(gpu="H100", ranks=64, domains=8, gbit_per_s=3200, sharp=True, expected=450, warn=400, fail=300),
    _efa(gpu="H100", ranks=16, domains=2, gbit_per_s=3200, size_gib=1, expected=313),
    _efa(gpu="H100", ranks=16, domains=2, gbit_per_s=3200, size_gib=2, expected=438),
    _efa(gpu="H100", ranks=16, domains=2, gbit_per_s=3200, expected=480),
    _efa(gpu="A100 80GB", ranks=16, domains=2, gbit_per_s=400, size_gib=2, expected=78),
    _efa(gpu="A100 40GB", ranks=16, domains=2, gbit_per_s=400, size_gib=2, expected=77),
    _efa(gpu="B200", ranks=32, domains=4, gbit_per_s=3200, expected=377),
    _efa(gpu="B300", ranks=16, domains=2, gbit_per_s=6400, expected=654),
    _efa(gpu="B300", ranks=16, domains=2, gbit_per_s=6400, size_gib=64, expected=751),
)
"""All-reduce. AWS's full-stack figure of 800 GB/s for every type is above all of these and no row."""

COPIES = {
    "H100": (48, 335, _AZURE_NODE.format("nd96isr_h100_v5.conf")),
    "H200": (48, 335, _AZURE_NODE.format("nd96isr_h200_v5.conf")),
    "A100 80GB": (21, 238, _AZURE_NODE.format("nd96amsr_a100_v4.conf")),
    "A100 40GB": (21, 238, _AZURE_NODE.format("nd96asr_v4.conf")),
}
"""Least rates of a GPU's copies in GB/s one way, with the host and with another GPU of the node, and their source."""

CARDS = {
    400: (385, 360, "AzNHC: 380 of 400 Gb/s on H100, 360 on H200"),
    200: (190, 180, "AzNHC: 180 of 200 Gb/s on A100"),
}
"""Between two cards of a rate, in Gb/s one way: below the first look, below the second replace; and their source."""

CARD_LATENCY_US = 4.2
"""Most that 99 % of the messages take between two cards of 400 Gb/s (imbue, host health checks)."""


_EFA_PART = 5 / 6
"""Least part of what AWS measured: 400 of 480 GB/s on p5, 65 of 78 on p4de."""
_WARN_PART, _FAIL_PART = 35 / 36, 5 / 6
"""Parts of the planned rate: 350 and 300 GB/s where 8 x 400 Gb/s are planned to reach 360."""
_CARD_WARN, _CARD_FAIL = 0.95, 0.9
_CARD_SOURCE = "0.95 and 0.9 of the rate, as good cards of 200 and 400 Gb/s reach"
_LEAST_GIB, _LEAST_EFA_GIB = 8.0, 2.0
_SMALL = "the message is too small to show a rate"


class Origin(StrEnum):
    """Where a threshold comes from. RECORD is none."""

    MEASURED = "measured"
    DERIVED = "derived"
    RECORD = "record"


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """Least rates: below `warn` a person looks, below `fail` the node does not work.

    `expected` is a healthy one's, None where nobody told it. The unit is the test's: GB/s of bus bandwidth for
    all-reduce, GB/s for copies, Gb/s between two cards.
    """

    origin: Origin
    expected: float | None
    warn: float | None
    fail: float | None
    source: str


def all_reduce_threshold(group: Group, size_bytes: float, *, efa: bool = False) -> Threshold:
    """The threshold of an all-reduce of this size among all GPUs of the group's domains.

    Small messages measure latency, so below 8 GiB (2 GiB on EFA, where that was measured) nothing is demanded, and no
    more is expected than of large ones.
    """
    expected = fastest(Collective.ALL_REDUCE, size_bytes, group).bus_gb_per_s
    across = group.domains > 1
    least = (_LEAST_EFA_GIB if efa and across else _LEAST_GIB) * GIB
    if size_bytes < least:
        large = all_reduce_threshold(group, least, efa=efa).expected
        return _record(min(expected, large or expected), _SMALL)
    if not across:
        return _inside(group, expected)
    if efa:
        return _over_efa(group, size_bytes, expected)
    return _over_fabric(group, expected)


def ring_threshold(collective: Collective, group: Group, size_bytes: float, *, efa: bool = False) -> Threshold:
    """The threshold of an all-gather or a reduce-scatter between nodes, which go around rings whatever switches add up.

    A ring's bus bandwidth is that of all-reduce without sums in switches, so that the same parts of it are demanded.
    """
    expected = fastest(collective, size_bytes, group).bus_gb_per_s
    if size_bytes < _LEAST_GIB * GIB:
        large = ring_threshold(collective, group, _LEAST_GIB * GIB, efa=efa).expected
        return _record(min(expected, large or expected), _SMALL)
    return _record(expected, f"nobody published {collective} over EFA with such nodes") if efa else _derived(group)


def exchange_threshold(collective: Collective, group: Group, size_bytes: float) -> Threshold:
    """What an all-to-all or a transfer around all GPUs is expected to reach between nodes; it stops nobody."""
    expected = fastest(collective, size_bytes, group).bus_gb_per_s
    return _record(expected, f"nobody published {collective} between such nodes")


def card_threshold(gbit_per_s: float) -> Threshold:
    """The threshold in Gb/s of a transfer between two cards (ib_write_bw with GPUDirect RDMA)."""
    known = CARDS.get(int(gbit_per_s))
    warn, fail, source = known or (_CARD_WARN * gbit_per_s, _CARD_FAIL * gbit_per_s, _CARD_SOURCE)
    origin = Origin.MEASURED if known else Origin.DERIVED
    return Threshold(origin=origin, expected=gbit_per_s, warn=warn, fail=fail, source=source)


def copy_thresholds(gpu: str) -> Mapping[str, Threshold]:
    """Thresholds in GB/s one way of a GPU's copies (nvbandwidth), with the host and with another GPU of its node.

    Empty for GPUs of which nobody published any.
    """
    if gpu not in COPIES:
        return {}
    *rates, source = COPIES[gpu]
    host, peer = (Threshold(origin=Origin.MEASURED, expected=None, warn=x, fail=x, source=source) for x in rates)
    return {"host": host, "peer": peer}


_NODE = {"H100": (440.0, 420.0), "H200": (440.0, 420.0), "A100 80GB": (228.0, 200.0), "A100 40GB": (228.0, 200.0)}
"""(warn, fail) of a node's eight GPUs; a node below what publishers demand is looked at before it is taken out."""


def _inside(group: Group, expected: float) -> Threshold:
    rows = [row for row in PUBLISHED if row.domains == 1 and row.gpu == group.gpu.name and row.ranks == group.ranks]
    if not rows:
        return _record(expected, "nobody published a figure for such a node")
    lines = [line for row in rows for line in (row.warn, row.fail) if line is not None]
    warn, fail = _NODE.get(group.gpu.name, (max(lines), min(lines)))
    healthy = max((row.expected for row in rows if row.expected is not None), default=max(lines))
    sources = "; ".join(dict.fromkeys(row.source for row in rows))
    return Threshold(origin=Origin.MEASURED, expected=healthy, warn=warn, fail=fail, source=sources)


def _over_efa(group: Group, size_bytes: float, expected: float) -> Threshold:
    """By the largest size that was measured and is not above this one; below all of them no more is expected.

    On more nodes than were measured the figure falls as the model's does: two nodes use both ways of their cards.
    """
    rows = sorted((row for row in _across(group) if row.efa and row.expected), key=lambda each: each.size_gib)
    if not rows:
        return _record(expected, "nobody published a figure for EFA with such nodes")
    known = [row for row in rows if row.size_gib * GIB <= size_bytes]
    row = known[-1] if known else rows[0]
    few, measured = replace(group, ranks=row.ranks, domains=row.domains), row.size_gib * GIB
    many, pair = (fastest(Collective.ALL_REDUCE, measured, each).bus_gb_per_s for each in (group, few))
    falls = min(1.0, many / pair)
    healthy = falls * (row.expected or expected)
    if not known:
        return _record(min(expected, healthy), _SMALL)
    origin = Origin.MEASURED if group.domains == row.domains else Origin.DERIVED
    floor = _EFA_PART * healthy
    return Threshold(origin=origin, expected=healthy, warn=floor, fail=floor, source=row.source)


def _over_fabric(group: Group, expected: float) -> Threshold:
    """With sums in the switches, less than what the cards reach without them means that these do not work."""
    rows = [row for row in _across(group) if not row.efa and row.sharp == group.sharp]
    if rows:
        (row, *_), least = rows, _derived(group).warn if group.sharp else rows[0].fail
        healthy = row.expected or expected
        return Threshold(origin=Origin.MEASURED, expected=healthy, warn=row.warn, fail=least, source=row.source)
    if group.sharp:
        return _record(expected, "nobody published a figure for sums in such switches")
    return _derived(group)


def _derived(group: Group) -> Threshold:
    """By what a ring through the group is planned to reach."""
    planned = group.ring_gb_per_s
    return Threshold(
        origin=Origin.DERIVED,
        expected=planned,
        warn=_WARN_PART * planned,
        fail=_FAIL_PART * planned,
        source="what links or cards carry (cards: rate x 0.9), of which 35/36 and 5/6",
    )


def _across(group: Group) -> list[Published]:
    """Rows of several domains with as many of the same GPU and cards of the same rate together."""
    network = group.network
    if network is None:
        return []
    like = group.gpu.name, group.per_domain, network.nics * network.gbit_per_s
    rows = (row for row in PUBLISHED if row.domains > 1)
    return [row for row in rows if (row.gpu, row.ranks // row.domains, row.gbit_per_s) == like]


def _record(expected: float, why: str) -> Threshold:
    return Threshold(origin=Origin.RECORD, expected=expected, warn=None, fail=None, source=why)
