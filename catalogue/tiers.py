"""Cost tiers of on-premises clusters with H100 GPUs, as consultancies quote them."""

from dataclasses import dataclass

_TIERS = "consultancy article on H100 clusters, May 2025; approximate"


@dataclass(frozen=True, kw_only=True)
class Tier:
    """A tier: what it costs as a whole, and what it is."""

    name: str
    nodes: int
    gpus: int
    usd: float
    redundant: bool
    about: str
    source: str

    @property
    def usd_per_gpu(self) -> float:
        """Its price for each GPU."""
        return self.usd / self.gpus


def _tier(name: str, nodes: int, gpus: int, usd: float, about: str, *, redundant: bool = False) -> Tier:
    return Tier(name=name, nodes=nodes, gpus=gpus, usd=usd, redundant=redundant, about=about, source=_TIERS)


TIERS = {
    tier.name: tier
    for tier in (
        _tier("budget", 4, 32, 1_200_000, "one HDR switch, Lustre with two object servers, nothing redundant"),
        _tier("mid", 8, 32, 2_000_000, "four GPUs a node, WekaFS, shared cooling"),
        _tier("full", 8, 64, 2_800_000, "two switches, Lustre with eight object servers, DLC", redundant=True),
    )
}
"""By name. The middle one is dearest for each GPU."""
