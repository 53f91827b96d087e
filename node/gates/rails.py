"""Cards of two nodes measured with each other, rail by rail, in a round robin: who is slow with most is slow itself.

All cards of a pair are measured at once: they share no link, and a node has one partner at a time. Of InfiniBand and
RoCE perftest measures the rate both ways and the latency, of EFA fi_pingpong whether what is sent comes back.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

ASKED = "pairs.json"
"""File beside the results that says what the plan demands of pairs."""

PAIRS = "pairs"
"""Directory of measure.py's results: NODE/CARD/WHAT of each partner."""

OUT, IN, LATENCY, ANSWER = "out", "in", "latency", "answer"
PORT = 29_500
SECONDS = 60.0
"""Longest that one program of a pair may take; what hangs is told as such, and the others go on."""

_BYTES, _TIMES, _EXCHANGES = 8 << 20, 4000, 1000
_CONNECT_SECONDS, _AGAIN_SECONDS = 15.0, 0.3
_NOT_THERE = ("Couldn't connect to", "Connection refused")
"""perftest_communication.c and pingpong.c: the other one does not listen yet."""


class Store(Protocol):
    """Where the nodes meet (torch.distributed.TCPStore)."""

    def set(self, key: str, value: str) -> None:
        """Says it to all."""

    def get(self, key: str) -> bytes:
        """What was said; waits for it."""

    def wait(self, keys: list[str], timeout: Any) -> None:
        """Waits until all is said. Raises an error of the store's after the time."""


def rounds(nodes: Sequence[int], most: int) -> list[list[tuple[int, int]]]:
    """Pairs of each round, `most` rounds at most: in n - 1 rounds (n, where n is odd) all nodes meet each other once.

    The circle method: one stays, the others go round; who meets nobody rests.
    """
    circle: list[int | None] = [*nodes, *([None] if len(nodes) % 2 else [])]
    found = []
    for _ in range(min(most, len(circle) - 1)):
        half = len(circle) // 2
        pairs = zip(circle[:half], reversed(circle[half:]), strict=True)
        found.append([(one, other) for one, other in pairs if one is not None and other is not None])
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return found


@dataclass(frozen=True)
class Step:
    """A program that both nodes of a pair start, one of which waits for the other."""

    what: str
    words: tuple[str, ...]
    first_listens: bool


def steps(program: str, card: str, number: int, gid: str | None, memory: Sequence[str]) -> list[Step]:
    """What is done at a card. Ports of cards differ, as all are measured at once."""
    if program == "fi_pingpong":
        words = ("fi_pingpong", "-p", "efa", "-e", "rdm", "-d", f"{card}-rdm", "-S", str(1 << 20), "-I", "1000")
        return [Step(ANSWER, words, first_listens=True)]
    common = ("-d", card, "-p", str(PORT + number), "-F", *(("-x", gid) if gid else ()))
    rate = ("ib_write_bw", *common, "-s", str(_BYTES), "-n", str(_TIMES), "--report_gbits", *memory)
    times = ("ib_write_lat", *common, "-s", "2", "-n", str(_EXCHANGES))
    return [Step(OUT, rate, first_listens=False), Step(IN, rate, first_listens=True), Step(LATENCY, times, True)]


def memory(gpu: int, help_text: str) -> list[str]:
    """Words for the memory of a GPU, where perftest was built to use it, else none: the host's is measured."""
    if "--use_cuda=" not in help_text:
        return []
    return [f"--use_cuda={gpu}", *(["--use_cuda_dmabuf"] if "--use_cuda_dmabuf" in help_text else [])]


def started(step: Step, number: int, address: str | None) -> str:
    """What the program said; with an `address` it calls the other one, who may need a moment to listen."""
    words = list(step.words)
    if step.what == ANSWER:
        words += ["-P" if address else "-B", str(PORT + number)]
    words += [address] if address else []
    until = time.monotonic() + _CONNECT_SECONDS
    while True:
        said = _said(words)
        if not address or not any(each in said for each in _NOT_THERE) or time.monotonic() > until:
            return said
        time.sleep(_AGAIN_SECONDS)


def _said(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False, text=True
        )
    except FileNotFoundError:
        return f"{words[0]} is not in the image"
    except subprocess.TimeoutExpired:
        return f"{words[0]} did not end within {SECONDS:g} s"
    return done.stdout


def named() -> list[str]:
    """The cards that the platform names to NCCL, in rail order; none where it leaves the choice to it."""
    names = os.environ.get("NCCL_IB_HCA", "")
    return names[1:].split(",") if names.startswith("=") else []


def cards_of(program: str, root: Path) -> list[str]:
    """The cards in rail order, as the platform names them to NCCL (`=mlx5_0,mlx5_3`), else all that have an active
    port, by name.
    """
    if program != "fi_pingpong" and (names := named()):
        return names
    active = {
        each.parents[2].name for each in root.glob("*/ports/*/state") if "ACTIVE" in each.read_text(encoding="utf-8")
    }
    return sorted(active, key=lambda name: (len(name), name))


def measure(
    store: Store, asked: Mapping[str, Any], who: Sequence[int], index: int, out: Path, root: Path, timeout: Any
) -> None:
    """This node's part of all rounds: what the programs said lies below `out`, for each partner and card."""
    cards, gid = cards_of(asked["program"], root), os.environ.get("NCCL_IB_GID_INDEX")
    told = _said(["ib_write_bw", "--help"]) if asked["program"] == "ib_write_bw" else ""
    todo = [steps(asked["program"], card, at, gid, memory(at, told)) for at, card in enumerate(cards)]
    store.set(f"pair/name/{index}", os.environ.get("NODE_NAME", socket.gethostname()))
    store.set(f"pair/address/{index}", socket.gethostbyname(socket.gethostname()))
    for number, pairs in enumerate(rounds(who, asked["rounds"])):
        pair = next((each for each in pairs if index in each), None)
        if pair is None:
            continue
        other, first = pair[1 - pair.index(index)], pair[0] == index
        store.set(f"pair/round/{number}/{index}", "")
        try:
            store.wait([f"pair/round/{number}/{other}"], timeout)
        except RuntimeError:  # DistStoreError: the other one is gone, and stands in no line
            continue
        partner = store.get(f"pair/name/{other}").decode()
        address = store.get(f"pair/address/{other}").decode()
        _with(out / PAIRS / partner, cards, todo, first=first, address=address)


def _with(place: Path, cards: Sequence[str], todo: Sequence[Sequence[Step]], *, first: bool, address: str) -> None:
    """All cards with one partner. What goes out of the first one comes in at the other."""

    def one(number: int) -> None:
        for step in todo[number]:
            listens = step.first_listens == first
            what = step.what if first or step.what not in (OUT, IN) else {OUT: IN, IN: OUT}[step.what]
            said = started(step, number, None if listens else address)
            (place / cards[number]).mkdir(parents=True, exist_ok=True)
            (place / cards[number] / what).write_text(said, encoding="utf-8")

    with ThreadPoolExecutor(max(1, len(cards))) as pool:
        list(pool.map(one, range(len(cards))))


def told(out: Path) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Partner, card and what the programs said of them, as `measure` left it."""
    for place in sorted((out / PAIRS).glob("*/*")):
        files = sorted(each for each in place.iterdir() if each.is_file())
        yield place.parent.name, place.name, {each.name: each.read_text(encoding="utf-8") for each in files}
