"""NCCL's environment, by what the ranks talk over. Variables that only a job could set are left out.

There is no field for what NCCL decides by itself and better (the distance up to which GPUDirect is used, buffer sizes,
channel counts, the InfiniBand timeout, reads by GPUDirect), nor for what a run may set (`nccl` in the stack file).
Sources: NVIDIA NCCL user guide, "Environment Variables"; NCCL 2.30 sources (net_ib, graph/search.cc, graph/paths.cc,
graph/topo.cc).
"""

from dataclasses import dataclass
from typing import Protocol

from catalogue.network_types import RDMA_DEVICE

POD_INTERFACE = "eth0"
"""The interface that every pod has, whatever else is attached; bootstrap goes over it."""

_ROCE_TIMEOUT = 22
"""4.096 us x 2^22: what OCI sets for RoCE, where congestion control may hold packets back longer."""


class Preset(Protocol):
    """Something that knows the variables of a job."""

    def variables(self) -> dict[str, str]:
        """Environment variables by name."""
        ...


@dataclass(frozen=True)
class Devices:
    """RDMA devices in rail order, each by its whole name. Raises ValueError for a prefix, a double or none."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        wrong = [name for name in self.names if not RDMA_DEVICE.fullmatch(name)]
        if wrong or not self.names or len(set(self.names)) < len(self.names):
            raise ValueError(f"{self.names} are no distinct device names such as mlx5_0")

    def __str__(self) -> str:
        """NCCL's exact list. Without `=` each name is a prefix, and mlx5_1 would stand for mlx5_10 as well."""
        return f"={','.join(self.names)}"


@dataclass(frozen=True, kw_only=True)
class InfiniBand:
    """Ranks on InfiniBand. None of `devices` leaves the choice to NCCL, which takes storage cards as well.

    `sharp`: the switches add up.
    """

    devices: Devices | None
    rails: bool
    sharp: bool = False

    def variables(self) -> dict[str, str]:
        """On rails a GPU's traffic stays on its card's rail; NCCL's own choice (2) may cross them."""
        return {
            "NCCL_DEBUG": "WARN",
            "NCCL_SOCKET_IFNAME": POD_INTERFACE,
            **({"NCCL_IB_HCA": str(self.devices)} if self.devices else {}),
            **({"NCCL_CROSS_NIC": "0"} if self.rails else {}),
            **({"NCCL_COLLNET_ENABLE": "1"} if self.sharp else {}),
        }


@dataclass(frozen=True, kw_only=True)
class Roce:
    """Ranks on RoCE. NCCL finds the RoCE v2 GID itself."""

    devices: Devices | None
    rails: bool

    def variables(self) -> dict[str, str]:
        """InfiniBand's, and the timeout that Ethernet needs."""
        verbs = InfiniBand(devices=self.devices, rails=self.rails).variables()
        return {**verbs, "NCCL_IB_TIMEOUT": str(_ROCE_TIMEOUT)}


@dataclass(frozen=True, kw_only=True)
class Sockets:
    """Ranks on TCP: Ethernet without RDMA."""

    def variables(self) -> dict[str, str]:
        """NCCL looks for no RDMA device."""
        return {"NCCL_DEBUG": "WARN", "NCCL_SOCKET_IFNAME": POD_INTERFACE, "NCCL_IB_DISABLE": "1"}
