"""Bandwidths that were measured or are demanded of healthy machines, each with its source.

All-reduce of nccl-tests in GB/s of bus bandwidth, without wrong values. Transfers between two cards (ib_write_bw with
GPUDirect RDMA) in Gb/s, copies (nvbandwidth) in GB/s, all one way. Rows say what somebody published; what a machine is
held to is `planner.communication.thresholds`.
"""

from dataclasses import dataclass
from functools import partial

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
