"""How RoCE is kept from losing packets: one class of traffic, from rank to card to switch, and what a switch is told.

Sources: NVIDIA, "Recommended Network Configuration Examples for RoCE Deployment" (DSCP 26, priority 3, answers in DSCP
48) and Cumulus Linux 5, "RDMA over Converged Ethernet", default RoCE configuration (classes, thresholds of marks);
Arista EOS user manual, "Quality of Service"; SONiC, Command-Reference, and its wiki on QoS configuration. InfiniBand:
opensm(8), "PARTITION CONFIGURATION".
"""

from collections.abc import Iterator, Sequence

from planner.fabric.cables import planes
from planner.fabric.nccl import ROCE_DSCP, ROCE_PRIORITY
from planner.fabric.plan import FabricPlan
from planner.metal_types import MetalPlan

CNP_DSCP = 48
"""Of the packets by which a receiver answers marks of congestion; firmware's own (mlxconfig, CNP_DSCP_P1)."""
_CNP_CLASS = 6
_MARKED_BYTES = (150_000, 1_500_000)
"""Bytes in a queue from which packets are marked, and from which all are. Cumulus Linux has them for every rate."""
_FRAME, _FRAMING = 9216, 22
"""Bytes of the longest frame that switches of all three makers let through, and of it around a packet (802.1Q)."""

HEADING = ("switch", "setting", "value", "Cumulus Linux (NVIDIA)", "EOS (Arista)", "SONiC", "done")
_MANAGER = ("subnet manager", "setting", "value", "opensm: file", "opensm: line", "", "done")

_ROCE_MODE = "nv set qos roce mode lossless"


def checklist(plan: MetalPlan, fabric: FabricPlan) -> Iterator[Sequence[str]]:
    """Heading and lines: what each switch of Ethernet is set to, in three makers' words, or InfiniBand's manager.

    A port stands as `PORT` in commands, and its interface's name is the maker's.
    """
    if fabric.kind == "infiniband":
        yield _MANAGER
        yield from ((*line, "", "") for line in _of_manager(fabric))
        return
    yield HEADING
    settings = list(_of_switch(fabric))
    for named in planes(plan, fabric):
        for switch in (*named.leaves, *named.spines, *named.cores):
            yield from ((switch, *setting, "") for setting in settings)


def _of_switch(fabric: FabricPlan) -> Iterator[tuple[str, str, str, str, str]]:
    mtu = f"at least {fabric.mtu + _FRAMING}" if fabric.mtu else "the same at every port"
    yield (
        "frames",
        f"{_FRAME} bytes ({mtu})",
        f"nv set interface PORT link mtu {_FRAME}",
        f"interface PORT: mtu {_FRAME - 2}",
        f"config interface mtu PORT {_FRAME}",
    )
    if fabric.kind == "ethernet":
        return
    least, most = _MARKED_BYTES
    profile = "qos profile ROCE: "
    yield "trust", "DSCP", _ROCE_MODE, f"{profile}qos trust dscp", "PORT_QOS_MAP|PORT: dscp_to_tc_map"
    yield (
        "class of RDMA",
        f"DSCP {ROCE_DSCP} is class {ROCE_PRIORITY}",
        _ROCE_MODE,
        f"qos map dscp {ROCE_DSCP} to traffic-class {ROCE_PRIORITY}",
        f'DSCP_TO_TC_MAP: "{ROCE_DSCP}": "{ROCE_PRIORITY}"',
    )
    yield (
        "PFC",
        f"priority {ROCE_PRIORITY} alone",
        _ROCE_MODE,
        f"{profile}priority-flow-control on; priority-flow-control priority {ROCE_PRIORITY} no-drop",
        f"config interface pfc priority PORT {ROCE_PRIORITY} on",
    )
    yield (
        "ECN",
        f"class {ROCE_PRIORITY}: from {least:,} bytes, all from {most:,}",
        _ROCE_MODE,
        f"{profile}uc-tx-queue {ROCE_PRIORITY}: random-detect ecn minimum-threshold {least // 1000} kbytes "
        f"maximum-threshold {most // 1000} kbytes max-mark-probability 100",
        f"ecnconfig -p PROFILE -gmin {least} -gmax {most}",
    )
    yield (
        "answers to marks",
        f"DSCP {CNP_DSCP} is class {_CNP_CLASS}, strictly first",
        _ROCE_MODE,
        f"qos map dscp {CNP_DSCP} to traffic-class {_CNP_CLASS}; {profile}uc-tx-queue {_CNP_CLASS}: priority strict",
        f'DSCP_TO_TC_MAP: "{CNP_DSCP}": "{_CNP_CLASS}"; SCHEDULER: type STRICT',
    )


def _of_manager(fabric: FabricPlan) -> Iterator[tuple[str, str, str, str, str]]:
    manager = "the subnet manager"
    yield (
        manager,
        "MTU of the default partition",
        "4096 bytes",
        "/etc/opensm/partitions.conf",
        PARTITION,
    )
    if fabric.pod_ports and fabric.pod_ports.mode == "sriov":
        yield manager, "virtual ports", "on", "/etc/opensm/opensm.conf", "virt_enabled 2"
    yield manager, "flow control", "by credits, link by link: nothing is set", "", ""


PARTITION = "Default=0x7fff, ipoib, mtu=5, defmember=full : ALL=full, SELF=full;"
"""The default partition with packets of 4096 bytes, for IPoIB's groups too."""
