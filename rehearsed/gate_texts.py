"""What the tools of a gate print of a given kind of node, and the kernel's files about its ports."""

from collections.abc import Mapping, Sequence
from typing import Any

SYSTEM = "infiniband"
"""Where beside the tools the kernel's files about fabric cards lie."""


PCIE_GBPS, PEER_PART, REPLAYED_PART = 55.3, 0.88, 0.5


PORT_GBPS, PERFTEST_PART = 400, 0.98
"""A port of NDR, and what of it 8 MiB messages of ib_write_bw reach."""


PLANNED_PART = 0.9
"""What a node reaches of the plan's figures, training and at the shared file system. Assumed."""


RATES = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"


TIMES = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
    "   99% percentile[usec]   99.9% percentile[usec] "
)


_TIMED = " 2       1000          1.80           9.71         1.86      1.87      0.11      2.04      3.50   "
"""Headings of perftest, and a row of latencies (linux-rdma/perftest, src/perftest_parameters.h)."""


def copied(peer: float, replaying: Mapping[int, bool]) -> str:
    """What nvbandwidth tells of these GPUs on PCIe of generation 5, which sends packets of those that are `replaying`
    again, and on NVLinks of `peer` GB/s (printed by 0.10 on eight H100: 55.4 with the host, 395 between two).
    """
    count = len(replaying)
    places = (_bus(gpu).lower().removesuffix(".0") for gpu in replaying)
    found = "".join(f"Device {at}: NVIDIA ({place})\n" for at, place in enumerate(places)) + "\n"
    for test, arrow in (("host_to_device", "CPU(row) -> GPU"), ("device_to_host", "CPU(row) <- GPU")):
        rates = [PCIE_GBPS * (REPLAYED_PART if again else 1) for again in replaying.values()]
        found += _matrix(f"{test}_memcpy_ce", arrow, [rates])
    peers = [[None if row == column else peer * PEER_PART for column in range(count)] for row in range(count)]
    return found + _matrix("device_to_device_memcpy_read_ce", "GPU(row) <- GPU", peers)


def _matrix(test: str, arrow: str, rows: Sequence[Sequence[float | None]]) -> str:
    """A table as its output.cpp prints it."""
    head = "  " + "".join(f"{column:10d}" for column in range(len(rows[0])))
    body = "".join(
        f"{at:2d}" + "".join(f"{'N/A' if each is None else f'{each:.2f}':>10}" for each in row) + "\n"
        for at, row in enumerate(rows)
    )
    total = sum(round(each, 2) for row in rows for each in row if each is not None)
    return f"Running {test}.\nmemcpy CE {arrow}(column) bandwidth (GB/s)\n{head}\n{body}\nSUM {test} {total:.2f}\n\n"


def trained(rate: float) -> str:
    """What the reference trainer prints of a node that trains as planned (node/trainer/train.py, Run._tell)."""
    steps = (f"step {each} loss 9.0000 {PLANNED_PART * rate:.0f} tokens/s" for each in range(1, 26))
    return "\n".join((*steps, "done after 25 steps")) + "\n"


def slots(gpus: Sequence[int]) -> str:
    """nvidia-smi --query-gpu=index,pci.bus_id of these GPUs, which are where the report has them."""
    return "".join(f"{gpu}, {_bus(gpu)}\n" for gpu in gpus)


def _bus(gpu: int) -> str:
    return f"00000000:{0x1A + gpu:02X}:00.0"


def report(count: int, *, switched: bool, starts: bool) -> str:
    """nvidia-smi -q as far as a gate reads it: the section Fabric of each GPU."""
    state, status = ("Completed", "Success") if starts else ("In Progress", "N/A")
    if not switched:
        state = status = "N/A"
    fields = {"State": state, "Status": status}
    section = "    Fabric\n" + "".join(f"        {name:33} : {value}\n" for name, value in fields.items())
    each = "".join(f"GPU {_bus(index)}\n{section}" for index in range(count))
    return f"\n==============NVSMI LOG==============\n\n{each}"


def links(gpus: Sequence[int], count: int, gbps: float) -> str:
    """nvidia-smi nvlink --status of these GPUs: all of their links are up, also one that loses packets."""
    each = "".join(f"\t Link {link}: {gbps:g} GB/s\n" for link in range(count))
    return "".join(f"GPU {gpu}: NVIDIA (UUID: GPU-{gpu:08x})\n{each}" for gpu in gpus)


def table(test: Mapping[str, Any], bus: float) -> str:
    """One run of nccl-tests."""
    size = test["bytes"]
    row = f"{size} {size // 4} float sum -1 100.0 {bus:.2f} {bus:.2f} 0"
    return f"#  size count type redop root time algbw busbw #wrong\n  {row}\n# Avg bus bandwidth    : {bus:.3f}\n"


def rails(plan: Mapping[str, Any]) -> dict[str, str]:
    """What perftest says of the node's cards with as many partners as there are rounds, one after the other."""
    found: dict[str, str] = {}
    rate = PORT_GBPS * PERFTEST_PART
    for partner in range(plan["pairs"]["rounds"]):
        for card in range(plan["devices"]):
            place = f"between/pairs/node-{partner}/mlx5_{card}"
            row = f" 8388608    4000             {rate:<7.2f}            {rate:<7.2f}\t\t     {rate / 67.1:<7.6f}"
            for way in ("out", "in"):
                found[f"{place}/{way}"] = _perftest(f"mlx5_{card}", RATES, row)
            found[f"{place}/latency"] = _perftest(f"mlx5_{card}", TIMES, _TIMED)
    return found


def _perftest(card: str, heading: str, row: str) -> str:
    line = "-" * 87
    about = f" Dual-port       : OFF\t\tDevice         : {card}\n Link type       : IB"
    return "\n".join((line, about, line, heading, row, line, ""))


def ports(count: int, down: int, gbps: int = PORT_GBPS) -> dict[str, str]:
    """The kernel's files about the ports of so many InfiniBand cards (sysfs-class-infiniband); the first `down` of them
    have no link.
    """
    found: dict[str, str] = {}
    for index in range(count):
        place, up = f"{SYSTEM}/mlx5_{index}/ports/1", index >= down
        found[f"{place}/state"] = "4: ACTIVE\n" if up else "1: DOWN\n"
        found[f"{place}/rate"] = f"{gbps if up else 40} Gb/sec (4X {'NDR' if up else 'QDR'})\n"
        found[f"{place}/link_layer"] = "InfiniBand\n"
    return found
