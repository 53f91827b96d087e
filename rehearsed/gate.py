"""The container `gate`: its own script runs, and finds tools that print what the simulated node would make them print.

What a tool prints follows from the machine, its image and what was broken on purpose; the script judges it and tells
the API server, as the pod's own account. Sources of the forms: node/gates/results.py; bandwidth inside a node is what
its NVLinks carry, between nodes what its EFA devices carry, each by a factor that published figures have
(aws-ofi-nccl and nccl-tests on p5: 480 GB/s in both places; 900 GB/s of NVLink, 400 GB/s of cards, both ways).
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rehearsal import places
from rehearsal.devices import boards, gpus
from rehearsal.devices.gpus import GPU
from rehearsal.devices.readings import DRIVER, SLOWED_SHARE
from rehearsal.images import nccl
from rehearsal.images.node_exporter import EFA_BYTES_PER_SECOND
from rehearsal.kubelet import faults
from rehearsal.kubelet.allotted import Holder
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.orders import Fault
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import Ends, Exit, Launch, Program
from rehearsed import gate_texts, registry

LINK_FACTOR, CARD_FACTOR = 1.07, 1.2


DISK_MIB_PER_SECOND = 1000
"""Where the plan knows no rate. Assumed."""
ILL = frozenset(
    {"fabric-manager", "gpu-slow", "gpu-unavailable", "gpu-driver", "nvlink", "ib-link", "filesystem-mount"}
)
"""Failures of which a gate finds one by the node alone, so that the node takes no part in what follows."""

_SMI = """\
#!/bin/sh
case "$*" in
*driver_version*) echo {driver} ;;
nvlink*) cat {links} ;;
*pci.bus_id*) cat {slots} ;;
topo*) echo "Topology is not simulated" ;;
*) cat {report} ;;
esac
"""
_DD = """\
#!/bin/sh
for word in "$@"; do case "$word" in count=*) mib=${{word#count=}};; esac; done
if [ -n "{refusal}" ]; then echo "dd: {refusal}"; exit 1; fi
ms=$((mib * 1000 / {rate}))
printf '%d bytes copied, %d.%03d s, 1 GB/s\\n' $((mib * 1048576)) $((ms / 1000)) $((ms % 1000))
"""
_PYTHON = """\
#!/bin/sh
case "$1" in */copies.py) cat {files}/copies.said; exit ;; esac
where=$2
while [ "$1" != --out ]; do shift; done
cp -r {files}/$where/. "$2"/ 2>/dev/null
cat {files}/$where.said
"""


def run(launch: Launch) -> Program:
    """The real script on this machine; ends as a shell does where the container starts something else."""
    if len(launch.argv) < 2 or launch.argv[0] != "python3":
        return Ends(launch.now, Exit(127, f"{' '.join(launch.argv[:1])}: not found"))
    tools = _tools(launch)
    api = urlsplit(launch.world.endpoint)
    env = {
        "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin",
        "KUBERNETES_SERVICE_HOST": api.hostname or "",
        "KUBERNETES_SERVICE_PORT": str(api.port),
    }
    return RealProcess(
        launch,
        Path(sys.executable),
        [*launch.argv[1:], f"--system={tools / gate_texts.SYSTEM}"],
        {},
        env,
        own_words=True,
    )


def _tools(launch: Launch) -> Path:
    """The tools as programs that print what was made for them."""
    directory = places.private_directory(launch.directory.absolute() / "tools")
    for name, text in outputs(launch).items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    refusal = "failed to open: Connection timed out" if lasting(launch, "filesystem-mount") else ""
    programs = {
        "nvidia-smi": _SMI.format(
            driver=DRIVER, report=directory / "report", links=directory / "links", slots=directory / "slots"
        ),
        "dd": _DD.format(refusal=refusal, rate=_disk(_plan(launch))),
        "python3": _PYTHON.format(files=directory),
        "torchrun": f"#!/bin/sh\ncat {directory}/trained\n",
    }
    for name, text in programs.items():
        (directory / name).write_text(text)
        (directory / name).chmod(0o700)
    return directory


def _disk(plan: Mapping[str, Any]) -> int:
    """MiB/s of the shared file system for one node."""
    told = plan.get("storage", {})
    rate = max(told.get(f"{way}_gb_per_s") or 0.0 for way in ("write", "read"))
    return max(1, int(rate * gate_texts.PLANNED_PART * 1e9 / 2**20)) if rate else DISK_MIB_PER_SECOND


def lasting(launch: Launch, kind: str) -> list[Fault]:
    """Failures of a kind that the node has now."""
    return faults.lasting(launch.world.orders.now().of(launch.node), kind)


def outputs(launch: Launch) -> dict[str, str]:
    """What the tools print and leave, by file: a tool that measures nothing says why."""
    host, plan = launch.world.hosts.get(launch.node), _plan(launch)
    tests: Sequence[Mapping[str, Any]] = plan.get("tests", ())
    gpu = gpus.find(host.machine) if host else None
    if host is None or gpu is None:
        return {
            "report": "No devices were found",
            "links": "No devices were found",
            "slots": "No devices were found",
            "alone.said": "no CUDA-capable device is detected",
            "between.said": "",
        }
    board, count = boards.BOARDS[gpu.product], launch.limit(GPU)
    holder = Holder(launch.namespace, launch.pod_name, str(launch.spec["name"]))
    held = sorted(launch.world.allotted.gpus(launch.node, holder)) or list(range(count))
    slow = {each.gpu for each in lasting(launch, "gpu-slow")}
    gone = {each.gpu for kind in ("gpu-unavailable", "gpu-driver") for each in lasting(launch, kind)}
    here = [each for each in held if each not in gone]
    clocks = "".join(
        f"{each}, {_mhz(board.sm_mhz, each in slow)}, {board.watts:.2f}, {board.watts:.2f}\n" for each in here
    )
    infiniband = plan.get("provider") == "IB"
    cards = plan["devices"] if infiniband else None
    found = {
        "report": gate_texts.report(
            count, switched=board.links > 0 and host.machine.gpu_count > 1, starts=not lasting(launch, "fabric-manager")
        ),
        "links": gate_texts.links(here, board.links, board.link_gbps),
        "slots": gate_texts.slots(here),
        "alone/clocks.csv": clocks,
        "alone/nccl.log": "".join(_spoken(launch, rank, cards) for rank in range(count)),
        "alone.said": "",
        "between.said": "",
    }
    if asked_to := plan.get("benchmark"):
        found["trained"] = gate_texts.trained(asked_to["tokens_per_s"] * (SLOWED_SHARE if slow else 1))
    if infiniband:
        found |= gate_texts.ports(plan["devices"], len(lasting(launch, "ib-link")))
    inside = board.links * board.link_gbps * LINK_FACTOR * (0.5 if lasting(launch, "nvlink") else 1)
    found["alone/inside.txt"] = "".join(gate_texts.table(each, inside) for each in tests if each["nodes"] == 1)
    if plan.get("copies"):
        replaying = {each.gpu for each in lasting(launch, "pcie")}
        found["copies.said"] = gate_texts.copied(
            board.link_gbps * board.links, {each: each in replaying for each in here}
        )
    wires = launch.limit(nccl.EFA) * EFA_BYTES_PER_SECOND / 1e9
    if infiniband:
        wires = plan["devices"] * gate_texts.PORT_GBPS / 8
    rate = wires * CARD_FACTOR
    asked = max((each["nodes"] for each in tests), default=1)
    well = _well(launch, asked)
    if infiniband and well > 1:
        found |= gate_texts.rails(plan)
    for each in tests:
        if 1 < each["nodes"] <= well:
            name = f"between/between-{each['nodes']}-{each['operation']}.txt"
            found[name] = found.get(name, "") + gate_texts.table(each, rate)
    if well < 2:
        found["between.said"] = f"{well} of {asked} nodes are well and came\n"
    return found


def _mhz(most: int, slow: bool) -> str:
    return f"{int(most * (SLOWED_SHARE if slow else 1))}, {most}"


def _spoken(launch: Launch, rank: int, cards: int | None) -> str:
    """What NCCL says of its network: over so many InfiniBand `cards` (src/transport/net_ib), else what EFA makes it."""
    down = len(lasting(launch, "ib-link"))
    if cards is None:
        devices = max(0, launch.limit(nccl.EFA) - down)
        lines = nccl.choose(registry.inside(str(launch.spec["image"])), launch.env, devices).lines
    else:
        names = " ".join(f"[{at}]mlx5_{card}:1/IB" for at, card in enumerate(range(down, cards)))
        lines = (f"NET/IB : Using {names} [RO]; OOB eth0:10.0.0.1<0>", "Using network IB")
    return "".join(f"{launch.pod_name}:{rank + 1}:{rank + 1} [{rank}] NCCL INFO {line}\n" for line in lines)


def _plan(launch: Launch) -> Mapping[str, Any]:
    """The plan that the pod mounts."""
    for volume in launch.pod["spec"].get("volumes") or []:
        found = launch.world.find("configmaps", (volume.get("configMap") or {}).get("name", ""), launch.namespace)
        if found and "plan.json" in (found.get("data") or {}):
            plan: Mapping[str, Any] = json.loads(found["data"]["plan.json"])
            return plan
    return {}


def _well(launch: Launch, asked: int) -> int:
    """Of as many nodes as are asked for those on which nothing fails that a node shows alone; the others are waited
    for.
    """
    hosts, here = launch.world.hosts, launch.world.hosts.get(launch.node)
    kinds = ILL | ({"pcie"} if _plan(launch).get("copies") else set())
    ill = {
        each.node
        for each in launch.world.orders.now().faults
        if each.lasts and each.kind in kinds and here and _group(hosts.get(each.node)) == here.nodegroup
    }
    return asked - len(ill)


def _group(host: Host | None) -> str | None:
    return host.nodegroup if host else None
