"""GPUs that communicate: how they are joined, and what the joints carry. Rates in GB/s one way."""

from dataclasses import dataclass, replace
from typing import Literal

from catalogue.types import Gpu
from catalogue.units import gbyte_per_s
from planner.communication.constants import (
    CHANNEL_GB_PER_S,
    LINK_GB_PER_S,
    NETWORK_PART,
    NVLS_EFFICIENCY,
    PCIE_GB_PER_S,
    architecture,
)

Processor = Literal["intel", "amd"]


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
    processor: Processor = "intel"

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
    def nvlink(self) -> bool:
        """Whether NVLink joins all GPUs of a domain."""
        return self.gpu.nvlink_links > 0 and self.per_domain <= self.gpu.nvlink_gpus

    @property
    def nvls(self) -> bool:
        """Whether NVLink switches that add up join all GPUs of a domain; a bridge of two GPUs has none."""
        switched = self.gpu.nvlink_gpus > 2 and architecture(self.gpu) in NVLS_EFFICIENCY
        return switched and self.nvlink and self.per_domain > 1

    @property
    def sharp(self) -> bool:
        """Whether the network's switches add up."""
        return self.network is not None and self.network.sharp


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Equal domains of `domain_gpus` GPUs with `network` each; what groups of GPUs are cut from."""

    gpu: Gpu
    domain_gpus: int
    network: Network | None = None
    processor: Processor = "intel"

    def group(self, ranks: int, stride: int = 1) -> Group:
        """`ranks` GPUs that lie `stride` apart, with their share of the domains' cards.

        Source: Megatron Core's order of ranks, in which tensor parallel ranks are neighbours. Raises ValueError where
        the ranks leave a domain that has no network.
        """
        inside = max(1, min(ranks, self.domain_gpus // stride))
        domains = -(-ranks // inside)
        network = self._share(inside) if domains > 1 else None
        return Group(gpu=self.gpu, ranks=ranks, domains=domains, network=network, processor=self.processor)

    def _share(self, inside: int) -> Network | None:
        if self.network is None:
            return None
        cards = self.network.nics * inside / self.domain_gpus
        nics = max(1, int(cards))
        return replace(self.network, nics=nics, gbit_per_s=self.network.gbit_per_s * cards / nics)


def nvlink_gb_per_s(gpu: Gpu) -> float:
    """What NCCL reaches over all NVLinks of a GPU, 0 without them: 370 of an H100's nominal 450."""
    return gpu.nvlink_links * LINK_GB_PER_S[architecture(gpu)]


def inside_gb_per_s(group: Group) -> float:
    """What a ring inside a domain moves past each GPU."""
    return nvlink_gb_per_s(group.gpu) if group.nvlink else PCIE_GB_PER_S[architecture(group.gpu)]


def ring_gb_per_s(group: Group) -> float:
    """What rings through all GPUs of the group move: its slowest joint.

    Rings enter and leave a domain over all its cards, so that the cards' rates add up.
    """
    inside = inside_gb_per_s(group) if group.per_domain > 1 else float("inf")
    if group.domains == 1 or group.network is None:
        return inside_gb_per_s(group)
    return min(inside, group.network.gb_per_s)


def nvls_channel_gb_per_s(group: Group) -> float:
    """What a channel of NVLS moves inside a domain in bus bandwidth; each GPU is the head of one. 0 without NVLS."""
    if not group.nvls:
        return 0.0
    kind, heads = architecture(group.gpu), group.per_domain
    most = nvlink_gb_per_s(group.gpu) / heads
    given = next((rate for rate in CHANNEL_GB_PER_S[kind] if rate <= most), most)
    return 2 * given * NVLS_EFFICIENCY[kind] * (heads - 1) / heads
