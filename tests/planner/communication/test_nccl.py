"""Time of collective operations (NC11, P13, P14)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.gpus import A100_80, B200, H100, L40S
from catalogue.types import Gpu
from planner.communication.group import Collective, Group, Network, bus_factor
from planner.communication.nccl import Algorithm, choices, fastest, latency_us, timing
from tests.planner.communication.groups import A100_NODE, NDR, NODE, ONE_HDR, P5, SHARP, nodes

ALL_REDUCE, RING = Collective.ALL_REDUCE, Algorithm.RING
MB, GB = 1e6, 1e9


@pytest.mark.parametrize(
    ("size_bytes", "one_node", "eight_nodes", "one_card"),
    [
        (1 * MB, 0.06, 0.59, 0.67),
        (16 * MB, 0.13, 0.67, 1.9),
        (64 * MB, 0.36, 0.94, 5.8),
        (256 * MB, 1.27, 1.99, 21.6),
        (1 * GB, 4.8, 6.1, 82.6),
        (4 * GB, 19.0, 22.5, 329),
        (16 * GB, 75.7, 88.1, 1313),
    ],
)
def test_all_reduce_by_ring(size_bytes: float, one_node: float, eight_nodes: float, one_card: float) -> None:
    """T3.4, NC15: milliseconds on 8 GPUs (370 GB/s), on 64 with 8 x 400 Gb/s (360) and with 1 x 200 Gb/s (24)."""
    slow = Network(nics=1, gbit_per_s=200, part=0.96)
    for group, wanted in ((NODE, one_node), (nodes(8), eight_nodes), (nodes(8, slow), one_card)):
        took = timing(ALL_REDUCE, size_bytes, group, RING).seconds * 1000
        assert took == pytest.approx(wanted, rel=0.01, abs=0.005)


@pytest.mark.parametrize(
    ("collective", "algorithm", "group", "microseconds"),
    [
        # 2(n-1) - 2(N-1) steps inside, 2(N-1) outside
        (ALL_REDUCE, RING, NODE, 8.4 + 14 * 3.4),
        (ALL_REDUCE, RING, nodes(8), 8.4 + (126 - 14) * 3.4 + 14 * 14),
        (Collective.ALL_GATHER, RING, nodes(8), 8.4 + (63 - 7) * 3.4 + 7 * 14),
        # 2 x ((n/N - 1) inside + log2 N outside)
        (ALL_REDUCE, Algorithm.TREE, nodes(8), 8.4 + 2 * (7 * 4.0 + 3 * 14)),
        # EFA's own 75 us come twice a step, as a large message is flushed
        (ALL_REDUCE, RING, nodes(2, P5), 8.4 + 28 * 3.4 + 2 * 164),
        (ALL_REDUCE, Algorithm.NVLS, NODE, 25.0),
        (ALL_REDUCE, Algorithm.NVLS_TREE, nodes(8), 25 + 2 * 3 * 20.9),
        (ALL_REDUCE, Algorithm.COLLNET, nodes(8, SHARP), 25 + 18),
    ],
)
def test_latency(collective: Collective, algorithm: Algorithm, group: Group, microseconds: float) -> None:
    """T3.4: each way's formula, worked out by hand."""
    assert latency_us(collective, algorithm, group) == pytest.approx(microseconds)


@pytest.mark.parametrize(
    ("collective", "group", "ways"),
    [
        (ALL_REDUCE, NODE, {RING, Algorithm.TREE, Algorithm.NVLS}),
        (ALL_REDUCE, A100_NODE, {RING, Algorithm.TREE}),
        (ALL_REDUCE, nodes(2), {RING, Algorithm.TREE, Algorithm.NVLS_TREE}),
        (ALL_REDUCE, nodes(2, SHARP), {RING, Algorithm.TREE, Algorithm.NVLS_TREE, Algorithm.COLLNET}),
        (Collective.ALL_GATHER, nodes(2), {RING}),
        (Collective.ALL_TO_ALL, NODE, {Algorithm.PAIRWISE}),
    ],
)
def test_algorithms_that_a_group_has(collective: Collective, group: Group, ways: set[Algorithm]) -> None:
    """NC11: NVLS on Hopper's switches, its tree between nodes, CollNet with SHARP alone."""
    assert set(choices(collective, group)) == ways


def test_no_size_changes_the_algorithm_everywhere() -> None:
    """NC11: at 1 GB NVLS wins on a node, not at 256 KB between eight; 2,048 A100 take a tree, eight a ring."""
    assert fastest(ALL_REDUCE, GB, NODE).algorithm is Algorithm.NVLS
    assert fastest(ALL_REDUCE, 256 * 1024, nodes(8)).algorithm is Algorithm.TREE
    assert fastest(ALL_REDUCE, GB, A100_NODE).algorithm is RING
    many = Group(gpu=A100_80, ranks=2048, domains=256, network=Network(nics=8, gbit_per_s=200))
    assert fastest(ALL_REDUCE, GB, many).algorithm is Algorithm.TREE


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
    """T3.4: whatever way it takes; the bus bandwidth grows with it."""
    group = Group(gpu=gpu, ranks=domains * per_domain, domains=domains, network=network)
    if bus_factor(collective, group.ranks) == 0:
        return
    for algorithm in choices(collective, group):
        short, long = (timing(collective, each, group, algorithm) for each in (size, more * size))
        assert short.seconds < long.seconds
        assert short.bus_gb_per_s <= long.bus_gb_per_s * (1 + 1e-9)
        assert fastest(collective, size, group).seconds <= short.seconds
