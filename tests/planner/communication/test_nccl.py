"""Time of collective operations (NC11, P13, P14)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.gpus import A100_80, B200, H100, L40S
from catalogue.types import Gpu
from planner.communication.collectives import Algorithm, Collective, Protocol, bus_factor
from planner.communication.constants import LATENCIES_US
from planner.communication.group import Group, Network
from planner.communication.nccl import choices, fastest, latency_us, timing
from tests.planner.communication.groups import A100_NODE, NDR, NODE, ONE_HDR, P5, SHARP, nodes

ALL_REDUCE = Collective.ALL_REDUCE
RING, TREE, SIMPLE = Algorithm.RING, Algorithm.TREE, Protocol.SIMPLE
MB, GB = 1e6, 1e9


@pytest.mark.parametrize(
    ("size_bytes", "one_node", "eight_nodes", "one_card"),
    [
        (1 * MB, "0.06", "0.59", "0.67"),
        (16 * MB, "0.13", "0.67", "1.9"),
        (64 * MB, "0.36", "0.94", "5.8"),
        (256 * MB, "1.27", "1.99", "21.6"),
        (1 * GB, "4.8", "6.1", "82.6"),
        (4 * GB, "19.0", "22.5", "329"),
        (16 * GB, "75.7", "88.1", "1313"),
    ],
)
def test_all_reduce_by_ring(size_bytes: float, one_node: str, eight_nodes: str, one_card: str) -> None:
    """T3.4, NC15: milliseconds on 8 GPUs (370 GB/s), on 64 with 8 x 400 Gb/s (360) and with 1 x 200 Gb/s (24)."""
    for group, bus, wanted in ((NODE, 370, one_node), (nodes(8), 360, eight_nodes), (nodes(8, ONE_HDR), 24, one_card)):
        took = timing(ALL_REDUCE, size_bytes, group, RING, SIMPLE, bus=bus).seconds * 1000
        assert f"{took:.{len(wanted.partition('.')[2])}f}" == wanted


@pytest.mark.parametrize(
    ("algorithm", "protocol", "wanted"),
    [
        (TREE, Protocol.LL, (6.8, 0.6, 5)),
        (TREE, Protocol.LL128, (14, 1.25, 8.5)),
        (TREE, Protocol.SIMPLE, (8.4, 4.0, 14)),
        (RING, Protocol.LL, (6.6, 0.6, 2.7)),
        (RING, Protocol.LL128, (14, 1.9, 4)),
        (RING, Protocol.SIMPLE, (8.4, 3.4, 14)),
    ],
)
def test_constants(algorithm: Algorithm, protocol: Protocol, wanted: tuple[float, float, float]) -> None:
    """T3.4: base, NVLink and network microseconds of trees and rings."""
    row = LATENCIES_US[algorithm, protocol]
    assert (row.base, row.nvlink, row.network) == wanted


@pytest.mark.parametrize(
    ("collective", "algorithm", "protocol", "group", "microseconds"),
    [
        # 2(n-1) - 2(N-1) steps inside, 2(N-1) outside
        (ALL_REDUCE, RING, SIMPLE, NODE, 8.4 + 14 * 3.4),
        (ALL_REDUCE, RING, SIMPLE, nodes(8), 8.4 + (126 - 14) * 3.4 + 14 * 14),
        (ALL_REDUCE, RING, Protocol.LL128, nodes(4), 14 + (62 - 6) * 1.9 + 6 * 4),
        (Collective.ALL_GATHER, RING, SIMPLE, nodes(8), 8.4 + (63 - 7) * 3.4 + 7 * 14),
        # 2 x ((n/N - 1) inside + log2 N outside)
        (ALL_REDUCE, TREE, SIMPLE, nodes(8), 8.4 + 2 * (7 * 4.0 + 3 * 14)),
        (ALL_REDUCE, TREE, Protocol.LL, nodes(6), 6.8 + 2 * (7 * 0.6 + 2 * 5)),
        (ALL_REDUCE, Algorithm.NVLS, SIMPLE, NODE, 25.0),
        (ALL_REDUCE, Algorithm.NVLS_TREE, SIMPLE, nodes(8), 25 + 2 * 3 * 20.9),
        (ALL_REDUCE, Algorithm.COLLNET, SIMPLE, nodes(8, SHARP), 2 * (3.7 + 7 * 0.4) + 31),
        (ALL_REDUCE, Algorithm.NVLS, SIMPLE, nodes(8, SHARP), 25 + 18),
    ],
)
def test_latency(
    collective: Collective, algorithm: Algorithm, protocol: Protocol, group: Group, microseconds: float
) -> None:
    """T3.4: each algorithm's formula, worked out by hand."""
    assert latency_us(collective, algorithm, protocol, group) == pytest.approx(microseconds)


def test_latency_with_one_gpu_in_each_node() -> None:
    """T3.4: PAT: log2(N) x 14/3.5 + 2.8 n (and its base of 8); a ring's steps are as long as a tree's, all outside."""
    group = Group(gpu=H100, ranks=16, domains=16, network=Network(nics=1, gbit_per_s=400))
    pat = latency_us(Collective.ALL_GATHER, Algorithm.PAT, SIMPLE, group)
    assert pat == pytest.approx(8 + 4 * 14 / 3.5 + 16 * 2.8)
    assert latency_us(ALL_REDUCE, RING, Protocol.LL, group) == pytest.approx(6.6 + 30 * 5.0)


def test_post_to_the_network_takes_longer_on_amd() -> None:
    """T3.4: an AMD processor posts in 2 us, three times a step with Simple, which is more than NVLink's 3.4."""
    amd = Group(gpu=H100, ranks=64, domains=8, network=NDR, processor="amd")
    assert latency_us(ALL_REDUCE, RING, SIMPLE, amd) == pytest.approx(8.4 + 112 * 6.0 + 14 * 14)
    assert latency_us(ALL_REDUCE, RING, Protocol.LL, amd) == pytest.approx(6.6 + 112 * 2.0 + 14 * 2.7)


def test_efa_adds_its_latency_to_each_step() -> None:
    """T3.4: 75 us, twice where Simple flushes: 8.4 + 28 x 3.4 + 2 x (14 + 150) on two p5."""
    assert latency_us(ALL_REDUCE, RING, SIMPLE, nodes(2, P5)) == pytest.approx(8.4 + 28 * 3.4 + 2 * 164)


def algorithms(collective: Collective, group: Group) -> set[Algorithm]:
    """What NCCL could choose."""
    return {algorithm for algorithm, _ in choices(collective, group)}


def test_algorithms_that_a_group_has() -> None:
    """NC11: NVLS on Hopper's switches, its tree between nodes, CollNet with SHARP alone, PAT with one GPU a node."""
    assert algorithms(ALL_REDUCE, NODE) == {RING, TREE, Algorithm.NVLS}
    assert algorithms(ALL_REDUCE, A100_NODE) == {RING, TREE}
    assert algorithms(ALL_REDUCE, nodes(2)) == {RING, TREE, Algorithm.NVLS_TREE}
    assert algorithms(ALL_REDUCE, nodes(2, SHARP)) == {
        RING,
        TREE,
        Algorithm.NVLS,
        Algorithm.NVLS_TREE,
        Algorithm.COLLNET,
    }
    assert algorithms(Collective.ALL_GATHER, nodes(2)) == {RING}
    apart = Group(gpu=H100, ranks=4, domains=4, network=ONE_HDR)
    assert algorithms(Collective.ALL_GATHER, apart) == {RING, Algorithm.PAT}
    assert algorithms(Collective.ALL_TO_ALL, NODE) == {Algorithm.PAIRWISE}
    with pytest.raises(ValueError, match="NCCL has no all-reduce by nvls"):
        timing(ALL_REDUCE, MB, A100_NODE, Algorithm.NVLS)


def test_no_size_changes_the_algorithm_everywhere() -> None:
    """NC11: at 1 MB a node takes LL on a ring, eight nodes a tree; at 1 GB NVLS wins on the node, not at 256 KB."""
    assert fastest(ALL_REDUCE, MB, NODE).protocol is Protocol.LL
    assert fastest(ALL_REDUCE, MB, nodes(8)).algorithm is TREE
    assert fastest(ALL_REDUCE, GB, NODE).algorithm is Algorithm.NVLS
    assert fastest(ALL_REDUCE, 256 * 1024, nodes(8)).algorithm is TREE
    assert fastest(ALL_REDUCE, 4 * GB, Group(gpu=A100_80, ranks=8)).algorithm is RING


@pytest.mark.parametrize(("gib", "measured", "part"), [(2, 438, 0.05), (16, 480, 0.06)])
def test_model_meets_what_was_measured_on_two_p5(gib: int, measured: float, part: float) -> None:
    """T3.4: two p5 showed 438 GB/s at 2 GiB and about 480 at 16 GiB."""
    assert fastest(ALL_REDUCE, gib * 2**30, nodes(2, P5)).bus_gb_per_s == pytest.approx(measured, rel=part)


def test_all_to_all_is_bound_by_each_gpus_own_card() -> None:
    """P14: of 64 GPUs with a 400 Gb/s card each, 56/64 of the data leave the node at 45 GB/s: 1 GB takes 19.4 ms."""
    took = fastest(Collective.ALL_TO_ALL, GB, nodes(8))
    wait = 8.4 + 14 + 63 * 1.0
    assert took.seconds == pytest.approx(56 / 64 / 45 + wait * 1e-6)
    inside = fastest(Collective.ALL_TO_ALL, GB, NODE)
    assert inside.seconds == pytest.approx(7 / 8 / 370.8 + (8.4 + 3.4 + 7) * 1e-6)


def test_send_and_receive_takes_one_gpus_share_of_the_cards() -> None:
    """P14: a pipeline stage sends 67 MB to the next node over one 400 Gb/s card: 67.1 / 45 + 0.0234 = 1.51 ms."""
    pair = Group(gpu=H100, ranks=2, domains=2, network=Network(nics=1, gbit_per_s=400))
    took = fastest(Collective.SEND_RECEIVE, 67_108_864, pair).seconds
    assert took == pytest.approx(67_108_864 / 45e9 + (8.4 + 14 + 1) * 1e-6)


def test_group_of_one_takes_no_time() -> None:
    """A degree of parallelism of 1 communicates with nobody."""
    assert fastest(ALL_REDUCE, GB, Group(gpu=H100, ranks=1)).seconds == 0


@given(
    collective=st.sampled_from(Collective),
    gpu=st.sampled_from((A100_80, H100, B200, L40S)),
    domains=st.sampled_from((1, 2, 3, 8, 100)),
    per_domain=st.sampled_from((1, 2, 4, 8)),
    network=st.sampled_from((NDR, SHARP, ONE_HDR, P5)),
    size=st.floats(1, 1e11),
    more=st.floats(1.001, 100),
)
def test_time_grows_with_the_message(
    collective: Collective,
    gpu: Gpu,
    domains: int,
    per_domain: int,
    network: Network,
    size: float,
    more: float,
) -> None:
    """T3.4: for whatever NCCL can choose, and for its best choice; the bus bandwidth grows with it."""
    group = Group(gpu=gpu, ranks=domains * per_domain, domains=domains, network=network)
    if bus_factor(collective, group.ranks) == 0:
        return
    for algorithm, protocol in choices(collective, group):
        short = timing(collective, size, group, algorithm, protocol)
        long = timing(collective, more * size, group, algorithm, protocol)
        assert short.seconds < long.seconds
        assert short.bus_gb_per_s <= long.bus_gb_per_s * (1 + 1e-9)
    best = fastest(collective, size, group)
    assert best.seconds < fastest(collective, more * size, group).seconds
    assert all(best.seconds <= timing(collective, size, group, *pair).seconds for pair in choices(collective, group))
