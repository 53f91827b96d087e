"""Bandwidths that were measured or are demanded of healthy machines, each with its source.

All-reduce of nccl-tests in GB/s of bus bandwidth, without wrong values. Transfers between two cards (ib_write_bw with
GPUDirect RDMA) in Gb/s, copies (nvbandwidth) in GB/s, all one way. Rows say what somebody published; what a machine is
held to is `planner.communication.thresholds`.
"""

from dataclasses import dataclass

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


def _azure_node(gpu: str, file: str, fail: float, *, ranks: int = 8, expected: float | None = None) -> Published:
    return Published(gpu=gpu, ranks=ranks, fail=fail, expected=expected, source=_AZURE_NODE.format(file))


def _azure(
    gpu: str, ranks: int, domains: int, gbit_per_s: float | None, lines: tuple[float, float, float]
) -> Published:
    """Expected, warn and fail of a cluster with SHARP, or of a rack."""
    expected, warn, fail = lines
    return Published(
        gpu=gpu,
        ranks=ranks,
        domains=domains,
        expected=expected,
        warn=warn,
        fail=fail,
        gbit_per_s=gbit_per_s,
        sharp=gpu == "H100",
        source=_AZURE_CLUSTER,
    )


def _efa(gpu: str, gbit_per_s: float, nodes: int, size_gib: float, expected: float) -> Published:
    return Published(
        gpu=gpu,
        ranks=8 * nodes,
        domains=nodes,
        size_gib=size_gib,
        expected=expected,
        gbit_per_s=gbit_per_s,
        efa=True,
        source=_AWS_NCCL_TESTS,
    )


PUBLISHED = (
    _azure_node("H100", "nd96isr_h100_v5.conf", 460),
    _azure_node("H200", "nd96isr_h200_v5.conf", 431, expected=480),
    _azure_node("A100 80GB", "nd96asr_v4.conf and its family", 228),
    _azure_node("A100 40GB", "nd96asr_v4.conf and its family", 228),
    _azure_node("H100 NVL", "nc80adis_h100_v5.conf", 208, ranks=2),
    Published(gpu="A100 80GB", ranks=8, warn=200, source=_AWS_SUITE),
    Published(gpu="A100 40GB", ranks=8, warn=200, source=_AWS_SUITE),
    Published(gpu="B200", ranks=8, warn=600, source=_AWS_SUITE),
    _azure("GB300", 72, 1, None, (937, 800, 600)),
    _azure("GB300", 144, 2, 57_600, (200, 180, 150)),
    _azure("H100", 64, 8, 3200, (450, 400, 300)),
    _efa("H100", 3200, 2, 1, 313),
    _efa("H100", 3200, 2, 2, 438),
    _efa("H100", 3200, 2, 16, 480),
    _efa("A100 80GB", 400, 2, 2, 78),
    _efa("A100 40GB", 400, 2, 2, 77),
    _efa("B200", 3200, 4, 16, 377),
    _efa("B300", 6400, 2, 16, 654),
    _efa("B300", 6400, 2, 64, 751),
)
"""All-reduce. AWS's full-stack figure of 800 GB/s for every type is above all of these and no row."""


@dataclass(frozen=True, kw_only=True)
class CopyRate:
    """Least rates of a GPU's copies in GB/s one way: with the host, and with another GPU of the node."""

    gpu: str
    host: float
    peer: float
    source: str


COPIES = (
    CopyRate(gpu="H100", host=48, peer=335, source=_AZURE_NODE.format("nd96isr_h100_v5.conf")),
    CopyRate(gpu="H200", host=48, peer=335, source=_AZURE_NODE.format("nd96isr_h200_v5.conf")),
    CopyRate(gpu="A100 80GB", host=21, peer=238, source=_AZURE_NODE.format("nd96amsr_a100_v4.conf")),
    CopyRate(gpu="A100 40GB", host=21, peer=238, source=_AZURE_NODE.format("nd96asr_v4.conf")),
)


@dataclass(frozen=True, kw_only=True)
class CardRate:
    """Rates between two cards of `gbit_per_s`, in Gb/s one way: below `warn` look, below `fail` replace."""

    gbit_per_s: float
    warn: float
    fail: float
    source: str


CARDS = (
    CardRate(gbit_per_s=400, warn=385, fail=360, source="AzNHC: 380 of 400 Gb/s on H100, 360 on H200"),
    CardRate(gbit_per_s=200, warn=190, fail=180, source="AzNHC: 180 of 200 Gb/s on A100"),
)
CARD_LATENCY_US = 4.2
"""Most that 99 % of the messages take between two cards of 400 Gb/s (imbue, host health checks)."""
