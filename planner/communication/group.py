"""GPUs that communicate: what they do together, how they are joined, what the joints carry. Rates in GB/s one way.

The algorithm bandwidth is an operation's size over its time. The bus bandwidth is that times what each link has to move
per byte, so that it compares with the link's own rate whatever the number of GPUs is. The size is a rank's buffer; for
all-gather, reduce-scatter and all-to-all it is the larger one, with the parts of all ranks. Sources: nccl-tests,
doc/PERFORMANCE.md; NCCL 2.30.7, src/graph/topo.h (links), src/graph/search.cc (channels), src/tuning/nvls.cc.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from catalogue.types import Gpu
from catalogue.units import gbyte_per_s

NETWORK_PART = 0.9
"""What a network card carries of its nominal rate, for planning; good ones reach 0.95 (Azure's check of 400 Gb/s)."""

EFA_LATENCY_US = 75.0
"""What aws-ofi-nccl tells NCCL about instances of the P families (src/platform-aws.cpp)."""

_TREE_OF_RING = 0.92


class Collective(StrEnum):
    """An operation of a group of GPUs."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    SEND_RECEIVE = "send-receive"


_BOTH_HALVES = (Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.ALL_TO_ALL)


def bus_factor(collective: Collective, ranks: int) -> float:
    """Bus bandwidth over algorithm bandwidth: 2(n-1)/n for all-reduce, (n-1)/n where parts are exchanged, else 1.

    Raises ValueError below one rank.
    """
    if ranks < 1:
        raise ValueError(f"{ranks} ranks exchange nothing")
    if collective is Collective.ALL_REDUCE:
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if collective in _BOTH_HALVES else 1.0


@dataclass(frozen=True, kw_only=True)
class _Generation:
    """What one NVLink carries of its nominal 25 or 50, 16 lanes of PCIe, and a tree by a card on two nodes and on more.

    Where NVLink's switches add up (NVLS): the part of the rate that they reach, the rates that a channel may be given
    inside a node, of which NCCL takes the largest that fits, and the most of a channel on two nodes and on more.
    """

    link: float
    pcie: float
    tree: tuple[float, float]
    nvls_part: float = 0.0
    channels: tuple[float, ...] = ()
    across: tuple[float, float] = (0.0, 0.0)


_GENERATIONS = {
    7: _Generation(link=20.0, pcie=12.0, tree=(18.5, 10.0)),
    8: _Generation(link=20.0, pcie=24.0, tree=(23.6, 17.8)),
    9: _Generation(
        link=20.6,
        pcie=48.0,
        tree=(41.4, 36.0),
        nvls_part=0.85,
        channels=(60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0),
        across=(57.7, 45.5),
    ),
    10: _Generation(
        link=40.1,
        pcie=48.0,
        tree=(42.8, 24.0),
        nvls_part=0.74,
        channels=(90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0),
        across=(96.0, 80.0),
    ),
}
"""By compute capability: Volta, Ampere, Hopper, Blackwell."""


def _generation(gpu: Gpu) -> _Generation:
    """What is newer than Blackwell counts as that, what is older than Volta as Volta."""
    return _GENERATIONS[min(max(int(gpu.compute_capability), 7), 10)]


@dataclass(frozen=True, kw_only=True)
class Network:
    """Cards of one domain (a node, as a rule): `nics` of `gbit_per_s` each, one way, of which `part` is reached.

    `latency_us` is what the network adds to a step (EFA), `sharp` says that its switches add up.
    """

    nics: int
    gbit_per_s: float
    latency_us: float = 0.0
    sharp: bool = False
    part: float = NETWORK_PART

    def __post_init__(self) -> None:
        if self.nics < 1 or self.gbit_per_s <= 0 or not 0 < self.part <= 1:
            raise ValueError(f"{self.nics} cards of {self.gbit_per_s} Gb/s, {self.part} of it, carry nothing")

    @property
    def gb_per_s(self) -> float:
        """GB/s that all its cards carry together."""
        return self.nics * gbyte_per_s(self.gbit_per_s) * self.part


@dataclass(frozen=True, kw_only=True)
class Group:
    """`ranks` GPUs spread evenly over `domains`, which are joined inside by NVLink or PCIe, and by `network` outside.

    A domain is what NCCL counts as a node: a server, or a rack whose GPUs share one NVLink switch. `network` is the
    part of a domain's cards that this group has.
    """

    gpu: Gpu
    ranks: int
    domains: int = 1
    network: Network | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.domains <= self.ranks:
            raise ValueError(f"{self.ranks} GPUs do not lie in {self.domains} domains")
        if self.domains > 1 and self.network is None:
            raise ValueError(f"{self.domains} domains have no network between them")

    @property
    def per_domain(self) -> int:
        """GPUs of a domain."""
        return self.ranks // self.domains

    @property
    def outside(self) -> Network | None:
        """The network, where the group needs it."""
        return self.network if self.domains > 1 else None

    @property
    def nvlink(self) -> bool:
        """Whether NVLink joins all GPUs of a domain."""
        return self.gpu.nvlink_links > 0 and self.per_domain <= self.gpu.nvlink_gpus

    @property
    def nvls(self) -> bool:
        """Whether NVLink switches that add up join all GPUs of a domain; a bridge of two GPUs has none."""
        return self.gpu.nvlink_gpus > 2 and _generation(self.gpu).nvls_part > 0 and self.nvlink and self.per_domain > 1

    @property
    def sharp(self) -> bool:
        """Whether the network's switches add up."""
        return self.outside is not None and self.outside.sharp

    @property
    def inside_gb_per_s(self) -> float:
        """What a ring inside a domain moves past each GPU."""
        return nvlink_gb_per_s(self.gpu) if self.nvlink else _generation(self.gpu).pcie

    @property
    def ring_gb_per_s(self) -> float:
        """What rings through all GPUs of the group move: its slowest joint.

        Rings enter and leave a domain over all its cards, so that the cards' rates add up.
        """
        if self.outside is None:
            return self.inside_gb_per_s
        inside = self.inside_gb_per_s if self.per_domain > 1 else float("inf")
        return min(inside, self.outside.gb_per_s)

    @property
    def tree_gb_per_s(self) -> float:
        """Algorithm bandwidth of a tree; inside one domain there are enough channels not to reach their limit."""
        rate = _TREE_OF_RING * self.ring_gb_per_s
        if self.outside:
            rate = min(rate, _generation(self.gpu).tree[0 if self.domains == 2 else 1] * self.outside.nics)
        return rate / 2

    @property
    def nvls_gb_per_s(self) -> float:
        """Bus bandwidth of sums in a domain's NVLink switches: each GPU is the head of a channel. 0 without NVLS."""
        return self.per_domain * self._channel_gb_per_s

    @property
    def nvls_tree_gb_per_s(self) -> float:
        """Bus bandwidth of such sums with a tree between domains, 0 without either.

        A pair of domains needs no inner nodes of the tree, so that each card's both ways count.
        """
        if self.outside is None:
            return 0.0
        few = self.domains == 2
        most = _generation(self.gpu).across[0 if few else 1]
        card = self.outside.gb_per_s / self.per_domain
        return self.per_domain * min(self._channel_gb_per_s, card * (2 if few else 1), most)

    @property
    def _channel_gb_per_s(self) -> float:
        if not self.nvls:
            return 0.0
        kind, heads = _generation(self.gpu), self.per_domain
        most = nvlink_gb_per_s(self.gpu) / heads
        given = next((rate for rate in kind.channels if rate <= most), most)
        return 2 * given * kind.nvls_part * (heads - 1) / heads


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Equal domains of `domain_gpus` GPUs with `network` each; what groups of GPUs are cut from."""

    gpu: Gpu
    domain_gpus: int
    network: Network | None = None

    def group(self, ranks: int, stride: int = 1) -> Group:
        """`ranks` GPUs that lie `stride` apart, with their share of the domains' cards.

        Source: Megatron Core's order of ranks, in which tensor parallel ranks are neighbours. Raises ValueError where
        the ranks leave a domain that has no network.
        """
        inside = max(1, min(ranks, self.domain_gpus // stride))
        domains = -(-ranks // inside)
        network = self._share(inside) if domains > 1 else None
        return Group(gpu=self.gpu, ranks=ranks, domains=domains, network=network)

    def _share(self, inside: int) -> Network | None:
        if self.network is None:
            return None
        cards = self.network.nics * inside / self.domain_gpus
        nics = max(1, int(cards))
        return replace(self.network, nics=nics, gbit_per_s=self.network.gbit_per_s * cards / nics)


def nvlink_gb_per_s(gpu: Gpu) -> float:
    """What NCCL reaches over all NVLinks of a GPU, 0 without them: 370 of an H100's nominal 450."""
    return gpu.nvlink_links * _generation(gpu).link
