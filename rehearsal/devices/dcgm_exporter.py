"""The dcgm-exporter of one node: what its GPUs do and suffer, by the list of counters that its pod mounts.

Source: NVIDIA/dcgm-exporter, pkg/cmd/app.go (flags and their environment); the image's own list counts where the pod
mounts none. A list that the exporter cannot read ends it, in its own words.
"""

import re
import threading
import time
import uuid
from collections import defaultdict, deque
from pathlib import Path

from rehearsal.cluster.pages import texts
from rehearsal.devices import boards, dcgm, gpus
from rehearsal.devices.boards import BOARDS
from rehearsal.devices.dcgm import Counter, CountersError, Device
from rehearsal.devices.gpus import GPU
from rehearsal.devices.readings import Reading
from rehearsal.kubelet import faults, volumes
from rehearsal.kubelet.allotted import IDLE, Holder, Work
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.exposition import text
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.program import Launch, Program, failed

DEFAULTS = Path(__file__).with_name("dcgm_counters.csv")
LISTEN, COLLECTORS = "DCGM_EXPORTER_LISTEN", "DCGM_EXPORTER_COLLECTORS"
SLICE_IDS = {"1g": 7, "2g": 3, "3g": 1, "4g": 1, "7g": 0}
"""The first GPU instance id of each size, as NVML numbers them (NVIDIA, MIG user guide, `nvidia-smi mig -lgi`)."""


def run(launch: Launch) -> Program:
    """Serves `/metrics` and `/health`, or ends over its list of counters."""
    try:
        counters = dcgm.counters(listed(launch))
    except CountersError as error:
        return failed(launch, str(error))
    exporter = Exporter(launch, counters)
    port = int((launch.env.get(LISTEN) or ":9400").rpartition(":")[2])
    return Answering(launch, {port: texts({"/metrics": exporter.page, "/health": lambda: "OK"})})


def listed(launch: Launch) -> str:
    """The list of counters: the mounted file that the environment names, else the image's. Raises CountersError."""
    path = launch.env.get(COLLECTORS, "")
    if not path or launch.mount_of(path) is None:
        return DEFAULTS.read_text()
    found = volumes.mounted(launch, path)
    if found is None:
        raise CountersError(f"Could not read metrics file '{path}'; err: open {path}: no such file or directory")
    return found.decode()


class Exporter:
    """What the exporter keeps between two scrapes: the energy that each GPU used, and when it was idle."""

    def __init__(self, launch: Launch, counters: list[Counter]) -> None:
        self._world, self._node, self._counters = launch.world, launch.node, counters
        self._host_label = dcgm.hostname_label(str(launch.spec.get("image") or ""))
        self._energy: dict[int, float] = defaultdict(float)
        self._idle: dict[int, deque[float]] = defaultdict(deque)
        self._looked = time.time()
        self._lock = threading.Lock()

    def page(self) -> str:
        """What a scrape gets now; empty where the node has no GPU that anybody knows."""
        host = self._world.hosts.get(self._node)
        with self._lock:
            devices = self._devices(host, time.time()) if host else []
        return text(dcgm.families(self._counters, devices, (self._host_label, self._node)))

    def _devices(self, host: Host, now: float) -> list[Device]:
        gpu = gpus.find(host.machine)
        if gpu is None:
            return []
        passed, self._looked = now - self._looked, now
        orders, board = self._world.orders.now().of(self._node), BOARDS[gpu.product]
        profile = self._world.hosts.profile(self._node)
        count = gpu.slices.get(profile, 1) if profile else 1
        holders = self._holders(profile)
        sizes: dict[Holder, int] = defaultdict(int)
        for each in holders.values():
            sizes[each] += 1
        found = []
        for index in range(host.machine.gpu_count):
            parts = [holders.get(index * count + part) for part in range(count)]
            works = [self._world.allotted.working(each) if each else IDLE for each in parts]
            whole = sum(each.compute for each in works) / count
            self._energy[index] += boards.watts(board, whole) * passed * 1000
            idle = self._idled(index, whole == 0, now)
            state = faults.gpu(orders, index, now)
            for part, (holder, work) in enumerate(zip(parts, works, strict=True)):
                memory = slice_mib(profile) if profile else gpu.memory
                reading = Reading(
                    gpu=gpu,
                    board=board,
                    work=Work(round(work.compute, 4), work.memory),
                    state=state,
                    energy_mj=int(self._energy[index]),
                    memory=memory,
                    peers=holder is not None and sizes[holder] > 1 and profile is None,
                    sliced=profile is not None,
                )
                found.append(
                    Device(
                        index=index,
                        uuid=f"GPU-{uuid.uuid5(uuid.NAMESPACE_OID, f'{host.instance_id}/{index}')}",
                        bus=f"00000000:{0x1E + 0x11 * index:02X}:00.0",
                        model=dcgm.model(gpu.product),
                        reading=reading,
                        holder=holder,
                        instance=(profile, instance_id(profile, part)) if profile else None,
                        idle_samples=idle,
                    )
                )
        return found

    def _holders(self, profile: str | None) -> dict[int, Holder]:
        whole = self._world.allotted.holders(self._node, GPU)
        return whole or (self._world.allotted.holders(self._node, gpus.slice_resource(profile)) if profile else {})

    def _idled(self, index: int, idle: bool, now: float) -> int:
        """In how many samples of the window the GPU was idle; DCGM takes one each interval."""
        seen = self._idle[index]
        if idle and (not seen or now - seen[-1] >= dcgm.INTERVAL_SECONDS):
            seen.append(now)
        while seen and now - seen[0] > dcgm.WINDOW_SECONDS:
            seen.popleft()
        return len(seen)


def slice_mib(profile: str) -> int:
    """Memory of a slice in MiB, which is a twentieth less than its name says (`nvidia-smi mig -lgip`)."""
    found = re.search(r"(\d+)gb", profile)
    return int(int(found[1]) * 1024 * 0.95) if found else 0


def instance_id(profile: str, part: int) -> int:
    """The GPU instance id of a GPU's slice."""
    return SLICE_IDS.get(profile.partition(".")[0], 0) + part
