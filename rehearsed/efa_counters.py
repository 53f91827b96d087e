"""The container beside the node exporter that writes EFA's counters to a text file.

Its script reads `hw_counters` of the EFA devices; here the driver's counters are made (linux, drivers/infiniband/hw/
efa/efa_verbs.c), and the names before them are those that the script prints. What a device carries follows from the
GPUs of the container that holds the node's devices: a share of its rate while kernels run, which is assumed.
"""

import re
import time
from collections.abc import Sequence

from rehearsal.devices.gpus import GPU
from rehearsal.images.node_exporter import EFA_BYTES_PER_SECOND, efa_name
from rehearsal.kubelet import faults
from rehearsal.kubelet.program import Launch, Program

SECONDS = 5.0
SHARE = 0.1
PACKET_BYTES = 8192
FILE = re.compile(r"mv \S+ (/\S+\.prom)")
PREFIX = re.compile(r"printf '(\w*_)%s\{")
IDLE = (
    *("rx_drops", "send_bytes", "send_wrs", "recv_bytes", "recv_wrs", "rdma_read_bytes", "rdma_read_wrs"),
    *("rdma_read_wr_err", "rdma_read_resp_bytes", "rdma_write_wr_err", "retrans_bytes", "retrans_pkts"),
    *("retrans_timeout_events", "unresponsive_remote_events", "impaired_remote_conn_events"),
)
"""Counters that do not move here. Those of commands are the device's, beside which the script does not look."""
LIFESPAN_MS = 10
"""No counter, but a file among them (linux, drivers/infiniband/core/sysfs.c; include/rdma/ib_verbs.h,
RDMA_HW_STATS_DEFAULT_LIFESPAN)."""


def run(launch: Launch) -> Program:
    """Writes the file again and again, as its script says; does nothing where that is not such a script."""
    words = " ".join(launch.argv)
    file, prefix = FILE.search(words), PREFIX.search(words)
    return Writer(launch, file[1], prefix[1]) if file and prefix else Program()


class Writer(Program):
    """Keeps what the devices have carried."""

    def __init__(self, launch: Launch, file: str, prefix: str) -> None:
        self._launch, self._file, self._prefix = launch, file, prefix
        self._carried, self._looked = 0.0, time.time()
        self._task = f"{launch.node}/{launch.spec['name']}"
        launch.world.tasks.run(self._task, self._write)

    def _write(self) -> float:
        launch = self._launch
        host, mount = launch.world.hosts.get(launch.node), launch.mount_of(self._file)
        now = time.time()
        passed, self._looked = now - self._looked, now
        if host is None or mount is None:
            return SECONDS
        works = [
            launch.world.allotted.working(each) for each in launch.world.allotted.holders(launch.node, GPU).values()
        ]
        busy = max((each.compute for each in works), default=0.0) if host.efa_interfaces else 0.0
        self._carried += busy * SHARE * EFA_BYTES_PER_SECOND * passed
        broken = {each.target for each in faults.lasting(launch.world.orders.now().of(launch.node), "ib-link")}
        count = host.efa_interfaces
        there = [efa_name(count, index) for index in range(count) if efa_name(count, index) not in broken]
        launch.directory.mkdir(parents=True, exist_ok=True)
        file = launch.directory / "counters.prom"
        file.write_text(text(self._prefix, there, int(self._carried)))
        launch.world.contents.bring(mount.volume, mount.inside(self._file) or "", file)
        return SECONDS

    def stop(self) -> None:
        self._launch.world.tasks.cancel(self._task)


def text(prefix: str, devices: Sequence[str], carried: int) -> str:
    """The file: bytes and packets in both directions, most of them written by RDMA, and what does not move. Pure."""
    moving = {
        **dict.fromkeys(("tx_bytes", "rx_bytes", "rdma_write_bytes", "rdma_write_recv_bytes"), carried),
        **dict.fromkeys(("tx_pkts", "rx_pkts", "rdma_write_wrs"), carried // PACKET_BYTES),
    }
    counters = {**moving, **dict.fromkeys(IDLE, 0), "lifespan": LIFESPAN_MS}
    return "".join(
        f'{prefix}{name}{{device="{device}",port="1"}} {value}\n'
        for device in devices
        for name, value in counters.items()
    )
