"""Copies of GPUs as nvbandwidth prints them: whole, cut, broken, slow (C07)."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import copies
import pytest
from results import UnreadableError
from verdicts import Verdict

WHOLE = """\
nvbandwidth Version: v0.10.0
Built from Git version: v0.10.0

CUDA Runtime Version: 13.2 (13020)
CUDA Driver Version (API): 13.2 (13020)
Driver Version: 595.71.05

Device 0: NVIDIA H100 80GB HBM3 (00000000:19:00)
Device 1: NVIDIA H100 80GB HBM3 (00000000:3b:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.37     55.36

SUM host_to_device_memcpy_ce 110.73
COEFFICIENT_OF_VARIATION host_to_device_memcpy_ce 0.00

Running device_to_host_memcpy_ce.
memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0     57.29     57.30

SUM device_to_host_memcpy_ce 114.59
COEFFICIENT_OF_VARIATION device_to_host_memcpy_ce 0.00

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    394.97
 1    395.12       N/A

SUM device_to_device_memcpy_read_ce 790.09
COEFFICIENT_OF_VARIATION device_to_device_memcpy_read_ce 0.00

NOTE: The reported results may not reflect the full capabilities of the platform.
Performance can vary with software drivers, hardware clocks, and system topology.
"""
"""As 0.10 prints it on H100 (NVIDIA/nvbandwidth, nvbandwidth.cpp, output.cpp)."""
LEAST = {"host": 48.0, "peer": 335.0}


def lines(said: str, **least: float) -> list[Verdict]:
    return copies.of_node({**LEAST, **least}, lambda *_: said)


def test_whole_tables_are_read() -> None:
    assert copies.table(WHOLE, copies.TO_GPU) == {(0, 0): 55.37, (0, 1): 55.36}
    assert copies.table(WHOLE, copies.TO_HOST) == {(0, 0): 57.29, (0, 1): 57.30}
    assert copies.table(WHOLE, copies.BETWEEN) == {(0, 1): 394.97, (1, 0): 395.12}
    older = WHOLE.replace(" 0  ", "0   ").replace(" 1  ", "1   ")
    assert copies.table(older, copies.BETWEEN) == {(0, 1): 394.97, (1, 0): 395.12}, "before 0.6 an index has one column"


def test_a_node_passes_by_its_slowest_copy() -> None:
    assert lines(WHOLE) == [
        Verdict("copies with host", "pass", "55.36 GB/s or more; 48 is the least"),
        Verdict("copies with peers", "pass", "394.97 GB/s or more; 335 is the least"),
    ]
    assert [each.state for each in lines(WHOLE, host=55.36, peer=394.97)] == ["pass", "pass"]
    assert [each.state for each in lines(WHOLE, host=55.361, peer=394.971)] == ["fail", "fail"]


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("55.36", "20.00", 0, "host to GPU 1 (slot 0000:3b:00.0) 20 GB/s; 48 is the least"),
        ("57.29", "47.90", 0, "GPU 0 (slot 0000:19:00.0) to host 47.9 GB/s; 48 is the least"),
        ("395.12", "120.00", 1, "GPU 0 (slot 0000:19:00.0) to GPU 1 (slot 0000:3b:00.0) 120 GB/s; 335 is the least"),
    ],
)
def test_a_slow_copy_fails_its_own_line_and_is_named(old: str, new: str, line: int, why: str) -> None:
    sums = {"110.73": "75.37", "114.59": "105.20", "790.09": "514.97"}
    said = WHOLE.replace(old, new).replace(*list(sums.items())[{"55.36": 0, "57.29": 1, "395.12": 2}[old]])
    found = lines(said)
    assert (found[line].state, found[line].why) == ("fail", why)
    assert found[1 - line].state == "pass"


def test_many_slow_copies_are_counted() -> None:
    rates = {(row, column): 100.0 for row in range(8) for column in range(8) if row != column}
    found = lines(copies.printed(copies.BETWEEN, rates))[1]
    assert found.why.endswith("GPU 4 to GPU 0 100 and 52 more GB/s; 335 is the least")


@pytest.mark.parametrize("kept", range(10, 30))
def test_tables_that_are_cut_are_never_a_pass(kept: int) -> None:
    assert lines("\n".join(WHOLE.splitlines()[:kept]))[1].state == "fail"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ((" 1    395.12       N/A\n", ""), "tells nothing of GPU 0 (slot 0000:19:00.0) to GPU 1 (slot 0000:3b:00.0)"),
        (("    394.97", "       N/A"), "tells nothing of GPU 1 (slot 0000:3b:00.0) to GPU 0 (slot 0000:19:00.0)"),
        (("790.09", "790.19"), "tells 790.19 GB/s in all, and its cells are others"),
        (("           0         1\n 0       N/A    394.97\n 1    395.12       N/A\n", ""), "is empty"),
        (("SUM device_to_device", "ERROR: device_to_device"), "no whole table of device_to_device"),
    ],
)
def test_broken_tables_of_peers_are_not_read_and_the_hosts_are(change: tuple[str, str], why: str) -> None:
    host, peers = lines(WHOLE.replace(*change))
    assert (host.state, peers.state) == ("pass", "fail")
    assert why in peers.why


@pytest.mark.parametrize("said", ["", "Invalid device ordinal", "python3 is not in the image", "WAIVED: "])
def test_what_is_no_table_fails_both_lines_by_its_last_line(said: str) -> None:
    assert [each.state for each in lines(said)] == ["fail", "fail"]
    with pytest.raises(UnreadableError, match=re.escape(repr(said.strip() or "it printed nothing"))):
        copies.table(said, copies.TO_GPU)


def test_what_is_printed_here_is_read_as_the_tools() -> None:
    rates = {(0, 1): 394.97, (1, 0): 395.12}
    assert copies.printed(copies.BETWEEN, rates) in WHOLE
    assert copies.printed(copies.TO_HOST, {(0, 0): 57.29, (0, 1): 57.3}) in WHOLE


def test_the_tool_measures_where_the_image_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def ran(*words: str) -> str:
        asked.append(words)
        return WHOLE

    for there in (None, "/usr/bin/nvbandwidth"):
        monkeypatch.setattr("shutil.which", lambda _, found=there: found)
        copies.of_node(LEAST, ran)
    own, tool = asked
    assert own == ("python3", str(Path(copies.__file__)))
    assert tool == ("nvbandwidth", "-t", copies.TO_GPU, copies.TO_HOST, copies.BETWEEN)


def test_the_median_round_counts_and_the_first_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0, 99, 100, 104, 200, 202, 300, 301])
    monkeypatch.setattr("time.perf_counter", lambda: next(ticks))
    copied: list[int] = []
    assert copies.rate_of(lambda: copied.append(1), lambda: None, size=10**9) == 8.0
    assert len(copied) == 4 * 16


def test_memory_is_pinned_beside_the_gpu(tmp_path: Path) -> None:
    (tmp_path / "0000:3b:00.0").mkdir()
    (tmp_path / "0000:3b:00.0" / "local_cpulist").write_text("0-2,8\n")
    assert copies.beside("0000:3B:00.0", tmp_path) == {0, 1, 2, 8}
    assert copies.beside("0000:ff:00.0", tmp_path) == set()


class Memory:
    """A tensor that copies by name."""

    def __init__(self, place: str, made: list[tuple[str, str]]) -> None:
        self.place, self.made = place, made

    def copy_(self, other: "Memory", *, non_blocking: bool) -> None:
        assert non_blocking
        self.made.append((other.place, self.place))


def test_every_gpu_copies_with_the_host_and_with_every_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, str]] = []

    def empty(size: int, *, dtype: str, device: int | None = None, pin_memory: bool = False) -> Memory:
        assert (size, dtype) == (copies.SIZE, "bytes")
        assert pin_memory is (device is None)
        return Memory("host" if device is None else f"GPU {device}", made)

    known = SimpleNamespace(name="NVIDIA H100", pci_domain_id=0, pci_bus_id=0x3B, pci_device_id=0)
    cuda = SimpleNamespace(synchronize=lambda _: None, get_device_properties=lambda _: known)
    torch: Any = SimpleNamespace(empty=empty, uint8="bytes", cuda=cuda)
    monkeypatch.setattr(copies, "rate_of", lambda copy, _: (copy(), float(len(made)))[1])
    bound: list[tuple[int, set[int]]] = []
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr("os.sched_setaffinity", lambda who, where: bound.append((who, where)))
    monkeypatch.setattr(copies, "beside", lambda _: {1, 2})
    said = "".join(copies.measured(torch, 2))
    assert made == [
        ("host", "GPU 0"),
        ("GPU 0", "host"),
        ("GPU 1", "GPU 0"),
        ("host", "GPU 1"),
        ("GPU 1", "host"),
        ("GPU 0", "GPU 1"),
    ]
    assert copies.table(said, copies.TO_GPU) == {(0, 0): 1.0, (0, 1): 4.0}
    assert copies.table(said, copies.TO_HOST) == {(0, 0): 2.0, (0, 1): 5.0}
    assert copies.table(said, copies.BETWEEN) == {(0, 1): 3.0, (1, 0): 6.0}
    assert bound == [(0, {1})] * 2, "this process, on what it may use of the cores beside the GPU"
