"""Constants of NCCL's own cost model, which it chooses algorithm and protocol by.

Source: NCCL 2.30.7, src/tuning/cost_model.cc and nvls.cc (latencies, caps, efficiency of NVLS), src/graph/topo.h (rates
of a link), src/graph/search.cc (rates that a channel is given). Latencies in us, rates in GB/s one way.
"""

from dataclasses import dataclass
from enum import IntEnum

from catalogue.types import Gpu
from planner.communication.collectives import Algorithm, Protocol


class Architecture(IntEnum):
    """GPU architectures as the model tells them apart."""

    VOLTA = 7
    AMPERE = 8
    HOPPER = 9
    BLACKWELL = 10


def architecture(gpu: Gpu) -> Architecture:
    """The architecture of a GPU. What is newer than Blackwell counts as that, what is older than Volta as Volta."""
    return Architecture(min(max(int(gpu.compute_capability), Architecture.VOLTA), Architecture.BLACKWELL))


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Microseconds of a whole operation (`base`) and of a step over NVLink, PCIe or network."""

    base: float
    nvlink: float
    pcie: float
    network: float


LATENCIES_US = {
    (Algorithm.TREE, Protocol.LL): Latency(base=6.8, nvlink=0.6, pcie=1.0, network=5.0),
    (Algorithm.TREE, Protocol.LL128): Latency(base=14.0, nvlink=1.25, pcie=1.9, network=8.5),
    (Algorithm.TREE, Protocol.SIMPLE): Latency(base=8.4, nvlink=4.0, pcie=4.0, network=14.0),
    (Algorithm.RING, Protocol.LL): Latency(base=6.6, nvlink=0.6, pcie=1.0, network=2.7),
    (Algorithm.RING, Protocol.LL128): Latency(base=14.0, nvlink=1.9, pcie=2.5, network=4.0),
    (Algorithm.RING, Protocol.SIMPLE): Latency(base=8.4, nvlink=3.4, pcie=5.7, network=14.0),
    (Algorithm.COLLNET, Protocol.SIMPLE): Latency(base=0.0, nvlink=3.7, pcie=3.7, network=31.0),
    (Algorithm.NVLS, Protocol.SIMPLE): Latency(base=0.0, nvlink=25.0, pcie=25.0, network=18.0),
    (Algorithm.NVLS_TREE, Protocol.SIMPLE): Latency(base=0.0, nvlink=25.0, pcie=25.0, network=20.9),
    (Algorithm.PAT, Protocol.SIMPLE): Latency(base=8.0, nvlink=4.0, pcie=4.0, network=14.0),
    (Algorithm.PAIRWISE, Protocol.SIMPLE): Latency(base=8.4, nvlink=3.4, pcie=5.7, network=14.0),
}
"""Pairs that exist. NCCL has no row for transfers between pairs, which take the ring's here."""

COLLNET_ARITY_US = 0.4
PAT_RANK_US = 2.8
PAT_NETWORK_PART = 1 / 3.5

POST_US = {"intel": 1.0, "amd": 2.0}
"""Time that a processor takes to post a transfer to the network; a step with the Simple protocol posts three times."""

LINK_GB_PER_S = {
    Architecture.VOLTA: 20.0,
    Architecture.AMPERE: 20.0,
    Architecture.HOPPER: 20.6,
    Architecture.BLACKWELL: 40.1,
}
"""What one NVLink carries of its nominal 25 or 50."""

PCIE_GB_PER_S = {
    Architecture.VOLTA: 12.0,
    Architecture.AMPERE: 24.0,
    Architecture.HOPPER: 48.0,
    Architecture.BLACKWELL: 48.0,
}
"""What 16 lanes carry: 12 in the third generation, twice as much in each later one."""

NVLS_EFFICIENCY = {Architecture.HOPPER: 0.85, Architecture.BLACKWELL: 0.74}
CHANNEL_GB_PER_S = {
    Architecture.HOPPER: (60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0),
    Architecture.BLACKWELL: (90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0),
}
"""Rates that a channel may be given inside a node, of which NCCL takes the largest that fits."""

TREE_CHANNEL_GB_PER_S = {
    Architecture.VOLTA: (18.5, 10.0),
    Architecture.AMPERE: (23.6, 17.8),
    Architecture.HOPPER: (41.4, 36.0),
    Architecture.BLACKWELL: (42.8, 24.0),
}
NVLS_TREE_CHANNEL_GB_PER_S = {Architecture.HOPPER: (57.7, 45.5), Architecture.BLACKWELL: (96.0, 80.0)}
"""Most that a channel reaches on two nodes, and on more."""

RING_PART = {Protocol.LL: 1 / 2, Protocol.LL128: 0.92, Protocol.SIMPLE: 1.0}
TREE_PART = {Protocol.LL: (1 / 3.8, 1 / 3.8), Protocol.LL128: (7 / 9, 120 / 128), Protocol.SIMPLE: (1.0, 1.0)}
"""What of the rate a protocol leaves; of trees on one node, and on more."""
TREE_OF_RING = 0.92
PAT_PART = 0.75

NETWORK_PART = 0.9
"""What a network card carries of its nominal rate, for planning; good ones reach 0.95 (Azure's check of 400 Gb/s)."""

EFA_LATENCY_US = 75.0
"""What aws-ofi-nccl tells NCCL about instances of the P families (src/platform-aws.cpp)."""
