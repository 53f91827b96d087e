"""Cards of nodes two by two: the schedule, the programs' outputs whole and cut, who is to blame (E16, FB18, P19)."""

from __future__ import annotations

import os
import threading
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import perftest
import pytest
import railed
import rails
from results import UnreadableError
from verdicts import Verdict

LINE = "-" * 87
RATE = f"""\
 WARNING: BW peak won't be measured in this run.
{LINE}
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_3
 Number of qps   : 1\t\tTransport type : IB
 Mtu             : 4096[B]
 Link type       : IB
{LINE}
 local address: LID 0x1a QPN 0x0051 PSN 0x4b7ae2 RKey 0x1fff00 VAddr 0x007f3c00000000
 remote address: LID 0x1b QPN 0x0052 PSN 0x9913c1 RKey 0x1fff00 VAddr 0x007f8800000000
{LINE}
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    4000             0.00               392.31\t\t     0.005846
{LINE}
"""
TIMES = f"""\
{LINE}
                    RDMA_Write Latency Test
{LINE}
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]\
   99% percentile[usec]   99.9% percentile[usec]
 2       1000          1.78           9.71         1.86     \t       1.87     \t0.11\t\t2.04    \t\t3.50
{LINE}
"""
EXCHANGED = """\
bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
1m      1k      =1k      1.9g        0.21s  10012.11     104.73       0.01
"""
IB = {"program": "ib_write_bw", "warn": 385, "fail": 360, "latency_us": 4.2, "rounds": 3, "seconds": 36}
EFA = {"program": "fi_pingpong", "warn": None, "fail": None, "latency_us": None, "rounds": 3, "seconds": 24}


@pytest.mark.parametrize("count", range(2, 12))
def test_all_nodes_meet_each_other_once_and_nobody_twice_in_a_round(count: int) -> None:
    nodes = list(range(10, 10 + count))
    schedule = rails.rounds(nodes, 100)
    assert len(schedule) == (count - 1 if count % 2 == 0 else count)
    for pairs in schedule:
        assert max(Counter(node for pair in pairs for node in pair).values()) == 1
        assert len(pairs) == count // 2
    met = Counter(frozenset(pair) for pairs in schedule for pair in pairs)
    assert len(met) == count * (count - 1) // 2
    assert set(met.values()) == {1}


def test_fewer_rounds_leave_each_node_with_as_many_different_partners() -> None:
    schedule = rails.rounds(range(16), 4)
    met = Counter(node for pairs in schedule for pair in pairs for node in pair)
    assert (len(schedule), set(met.values())) == (4, {4})
    assert len({frozenset(pair) for pairs in schedule for pair in pairs}) == 32


def test_rates_and_times_are_read_from_the_programs_tables() -> None:
    assert (perftest.gbps(RATE), perftest.latency_us(TIMES)) == (392.31, 2.04)
    conflicting = RATE.replace(
        " 8388608 ", "Conflicting CPU frequency values detected: 2.0 != 3.5. CPU Frequency is not max.\n 8388608 "
    )
    assert perftest.gbps(conflicting) == 392.31
    assert perftest.exchange(EXCHANGED) == perftest.Exchange(10012.11, 104.73)


@pytest.mark.parametrize("lines", range(13))
def test_a_rate_that_was_cut_is_none(lines: int) -> None:
    with pytest.raises(UnreadableError, match=r"measured nothing|ended early"):
        perftest.gbps("\n".join(RATE.splitlines()[:lines]))


@pytest.mark.parametrize("lines", range(5))
def test_a_latency_that_was_cut_is_none(lines: int) -> None:
    with pytest.raises(UnreadableError):
        perftest.latency_us("\n".join(TIMES.splitlines()[:lines]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (RATE.replace("Gb/sec", "MB/sec"), "MB/sec instead of Gb/sec"),
        (RATE.replace("392.31", "nan?"), "not a row of ib_write_bw"),
        ("Couldn't connect to 10.0.0.7:29503\n", "10.0.0.7:29503"),
        (" Port number 1 state is Down\n", "state is Down"),
        ("", "it is empty"),
        (TIMES, "measured nothing"),
    ],
)
def test_what_is_no_rate_says_what_it_is(text: str, words: str) -> None:
    with pytest.raises(UnreadableError, match=words):
        perftest.gbps(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (EXCHANGED.splitlines()[0], "ended early"),
        (EXCHANGED.replace("=1k ", "+12 "), "received other data than it sent"),
        ("fi_getinfo: -61 (No data available)", "transferred nothing: 'fi_getinfo"),
    ],
)
def test_an_exchange_that_was_cut_or_lost_something_is_none(text: str, words: str) -> None:
    with pytest.raises(UnreadableError, match=words):
        perftest.exchange(text)


CARDS = ("mlx5_0", "mlx5_3")


def heard(slow: dict[tuple[str, str], str], nodes: int = 3) -> list[tuple[str, str, dict[str, str]]]:
    """What a node heard of its cards with others; of some partner and card something else."""
    whole = {"out": RATE, "in": RATE, "latency": TIMES}
    return [
        (f"n{partner}", card, {**whole, "in": slow.get((f"n{partner}", card), RATE)})
        for partner in range(nodes)
        for card in CARDS
    ]


def at(rate: str) -> str:
    return RATE.replace("392.31", rate)


def judged(slow: dict[tuple[str, str], str], root: Path, nodes: int = 3, **asked: Any) -> Verdict | None:
    return railed.judged(heard(slow, nodes), {**IB, **asked}, CARDS, root)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The kernel's tree: a card's device is a link to its place on the PCI bus."""
    for number, card in enumerate(CARDS):
        device = tmp_path / "devices" / f"0000:{number + 1:x}8:00.0"
        device.mkdir(parents=True)
        (tmp_path / "class" / card).mkdir(parents=True)
        (tmp_path / "class" / card / "device").symlink_to(device)
    return tmp_path / "class"


def test_rails_that_reach_the_planned_rate_with_all_pass(root: Path) -> None:
    why = "2 rails reach 392.31 Gb/s or more with each of 3 nodes; 385 is right, 360 the least; 2.04 us at most"
    assert judged({}, root) == Verdict("rails", "pass", why)


def test_a_card_that_is_slow_with_most_is_named_with_its_rail_and_slot(root: Path) -> None:
    found = judged({("n0", "mlx5_3"): at("201.1"), ("n2", "mlx5_3"): at("205")}, root)
    why = "rail 1 (mlx5_3, slot 0000:28:00.0) reaches 201.1 Gb/s, not 385 with n0, n2, 2 of 3 partners"
    assert found == Verdict("rails", "fail", why)


def test_a_card_that_is_slow_with_one_of_several_is_not_blamed(root: Path) -> None:
    found = judged({("n1", "mlx5_0"): at("201.1")}, root)
    assert found is not None
    assert (found.state, "with n1 only, 1 of 3 partners: look at theirs" in found.why) == ("warn", True)
    alone = judged({("n0", "mlx5_0"): at("201.1")}, root, 1)
    assert alone is not None
    assert (alone.state, alone.why.endswith("1 of 1 partners: one of the two")) == ("fail", True)
    half = judged({("n1", "mlx5_0"): at("201.1")}, root, 2)
    assert half is not None
    assert half.state == "warn"


def test_below_what_is_right_and_late_ones_warn(root: Path) -> None:
    """FB19: by the plan's line, which is about 95 % of the rate."""
    weak = judged({("n1", "mlx5_0"): at("370")}, root)
    assert weak is not None
    assert (weak.state, "370 Gb/s, not 385 with n1" in weak.why) == ("warn", True)
    late = judged({}, root, latency_us=2.0)
    assert late is not None
    assert (late.state, "takes 2.04 us with n0, n1, n2, not 2" in late.why) == ("warn", True)
    exact = judged({("n0", "mlx5_0"): at("385")}, root, latency_us=2.04)
    assert exact is not None
    assert exact.state == "pass"


def test_a_card_that_gives_no_answer_fails_in_the_programs_words(root: Path) -> None:
    dead = dict.fromkeys([(f"n{each}", "mlx5_3") for each in range(3)], " Port number 1 state is Down\n")
    found = judged(dead, root)
    assert found is not None
    assert found.state == "fail"
    assert (
        "rail 1 (mlx5_3, slot 0000:28:00.0) gives no answer (ib_write_bw measured nothing: 'Port number 1" in found.why
    )
    (first, *_) = heard({})
    unmeasured = railed.judged([first], IB, CARDS, root)
    assert unmeasured is not None
    assert "rail 1 (mlx5_3, slot 0000:28:00.0) was measured with nobody" in unmeasured.why


def test_an_image_without_the_programs_is_said_on_infiniband_and_silent_on_efa(root: Path) -> None:
    missing = dict.fromkeys(("out", "in", "latency"), "ib_write_bw is not in the image")
    found = railed.judged([("n0", "mlx5_0", missing)], IB, CARDS, root)
    assert found == Verdict(
        "rails", "warn", "not measured: ib_write_bw measured nothing: 'ib_write_bw is not in the image'"
    )
    none = [("n0", "rdmap79s0", {"answer": "fi_pingpong is not in the image"})]
    assert railed.judged(none, EFA, ["rdmap79s0"], root) is None
    assert railed.judged([], IB, CARDS, root) is None


def test_efa_is_asked_whether_what_is_sent_comes_back(root: Path) -> None:
    good = [("n0", "rdmap79s0", {"answer": EXCHANGED})]
    found = railed.judged(good, EFA, ["rdmap79s0"], root)
    assert found == Verdict(
        "rails", "pass", "1 rails reach 80.0969 Gb/s or more with each of 1 nodes; 104.73 us at most"
    )
    lost = [("n0", "rdmap79s0", {"answer": EXCHANGED.replace("=1k ", "+12 ")})]
    ill = railed.judged(lost, EFA, ["rdmap79s0"], root)
    assert ill is not None
    assert (ill.state, "received other data than it sent" in ill.why) == ("fail", True)


def test_the_memory_of_a_gpu_is_used_where_perftest_was_built_for_it() -> None:
    assert rails.memory(3, "  -s, --size=<size>") == []
    assert rails.memory(3, "--use_cuda=<cuda device id>") == ["--use_cuda=3"]
    assert rails.memory(3, "--use_cuda=<id>\n --use_cuda_dmabuf Use") == ["--use_cuda=3", "--use_cuda_dmabuf"]


def test_cards_are_the_platforms_in_rail_order_else_those_with_an_active_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for card, state in (("mlx5_10", "4: ACTIVE"), ("mlx5_2", "4: ACTIVE"), ("mlx5_3", "1: DOWN")):
        (tmp_path / card / "ports" / "1").mkdir(parents=True)
        (tmp_path / card / "ports" / "1" / "state").write_text(state)
    monkeypatch.delenv("NCCL_IB_HCA", raising=False)
    assert rails.cards_of("ib_write_bw", tmp_path) == ["mlx5_2", "mlx5_10"]
    monkeypatch.setenv("NCCL_IB_HCA", "=mlx5_10,mlx5_2")
    assert rails.cards_of("ib_write_bw", tmp_path) == ["mlx5_10", "mlx5_2"]
    assert rails.cards_of("fi_pingpong", tmp_path) == ["mlx5_2", "mlx5_10"]
    monkeypatch.setenv("NCCL_IB_HCA", "mlx5")
    assert rails.named() == []


class Meeting:
    """What all nodes of a test say to each other, as TCPStore keeps it."""

    def __init__(self) -> None:
        self.said: dict[str, bytes] = {}
        self.changed = threading.Condition()

    def set(self, key: str, value: str) -> None:
        with self.changed:
            self.said[key] = value.encode()
            self.changed.notify_all()

    def get(self, key: str) -> bytes:
        self.wait([key], 20.0)
        return self.said[key]

    def wait(self, keys: list[str], timeout: Any) -> None:
        with self.changed:
            if not self.changed.wait_for(lambda: all(key in self.said for key in keys), timeout):
                raise RuntimeError(f"wait timeout for {keys}")


PLAYED = """\
#!/usr/bin/env python3
# One side of perftest: listens, or calls an address that is its last word. Both print what goes over the card.
import os, socket, sys
words = sys.argv[1:]
if "--help" in words:
    print("  --use_cuda=<cuda device id>")
    sys.exit()
card, port = words[words.index("-d") + 1], int(words[words.index("-p") + 1])
calls = words[-1] if words[-1].count(".") == 3 else None
with open(os.environ["SEEN"], "a") as seen:
    print(os.path.basename(sys.argv[0]), card, port, "calls" if calls else "listens", *words[4:], file=seen)
own = "slow" if os.environ.get("SLOW") == card else "fast"
if calls:
    try:
        peer = socket.create_connection((calls, port), timeout=10)
    except ConnectionRefusedError:
        sys.exit(f"Couldn't connect to {calls}:{port}")
else:
    with socket.create_server(("127.0.0.1", port)) as server:
        server.settimeout(10)
        peer, _ = server.accept()
peer.sendall(own.encode())
theirs = peer.recv(4).decode()
peer.close()
print("calls" if calls else "listens")
text = open(os.environ["TIMES" if sys.argv[0].endswith("lat") else "RATE"]).read()
print(text.replace("392.31", "190.00") if "slow" in (own, theirs) else text)
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """ib_write_bw and ib_write_lat as programs of this machine that find each other by their ports."""
    place = tmp_path / "bin"
    place.mkdir()
    for name in ("ib_write_bw", "ib_write_lat"):
        (place / name).write_text(PLAYED)
        (place / name).chmod(0o755)
    (tmp_path / "rate").write_text(RATE)
    (tmp_path / "times").write_text(TIMES)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    for name, value in {"RATE": "rate", "TIMES": "times", "SEEN": "seen"}.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.setenv("NCCL_IB_HCA", "=mlx5_0,mlx5_3")
    return tmp_path


def test_two_nodes_measure_both_ways_on_each_card(programs: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """Both ends run the same program, sizes are bytes (FB18), and latency is a program's own (FB17). They are threads
    here, and ports tell the cards apart.
    """
    monkeypatch.setattr("socket.gethostbyname", lambda _: "127.0.0.1")
    monkeypatch.setenv("NODE_NAME", "node")
    monkeypatch.setenv("NCCL_IB_GID_INDEX", "3")
    store, asked = Meeting(), {**IB, "rounds": 1}
    nodes = [
        threading.Thread(target=rails.measure, args=(store, asked, [4, 7], index, programs / str(index), root, 20.0))
        for index in (4, 7)
    ]
    for each in nodes:
        each.start()
    for each in nodes:
        each.join(60)
    for index in (4, 7):
        line = railed.of_node(programs / str(index), asked, root)
        assert line is not None
        assert (line.state, line.why.split(" with ")[0]) == ("pass", "2 rails reach 392.31 Gb/s or more")
    for _, _, told in (each for index in (4, 7) for each in rails.told(programs / str(index))):
        assert (told["out"].split()[0], told["in"].split()[0]) == ("calls", "listens"), "who writes is who calls"
    seen = [each.split() for each in (programs / "seen").read_text().splitlines()]
    called = {(name, card, port) for name, card, port, how, *_ in seen if how == "calls"}
    assert called == {
        (name, card, str(rails.PORT + at)) for name in ("ib_write_bw", "ib_write_lat") for at, card in enumerate(CARDS)
    }
    rates = [words for name, _, _, _, *words in seen if name == "ib_write_bw"]
    assert all({"-x", "3", "--report_gbits", "8388608", "4000"} <= set(words) for words in rates)
    assert {word for words in rates for word in words if "cuda" in word} == {"--use_cuda=0", "--use_cuda=1"}


def test_a_program_that_is_missing_or_hangs_is_told_and_holds_nobody_up(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rails, "SECONDS", 0.3)
    slow = programs / "bin" / "ib_write_bw"
    slow.write_text("#!/bin/sh\nexec sleep 20\n")
    step = rails.Step("out", ("ib_write_bw",), first_listens=False)
    assert rails.started(step, 0, None) == "ib_write_bw did not end within 0.3 s"
    gone = rails.Step("out", ("no_such_program",), first_listens=False)
    assert rails.started(gone, 0, "127.0.0.1") == "no_such_program is not in the image"


def test_who_calls_waits_for_who_listens(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rails, "_CONNECT_SECONDS", 0.7)
    program = programs / "bin" / "ib_write_bw"
    program.write_text(
        '#!/bin/sh\nif [ -f "$SEEN" ]; then cat "$RATE"; else touch "$SEEN"; echo "Couldn\'t connect to x:1"; fi\n'
    )
    step = rails.Step("out", ("ib_write_bw",), first_listens=False)
    assert perftest.gbps(rails.started(step, 0, "127.0.0.1")) == 392.31
    program.write_text('#!/bin/sh\necho "Couldn\'t connect to x:1"\n')
    assert rails.started(step, 0, "127.0.0.1") == "Couldn't connect to x:1\n"


def test_a_partner_who_does_not_come_stands_in_no_line(programs: Path, root: Path) -> None:
    rails.measure(Meeting(), {**IB, "rounds": 1}, [0, 1], 0, programs / "out", root, 0.2)
    assert list(rails.told(programs / "out")) == []
    assert [len(each) for each, _ in pairwise(rails.rounds([0, 1, 2], 3))] == [1, 1]
