"""What the tools of a gate print, whole, cut and broken, and what it means (P16, P17, P19, LF04, NC13, NC14)."""

import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import measure
import pytest
from gate import storage, training
from results import Clock, Network, Port, Row, UnreadableError, clocks, nccl_rows, networks, nvlinks, steps
from results import ports as read_ports
from verdicts import Verdict, bandwidth, clock, links, ports, provider, trained, worst

NCCL = """\
# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 8589934592 step: 8(factor) warmup iters: 5 iters: 20 agg iters: 1
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
  1073741824     268435456     float     sum      -1   4212.3  254.91  446.09      0   4209.0  255.11  446.44      0
  8589934592    2147483648     float     sum      -1    31790  270.21  472.87      0    31785  270.25  472.94      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 459.585
#
"""
EFA = "\n".join(
    f"node-{rank // 8}:{100 + rank}:{100 + rank} [{rank}] NCCL INFO {words}"
    for rank in range(2)
    for words in (
        "NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)",
        "Using network AWS Libfabric",
    )
)
IB = (
    "n:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>\n"
    "n:1:1 [0] NCCL INFO Using network IB\n"
)
SOCKET = "n:1:1 [1] NCCL INFO Using network Socket\n"


def test_the_table_of_nccl_tests_is_read() -> None:
    assert nccl_rows(NCCL) == [Row(1073741824, 446.09, 0), Row(8589934592, 472.87, 0)]
    unchecked = NCCL.replace("      0   4209.0", "    N/A   4209.0").replace("446.44      0", "446.44    N/A")
    assert nccl_rows(unchecked)[0] == Row(1073741824, 446.09, 0)
    assert nccl_rows(NCCL.replace("446.44      0", "446.44      3"))[0].wrong == 3


@pytest.mark.parametrize("lines", range(5, 8))
def test_output_that_is_cut_is_never_a_pass(lines: int) -> None:
    with pytest.raises(UnreadableError):
        nccl_rows("\n".join(NCCL.splitlines()[:lines]))


@pytest.mark.parametrize("text", ["", "node-1: Test NCCL failure common.cu:1005 'unhandled system error'", "Segfault"])
def test_output_of_something_else_is_told_by_its_last_line(text: str) -> None:
    for read in (nccl_rows, networks):
        with pytest.raises(UnreadableError, match=text.split(":")[0] or "it is empty"):
            read(text)


def test_bandwidth_is_judged_by_the_plans_two_thresholds_nc13_nc14() -> None:
    rows = nccl_rows(NCCL)
    size = 8589934592
    assert bandwidth("all-reduce", rows, size, 460, 431).state == "pass"
    assert bandwidth("all-reduce", rows, size, 472.87, 460).state == "pass"
    assert bandwidth("all-reduce", rows, size, 480, 472.87).state == "warn"
    found = bandwidth("all-reduce", rows, size, 490, 480)
    assert found == Verdict("all-reduce", "fail", "472.87 GB/s at 8589934592 bytes; 490 is right, 480 the least")
    assert bandwidth("all-reduce", rows, 5, 1, 1).why.startswith("5 bytes were not measured")
    wrong = [Row(size, 999, 2)]
    assert bandwidth("all-reduce", wrong, size, 1, 1) == Verdict(
        "all-reduce", "fail", "results are wrong at 8589934592 bytes"
    )


def test_every_rank_uses_the_fabric_by_all_its_devices_lf04() -> None:
    found = networks(EFA)
    assert found == {rank: Network(rank, "efa", 32) for rank in (0, 1)}
    assert provider(found, 2, "efa", 32) == Verdict("network provider", "pass", "all 2 ranks use efa by 32 devices")
    assert networks(IB) == {0: Network(0, "IB", 2)}
    assert provider(networks(IB), 1, "IB", 2).state == "pass"


def test_one_rank_on_sockets_fails_and_is_named_lf04() -> None:
    found = networks(EFA.splitlines()[0] + "\n" + SOCKET)
    assert provider(found, 2, "efa", 32).why == "ranks 1 use Socket, not efa"
    assert provider(networks(EFA), 3, "efa", 32).why == "ranks 2 did not say which network they use"
    fewer = networks(EFA.replace("found 32 nics", "found 31 nics", 1))
    assert provider(fewer, 2, "efa", 32) == Verdict("network provider", "fail", "ranks 0 found 31 devices, not 32")
    many = {rank: Network(rank, "Socket", None) for rank in range(20)}
    assert "0, 1, 2, 3, 4, 5, 6, 7 and 12 more use Socket" in provider(many, 20, "IB", 8).why


SMI = "0, 1980, 1980, 690.12, 700.00\n1, 1965, 1980, 688.00, 700.00\n"


def test_clocks_under_load_show_what_is_held_back() -> None:
    assert clocks(SMI) == [Clock(0, 1980, 1980, 690.12, 700), Clock(1, 1965, 1980, 688, 700)]
    assert clock(clocks(SMI), 2).state == "pass"
    held = clock(clocks(SMI.replace("1, 1965", "1, 1400")), 2)
    assert held == Verdict("clocks", "warn", "GPU 1 at 1400 of 1980 MHz, 688 of 700 W")
    assert clock(clocks(SMI.replace("1, 1965", "1, 1300")), 2).state == "fail"
    assert clock(clocks(SMI), 8) == Verdict("clocks", "fail", "2 GPUs answer, not 8")


@pytest.mark.parametrize("text", ["", "0, 1980, 1980, 690", "0, [N/A], 1980, 690, 700", "Failed to initialize NVML"])
def test_clocks_that_nvidia_smi_does_not_tell_are_an_error(text: str) -> None:
    with pytest.raises(UnreadableError):
        clocks(text)


def test_each_node_writes_a_file_of_its_own_past_its_cache_st10(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_NAME", "gpu-7")
    asked: list[tuple[str, ...]] = []

    def dd(*words: str) -> str:
        asked.append(words)
        return "2147483648 bytes (2.1 GB, 2.0 GiB) copied, 1 s, 2.1 GB/s"

    rates = {"write_gb_per_s": None, "read_gb_per_s": None}
    assert storage({"storage": {"directory": "/files", "mib": 2048, **rates}}, dd).state == "pass"
    (wrote, got) = asked
    assert {"of=/files/gpu-7", "oflag=direct", "conv=fsync"} <= set(wrote)
    assert {"if=/files/gpu-7", "iflag=direct"} <= set(got)


def test_the_worst_line_counts_and_no_line_is_a_failure() -> None:
    lines = [Verdict("a", "pass", ""), Verdict("b", "warn", "")]
    assert (worst(lines), worst([*lines, Verdict("c", "fail", "")]), worst(lines[:1]), worst([])) == (
        "warn",
        "fail",
        "pass",
        "fail",
    )


def _card(root: Path, name: str, state: str = "4: ACTIVE", rate: str = "400 Gb/sec (4X NDR)", **more: str) -> None:
    place = root / name / "ports" / "1"
    place.mkdir(parents=True)
    for file, text in {"state": state, "rate": rate, **more}.items():
        (place / file).write_text(f"{text}\n")


def test_ports_are_read_as_the_kernel_writes_them(tmp_path: Path) -> None:
    _card(tmp_path, "mlx5_0", link_layer="InfiniBand")
    _card(tmp_path, "mlx5_1", "2: INIT", "100 Gb/sec (4X EDR)")
    _card(tmp_path, "mlx5_bond_0", link_layer="Ethernet")
    assert read_ports(tmp_path) == [Port("mlx5_0 port 1", "ACTIVE", 400), Port("mlx5_1 port 1", "INIT", 100)]
    _card(tmp_path, "mlx5_2", rate="")
    with pytest.raises(UnreadableError, match="mlx5_2 port 1 cannot be read"):
        read_ports(tmp_path)
    with pytest.raises(UnreadableError, match="no InfiniBand port is in"):
        read_ports(tmp_path / "nowhere")


def test_cards_that_the_platform_names_are_looked_at_alone_and_may_be_roces(tmp_path: Path) -> None:
    for number in range(3):
        _card(tmp_path, f"mlx5_{number}", link_layer="Ethernet" if number else "InfiniBand")
    assert [each.name for each in read_ports(tmp_path, ["mlx5_1", "mlx5_2"])] == ["mlx5_1 port 1", "mlx5_2 port 1"]
    with pytest.raises(UnreadableError, match="no port of mlx5_7 is in"):
        read_ports(tmp_path, ["mlx5_7"])


def test_ports_are_judged_by_the_rails_that_the_node_should_have() -> None:
    rails = [Port(f"mlx5_{each} port 1", "ACTIVE", 400) for each in range(4)]
    storage = Port("mlx5_9 port 1", "ACTIVE", 200)
    assert ports(rails, 4) == Verdict("fabric ports", "pass", "4 ports are active at 400 Gb/s")
    assert ports([*rails, storage], 4) == Verdict("fabric ports", "warn", "mlx5_9 port 1 at 200 of 400 Gb/s")
    assert ports([*rails, Port("mlx5_5 port 1", "DOWN", 40)], 4).state == "warn"
    found = ports([*rails[:3], Port("mlx5_3 port 1", "INIT", 400)], 4)
    assert found == Verdict("fabric ports", "fail", "3 ports are active, not 4: mlx5_3 port 1 is INIT")


H100_LINKS = "".join(f"\t Link {each}: 26.562 GB/s\n" for each in range(18))
LOST = "".join(f"\t Link {each}: {'<inactive>' if each == 4 else '26.562 GB/s'}\n" for each in range(18))
NONE = "\tUnable to retrieve NVLink information as all links are inActive\n"


def of_gpus(*sections: str) -> str:
    return "".join(f"GPU {at}: NVIDIA H100 80GB HBM3 (UUID: GPU-0{at})\n{each}" for at, each in enumerate(sections))


def test_links_of_nvlink_that_have_a_rate_are_counted_by_gpu() -> None:
    """D01, U14: a GPU without any link says so in one sentence, and one that lost a link lists it without a rate."""
    assert nvlinks(of_gpus(H100_LINKS, LOST, NONE)) == {0: 18, 1: 17, 2: 0}
    assert links({0: 18, 1: 18}, 18) == Verdict("NVLink", "pass", "2 GPUs have 18 links each")
    found = links(nvlinks(of_gpus(H100_LINKS, LOST, NONE)), 18)
    assert found == Verdict("NVLink", "fail", "links are down: GPU 1 has 17 of 18, GPU 2 has 0 of 18")
    with pytest.raises(UnreadableError, match="No devices were found"):
        nvlinks("No devices were found\n")


class Distributed(ModuleType):
    """torch.distributed as far as ranks exchange: what rank 0 of `ranks` of a group asks for, by global ranks."""

    isend, irecv = "send", "receive"

    def __init__(self, ranks: list[int]) -> None:
        super().__init__("torch.distributed")
        self.ranks, self.asked = ranks, list[tuple[str, int]]()

    def get_rank(self, _: object) -> int:
        return 0

    def get_world_size(self, _: object) -> int:
        return len(self.ranks)

    def get_global_rank(self, _: object, rank: int) -> int:
        return self.ranks[rank]

    def P2POp(self, way: str, _: object, peer: int, group: object) -> tuple[str, int]:  # noqa: N802 - torch's name
        assert group == "group"
        return way, peer

    def batch_isend_irecv(self, ways: list[tuple[str, int]]) -> list[SimpleNamespace]:
        self.asked += ways
        return [SimpleNamespace(wait=lambda: None) for _ in ways]


def test_stages_send_to_the_next_rank_and_hear_from_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """P24: around the ring of a group, whose ranks are not those of all."""
    exchanged = Distributed([8, 9, 10, 11])
    torch = ModuleType("torch")
    torch.distributed = exchanged  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed", exchanged)
    measure._pass_on("whole", "other", "group")
    assert exchanged.asked == [("send", 9), ("receive", 11)]


def test_every_rank_of_a_node_alone_says_what_it_takes_p10(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """NCCL_DEBUG=INFO for as long as it measures, a file for each process; the log is all of them."""
    torch, distributed = ModuleType("torch"), Distributed([0])
    torch.distributed, torch.cuda = distributed, SimpleNamespace(device_count=lambda: 2)  # type: ignore[attr-defined]
    distributed.TCPStore = lambda *_, **__: SimpleNamespace(port=7)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    monkeypatch.setattr(os, "environ", {})

    def start(_first: int, ranks: int, *_: object) -> int:
        for rank in range(ranks if os.environ.get("NCCL_DEBUG") == "INFO" else 0):
            file = Path(os.environ["NCCL_DEBUG_FILE"].replace("%p", str(rank)))
            file.write_text(f"n:1:1 [{rank}] NCCL INFO Using network IB\n", encoding="utf-8")
        return 0

    monkeypatch.setattr(measure, "start", start)
    assert measure.alone(tmp_path, []) == 0
    assert "NET" in os.environ["NCCL_DEBUG_SUBSYS"].split(",")
    assert sorted(networks((tmp_path / "nccl.log").read_text(encoding="utf-8"))) == [0, 1]


@pytest.mark.parametrize(
    ("operation", "factor"), [("all_reduce", 1.5), ("all_gather", 0.75), ("all_to_all", 0.75), ("send_receive", 1.0)]
)
def test_bus_bandwidth_is_nccl_tests_own(operation: str, factor: float) -> None:
    """P24: doc/PERFORMANCE.md, for four ranks."""
    assert measure.bus_factor(operation, 4) == factor


TRAINED = """\
W1126 03:20:11.402000 1 torch/distributed/run.py:766] Setting OMP_NUM_THREADS environment variable for each process
step 1 loss 11.9213 3120 tokens/s
step 2 loss 11.8802 40110 tokens/s
step 3 loss 11.7011 40200 tokens/s
step 4 loss 11.5120 40150 tokens/s
step 5 loss 11.3302 40190 tokens/s
step 6 loss 11.1008 40210 tokens/s
done after 6 steps
"""
"""As node/trainer/train.py prints it (Run._tell, Run.train), behind a warning of torchrun's."""


def test_rates_of_steps_are_read_o08() -> None:
    assert steps(TRAINED) == [3120, 40110, 40200, 40150, 40190, 40210]


@pytest.mark.parametrize("lines", range(8))
def test_training_that_was_cut_is_not_read(lines: int) -> None:
    with pytest.raises(UnreadableError):
        steps("\n".join(TRAINED.splitlines()[:lines]))


@pytest.mark.parametrize(("expected", "state"), [(40_170, "pass"), (57_000, "pass"), (58_000, "warn"), (1e9, "warn")])
def test_a_forecast_warns_and_fails_nobody_pf16(expected: float, state: str) -> None:
    """PF16: the plan's own target, and the median of the steps, of which the first counts little."""
    found = trained(steps(TRAINED), "llama-3-8b", expected)
    assert (found.test, found.state) == ("training", state)
    assert found.why.startswith("40170 tokens/s of llama-3-8b; the plan expects ")


@pytest.mark.parametrize(
    "said", ["torchrun is not in the image", "torch.OutOfMemoryError: CUDA out of memory", "", TRAINED[:200]]
)
def test_a_trainer_that_does_not_run_warns(said: str) -> None:
    """The image is the run's, and need not suit it; what is wrong with the node the other lines say."""
    asked = {"benchmark": {"words": ["torchrun"], "seconds": 300, "model": "m", "tokens_per_s": 1}}
    (found,) = training(asked, lambda *_, **__: said)
    assert found.state == "warn"
    assert found.why.startswith("not measured: ")
    assert training({}, lambda *_, **__: said) == []
