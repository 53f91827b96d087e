"""How GPUs of a group are joined, the rates, and the time of collectives (HW03, NC11, NC13-NC15, NC22, P13, P14)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.gpus import A10G, A100_80, B200, GB200, H100, H100_NVL, H200, L40S, T4
from catalogue.types import Gpu
from planner.communication.group import Cluster, Collective, Group, Network, bus_factor, nvlink_gb_per_s
from planner.communication.nccl import Algorithm, choices, fastest, latency_us, reached_gb_per_s, timing
from tests.planner.communication.groups import A100_NODE, CLUSTER, NDR, NODE, ONE_HDR, P5, SHARP, nodes

ALL_REDUCE = Collective.ALL_REDUCE


@pytest.mark.parametrize(
    ("collective", "ranks", "factor"),
    [
        (Collective.ALL_REDUCE, 8, 14 / 8),
        (Collective.ALL_REDUCE, 64, 126 / 64),
        (Collective.ALL_REDUCE, 2, 1.0),
        (Collective.ALL_GATHER, 8, 7 / 8),
        (Collective.REDUCE_SCATTER, 5, 4 / 5),
        (Collective.ALL_TO_ALL, 16, 15 / 16),
        (Collective.SEND_RECEIVE, 2, 1.0),
        (Collective.ALL_REDUCE, 1, 0.0),
    ],
)
def test_bus_factor(collective: Collective, ranks: int, factor: float) -> None:
    """T3.4: 2(n-1)/n for all-reduce, (n-1)/n for the halves of it and all-to-all, 1 for the rest."""
    assert bus_factor(collective, ranks) == pytest.approx(factor)


def test_one_rank_has_no_bandwidth() -> None:
    """No group has no rank."""
    with pytest.raises(ValueError, match="0 ranks"):
        bus_factor(ALL_REDUCE, 0)


def bus(algorithm: Algorithm, group: Group) -> float:
    """Bus bandwidth of a large all-reduce."""
    return reached_gb_per_s(ALL_REDUCE, algorithm, group)


@pytest.mark.parametrize(
    ("gpu", "gb_per_s"),
    [(H100, 370.8), (H200, 370.8), (A100_80, 240), (B200, 721.8), (H100_NVL, 247.2), (T4, 0)],
)
def test_nvlink(gpu: Gpu, gb_per_s: float) -> None:
    """HW03, NC13: 18 links of Hopper carry 20.6 GB/s each, one way, of their nominal 25."""
    assert nvlink_gb_per_s(gpu) == pytest.approx(gb_per_s)
    assert nvlink_gb_per_s(gpu) <= gpu.nvlink_one_way_gb_per_s


def test_ceilings_of_one_node() -> None:
    """T3.4, NC13: a ring on 8 H100 reaches about 370 GB/s, NVLS 460 to 480; A100 has no NVLS."""
    assert bus(Algorithm.RING, NODE) == pytest.approx(370, abs=1)
    assert 460 <= bus(Algorithm.NVLS, NODE) <= 480
    assert bus(Algorithm.RING, A100_NODE) == pytest.approx(240)
    assert A100_NODE.nvls_gb_per_s == 0


def test_nvls_by_hand() -> None:
    """T3.4: 8 channels of 40 GB/s (370.8/8 = 46 has no such channel), x 0.85 x 7/8 x 2; on B200 of 90, x 0.74."""
    assert bus(Algorithm.NVLS, NODE) == pytest.approx(8 * 40 * 0.85 * 7 / 8 * 2)
    assert bus(Algorithm.NVLS, Group(gpu=B200, ranks=8)) == pytest.approx(8 * 90 * 0.74 * 7 / 8 * 2)
    assert bus(Algorithm.NVLS, Group(gpu=H100, ranks=4)) == pytest.approx(4 * 60 * 0.85 * 3 / 4 * 2)


def test_ceilings_between_nodes() -> None:
    """T3.4, NC14: 8 x 400 Gb/s are 400 GB/s raw, of which 360 are reached by ring and NVLSTree, not 150 to 200."""
    assert bus(Algorithm.RING, nodes(8)) == pytest.approx(360)
    assert bus(Algorithm.NVLS_TREE, nodes(8)) == pytest.approx(360)
    assert nodes(8, P5).ring_gb_per_s == pytest.approx(360)


def test_one_card_of_200_gbit() -> None:
    """NC15, NC22: 25 GB/s raw, 22.5 planned; neither 100 nor 200 nor 1600 GB/s can come through it."""
    assert 22 <= bus(Algorithm.RING, nodes(8, ONE_HDR)) <= 24
    assert bus(Algorithm.NVLS_TREE, nodes(8, ONE_HDR)) <= 25


def test_two_nodes_use_both_ways_of_their_cards() -> None:
    """T3.4: NVLSTree on two nodes is bound by its channels, 8 x 57.7 = 462 GB/s, and on four by the cards again."""
    assert bus(Algorithm.NVLS_TREE, nodes(2)) == pytest.approx(8 * 57.7)
    assert bus(Algorithm.NVLS_TREE, nodes(4)) == pytest.approx(360)
    fast = Network(nics=8, gbit_per_s=800)
    assert bus(Algorithm.NVLS_TREE, nodes(4, fast)) == pytest.approx(8 * 45.5)


def test_sums_in_the_switches() -> None:
    """T3.4, NC14: with SHARP data cross the cards once, so that the node's own NVLS is the limit: 476, not 360."""
    assert bus(Algorithm.COLLNET, nodes(8, SHARP)) == pytest.approx(476)
    slow = Network(nics=2, gbit_per_s=400, sharp=True)
    assert bus(Algorithm.COLLNET, nodes(8, slow)) == pytest.approx(2 * 90)
    a100 = Group(gpu=A100_80, ranks=64, domains=8, network=Network(nics=8, gbit_per_s=200, sharp=True))
    assert bus(Algorithm.COLLNET, a100) == pytest.approx(240)


def test_trees() -> None:
    """T3.4: a tree has half of 0.92 of the rate as algorithm bandwidth, and between nodes its channels' most."""
    assert NODE.tree_gb_per_s == pytest.approx(370.8 * 0.92 / 2)
    assert nodes(8).tree_gb_per_s == pytest.approx(8 * 36 / 2)


def test_gpus_without_nvlink_meet_over_pcie() -> None:
    """NC13: an A10G has 24 GB/s of PCIe's fourth generation; four H100 NVL are joined in pairs only."""
    assert Group(gpu=A10G, ranks=4).inside_gb_per_s == 24
    assert Group(gpu=H100_NVL, ranks=2).inside_gb_per_s == pytest.approx(247.2)
    assert Group(gpu=H100_NVL, ranks=4).inside_gb_per_s == 48
    assert not Group(gpu=H100_NVL, ranks=2).nvls


@pytest.mark.parametrize(
    ("ranks", "stride", "domains", "gbit_per_s"),
    [
        (8, 1, 1, None),
        (64, 1, 8, 3200),
        (8, 8, 8, 400),
        (16, 4, 8, 800),
        (2, 4, 1, None),
        (4, 32, 4, 400),
        (12, 1, 2, 3200),
    ],
)
def test_groups_of_a_cluster(ranks: int, stride: int, domains: int, gbit_per_s: float | None) -> None:
    """C13: neighbours stay in the node; GPUs that lie 8 apart have one card each, those 4 apart two."""
    group = CLUSTER.group(ranks, stride)
    assert group.domains == domains
    carried = group.network.nics * group.network.gbit_per_s if group.network else None
    assert carried == gbit_per_s


def test_shared_card_is_divided() -> None:
    """FB02: with one 200 Gb/s card, eight groups of one GPU in each node have 25 Gb/s each."""
    group = Cluster(gpu=H100, domain_gpus=8, network=ONE_HDR).group(8, 8)
    assert group.network is not None
    assert (group.network.nics, group.network.gbit_per_s) == (1, 25)


def test_rack_that_shares_nvlink_is_one_domain() -> None:
    """C13: 64 GB200 of a rack of 72 need no card; without a network they cannot be 144."""
    rack = Cluster(gpu=GB200, domain_gpus=72)
    assert rack.group(64).domains == 1
    assert rack.group(64).nvls
    with pytest.raises(ValueError, match="2 domains have no network"):
        rack.group(144)


@pytest.mark.parametrize(("ranks", "domains"), [(0, 1), (2, 3)])
def test_impossible_groups(ranks: int, domains: int) -> None:
    """A group has a GPU in each of its domains."""
    with pytest.raises(ValueError, match="do not lie"):
        Group(gpu=H100, ranks=ranks, domains=domains, network=NDR)


@pytest.mark.parametrize(("nics", "gbit", "part"), [(0, 400, 0.9), (8, 0, 0.9), (8, 400, 1.2), (8, 400, 0)])
def test_impossible_networks(nics: int, gbit: float, part: float) -> None:
    """Cards have a rate, of which no more than all is reached."""
    with pytest.raises(ValueError, match="carry nothing"):
        Network(nics=nics, gbit_per_s=gbit, part=part)


@given(
    count=st.integers(2, 200),
    nics=st.integers(1, 16),
    gbit=st.sampled_from((100, 200, 400, 800)),
    algorithm=st.sampled_from((Algorithm.RING, Algorithm.TREE, Algorithm.NVLS_TREE)),
)
def test_nothing_goes_faster_than_both_ways_of_the_cards(
    count: int, nics: int, gbit: int, algorithm: Algorithm
) -> None:
    """FB01, NC15, NC22: bus bandwidth between nodes stays below the cards' rate, and below twice it on two nodes."""
    network = Network(nics=nics, gbit_per_s=gbit)
    raw = nics * gbit / 8
    assert bus(algorithm, nodes(count, network)) <= raw * (2 if count == 2 else 1)


RING = Algorithm.RING
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
