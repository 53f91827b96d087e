"""Collective operations of PyTorch's NCCL, timed and told as nccl-tests tells them, inside a node and between nodes.

The images of runs have PyTorch, and no launcher that reaches other pods, which nccl-tests needs between nodes. So one
process for each GPU times the operation itself: bus bandwidth is nccl-tests' (doc/PERFORMANCE.md), out of place.
Nodes meet at the first one of them, which says who is well and takes part.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import railed
import rails
from gate import CLOCKS, INSIDE, LOG, SMI_COLUMNS, SYSTEM

WARM_UP, TIMES = 5, 20
LOAD_SECONDS = 6.0
FLOAT_BYTES = 4
EXCHANGES = ("all_to_all", "send_receive")
"""Out of place: what is sent and what comes are two buffers."""
_HEADER = "#       size         count      type   redop    root     time   algbw   busbw #wrong"


def bus_factor(operation: str, ranks: int) -> float:
    """Bus bandwidth over what one rank sees (nccl-tests, doc/PERFORMANCE.md)."""
    if operation == "send_receive":
        return 1.0
    return (2 if operation == "all_reduce" else 1) * (ranks - 1) / ranks


def table(operation: str, size: int, ranks: int, seconds: float, wrong: int) -> str:
    """A line as nccl-tests prints it, and its last one; out of place alone."""
    rate = size / seconds / 1e9
    bus = rate * bus_factor(operation, ranks)
    count, micro = size // FLOAT_BYTES, seconds * 1e6
    row = f"{size:12d} {count:13d}  float  sum  -1 {micro:9.1f} {rate:7.2f} {bus:7.2f} {wrong:6d}"
    return f"{_HEADER}\n{row}\n# Avg bus bandwidth    : {bus:g}\n"


def pairs(nodes: Sequence[int]) -> list[list[int]]:
    """Neighbours two by two; the last of an odd number of nodes has none."""
    return [list(nodes[each : each + 2]) for each in range(0, len(nodes) - 1, 2)]


def asked_for(words: Iterable[str]) -> list[tuple[str, int, int]]:
    """OPERATION:NODES:BYTES."""
    found = [word.split(":") for word in words]
    return [(operation, int(nodes), int(size)) for operation, nodes, size in found]


def join(rank: int, ranks: int, address: str, port: int) -> Any:
    """This process as one of so many; the device that it computes on."""
    import torch
    import torch.distributed as dist

    cuda = torch.cuda.is_available()
    device = torch.device("cuda", rank % torch.cuda.device_count()) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    store = dist.TCPStore(address, port, is_master=False, timeout=timedelta(minutes=5))
    dist.init_process_group("nccl" if cuda else "gloo", store=store, rank=rank, world_size=ranks)
    return device


def timed(operation: str, size: int, device: Any, group: Any, ranks: int) -> tuple[float, int]:
    """Seconds of one operation on a message of `size` bytes, and how many of the results looked at were wrong."""
    import torch
    import torch.distributed as dist

    count = size // FLOAT_BYTES // ranks * ranks
    whole, part = torch.ones(count, device=device), torch.ones(count // ranks, device=device)

    other = torch.zeros_like(whole) if operation in EXCHANGES else whole

    def once() -> None:
        if operation == "all_reduce":
            dist.all_reduce(whole, group=group)
        elif operation == "all_gather":
            dist.all_gather_into_tensor(whole, part, group=group)
        elif operation == "reduce_scatter":
            dist.reduce_scatter_tensor(part, whole, group=group)
        elif operation == "all_to_all":
            dist.all_to_all_single(other, whole, group=group)
        else:
            _pass_on(whole, other, group)

    once()
    result = part if operation == "reduce_scatter" else other
    expected = float(ranks) if operation in ("all_reduce", "reduce_scatter") else 1.0
    wrong = int((result[:: max(1, result.numel() // 1_000_000)] != expected).sum().item())
    for _ in range(WARM_UP):
        once()
    _wait(device)
    begun = time.perf_counter()
    for _ in range(TIMES):
        once()
    _wait(device)
    return (time.perf_counter() - begun) / TIMES, wrong


def _pass_on(whole: Any, other: Any, group: Any) -> None:
    """To the next rank, and from the one before, all at once."""
    import torch.distributed as dist

    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    after, before = (dist.get_global_rank(group, (rank + step) % ranks) for step in (1, -1))
    ways = [dist.P2POp(dist.isend, whole, after, group), dist.P2POp(dist.irecv, other, before, group)]
    for each in dist.batch_isend_irecv(ways):
        each.wait()


def _wait(device: Any) -> None:
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)


def load(device: Any, seconds: float) -> None:
    """Keeps the processors of a GPU busy."""
    import torch

    matrix = torch.ones((8192 if device.type == "cuda" else 64,) * 2, device=device, dtype=torch.bfloat16)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for _ in range(20):
            matrix = (matrix @ matrix).clamp_(-1, 1)
        _wait(device)


def process(rank: int, ranks: int, of_node: int, place: Mapping[str, Any], tests: list[tuple[str, int, int]]) -> None:
    """One process of one GPU. `place` says where all meet, and where the first of each node writes."""
    import torch.distributed as dist

    out = Path(place["out"])
    device = join(rank, ranks, place["address"], place["port"])
    leads, node, nodes = rank % of_node == 0, rank // of_node, ranks // of_node
    if place["alone"]:
        _under_load(device, out, leads=leads)
    found: dict[str, str] = {}
    for operation, span, size in tests:
        if span not in (1, 2, nodes):
            continue
        together = [[node] for node in range(nodes)] if span == 1 else pairs(range(nodes))
        together = [list(range(nodes))] if span == nodes else together
        groups = [
            dist.new_group([each * of_node + gpu for each in some for gpu in range(of_node)]) for some in together
        ]
        for some, group in zip(together, groups, strict=True):
            if node not in some:
                continue
            seconds, wrong = timed(operation, size, device, group, span * of_node)
            name = INSIDE if span == 1 else f"between-{span}-{operation}.txt"
            found[name] = found.get(name, "") + table(operation, size, span * of_node, seconds, wrong)
        dist.barrier()
    if leads:
        for name, text in found.items():
            (out / name).write_text(text, encoding="utf-8")
    dist.destroy_process_group()


def _under_load(device: Any, out: Path, *, leads: bool) -> None:
    """Clocks as they are in the middle of the work."""
    smi = None
    load(device, LOAD_SECONDS / 2)
    if leads:
        words = ["nvidia-smi", f"--query-gpu={SMI_COLUMNS}", "--format=csv,noheader,nounits"]
        smi = subprocess.Popen(words, stdout=(out / CLOCKS).open("w"))
    load(device, LOAD_SECONDS / 2)
    if smi is not None:
        smi.wait()


def start(first: int, ranks: int, of_node: int, place: Mapping[str, Any], tests: list[tuple[str, int, int]]) -> int:
    """The node's processes; 0 where all ended well."""
    context = multiprocessing.get_context("spawn")
    some = [
        context.Process(target=process, args=(first + each, ranks, of_node, place, tests)) for each in range(of_node)
    ]
    for each in some:
        each.start()
    for each in some:
        each.join()
    return max(abs(each.exitcode or 0) for each in some)


def meet(
    store: Any, index: int, nodes: Iterable[int], *, healthy: bool, seconds: float, what: str = "node"
) -> list[int]:
    """Who takes part in `what`: the first node waits for word of the others, and says it to all."""
    store.set(f"{what}/{index}", "well" if healthy else "ill")
    if index == 0:
        until, well = time.monotonic() + seconds, []
        for each in nodes:
            while time.monotonic() < until and not store.check([f"{what}/{each}"]):
                time.sleep(0.2)
            if store.check([f"{what}/{each}"]) and store.get(f"{what}/{each}") == b"well":
                well.append(each)
        store.set(f"{what}/who", ",".join(map(str, well)) or "-")
    store.wait([f"{what}/who"], timedelta(seconds=seconds + 60))
    said = store.get(f"{what}/who").decode()
    return [int(each) for each in said.split(",")] if said != "-" else []


def alone(out: Path, tests: list[tuple[str, int, int]]) -> int:
    """One node: clocks under load, what NCCL says of its network, operations inside the node."""
    import torch
    import torch.distributed as dist

    os.environ |= {
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,NET",
        "NCCL_DEBUG_FILE": str(out / "nccl-process.%p"),
    }
    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    place = {"out": str(out), "address": "localhost", "port": store.port, "alone": True}
    gpus = torch.cuda.device_count() or 1
    status = start(0, gpus, gpus, place, [each for each in tests if each[1] == 1])
    told = [each.read_text(encoding="utf-8") for each in sorted(out.glob("nccl-process.*"))]
    (out / LOG).write_text("".join(told), encoding="utf-8")
    return status


def between(asked: argparse.Namespace, tests: list[tuple[str, int, int]]) -> int:
    """This node with the others that are well."""
    import torch
    import torch.distributed as dist

    host, _, port = asked.peer.rpartition(":")
    store = dist.TCPStore(
        host, int(port), is_master=asked.index == 0, wait_for_workers=False, timeout=timedelta(seconds=asked.seconds)
    )
    nodes = max(each[1] for each in tests)
    well = meet(store, asked.index, range(nodes), healthy=asked.healthy, seconds=asked.seconds / 2)
    well = by_rails(store, asked, well)
    gpus, status = torch.cuda.device_count() or 1, 0
    if asked.index in well and len(well) > 1:
        place = {"out": str(asked.out), "address": host, "port": int(port), "alone": False}
        there = [each for each in tests if 1 < each[1] <= len(well)]
        status = start(well.index(asked.index) * gpus, len(well) * gpus, gpus, place, there)
    else:
        print(f"{len(well)} of {nodes} nodes passed and took part", flush=True)
    store.set(f"left/{asked.index}", "")
    if asked.index == 0:
        for each in well:
            store.wait([f"left/{each}"], timedelta(seconds=asked.seconds))
    return status


def by_rails(store: Any, asked: argparse.Namespace, well: list[int]) -> list[int]:
    """Who is well after the rails were measured in pairs, where the plan asks for that."""
    file = asked.out / rails.ASKED
    if not file.exists() or len(well) < 2:
        return well
    pairs, healthy = json.loads(file.read_text(encoding="utf-8")), asked.index in well
    if healthy:
        rails.measure(store, pairs, well, asked.index, asked.out, asked.system, timedelta(seconds=pairs["seconds"]))
        line = railed.of_node(asked.out, pairs, asked.system)
        healthy = line is None or line.state != "fail"
    return meet(store, asked.index, well, healthy=healthy, seconds=pairs["seconds"] + 60, what="rails")


def main(words: Sequence[str]) -> int:
    """Measures; the status is 0 where every process ended well."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("where", choices=["alone", "between"])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--peer")
    parser.add_argument("--index", type=int, default=0)
    parser.add_argument("--healthy", action="store_true")
    parser.add_argument("--ill", action="store_false", dest="healthy")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--system", type=Path, default=SYSTEM, help="directory in which the kernel lists fabric cards")
    parser.add_argument("tests", nargs="*")
    asked = parser.parse_args(list(words))
    tests = asked_for(asked.tests)
    return alone(asked.out, tests) if asked.where == "alone" else between(asked, tests)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
