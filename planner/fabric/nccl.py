"""NCCL's environment, by what the ranks talk over. Variables that only a job could set are left out.

There is no field for what NCCL decides by itself and better (the distance up to which GPUDirect is used, buffer sizes,
channel counts, the InfiniBand timeout, reads by GPUDirect), nor for what a run may set (`nccl` in the stack file).
Sources: NVIDIA NCCL user guide, "Environment Variables"; NCCL 2.30 sources (net_ib, graph/search.cc, graph/paths.cc,
graph/topo.cc).
"""

from collections.abc import Sequence
from typing import Literal

from catalogue.network_types import RDMA_DEVICE

POD_INTERFACE = "eth0"
"""The interface that every pod has, whatever else is attached; bootstrap goes over it."""

ROCE_DSCP, ROCE_PRIORITY = 26, 3
"""How switches and cards know packets of RoCE, and the priority that they pause (NVIDIA, RoCE configuration)."""

_ROCE_TIMEOUT = 22
"""4.096 us x 2^22: what OCI sets for RoCE, where congestion control may hold packets back longer."""


def variables(
    kind: Literal["infiniband", "roce", "ethernet"], devices: Sequence[str] = (), *, rails: bool, sharp: bool = False
) -> dict[str, str]:
    """Environment variables by name, of ranks on such a fabric; over Ethernet without RDMA they talk TCP.

    `devices` are those for RDMA in rail order; without any the choice is NCCL's, which takes storage cards as well. On
    rails a GPU's traffic stays on its card's rail, which NCCL's own choice (2) may cross. NCCL finds the RoCE v2 GID
    itself. `sharp`: the switches of InfiniBand add up. Raises ValueError for a prefix of devices' names, or a double.
    """
    wrong = [name for name in devices if not RDMA_DEVICE.fullmatch(name)]
    if wrong or len(set(devices)) < len(devices):
        raise ValueError(f"{tuple(devices)} are no distinct device names such as mlx5_0")
    told = {"NCCL_DEBUG": "WARN", "NCCL_SOCKET_IFNAME": POD_INTERFACE}
    if kind == "ethernet":
        return told | {"NCCL_IB_DISABLE": "1"}
    # Without `=` each name is a prefix, and mlx5_1 would stand for mlx5_10 as well.
    told |= {"NCCL_IB_HCA": f"={','.join(devices)}"} if devices else {}
    told |= {"NCCL_CROSS_NIC": "0"} if rails else {}
    if kind == "roce":
        # The DSCP stands above two bits, which say that the ends understand marks of congestion (RFC 3168).
        marked = {"NCCL_IB_TC": str(ROCE_DSCP << 2 | 2), "NCCL_IB_SL": str(ROCE_PRIORITY)}
        return told | marked | {"NCCL_IB_TIMEOUT": str(_ROCE_TIMEOUT)}
    return told | ({"NCCL_COLLNET_ENABLE": "1"} if sharp else {})
