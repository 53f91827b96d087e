"""What nodes leave to pods, capacity blocks, and how nodes are replaced."""

from datetime import UTC, date, datetime, timedelta

import pytest

from catalogue.instances import INSTANCES
from planner.blocks import block_times, days, is_sold, nodes_on, whole_price
from planner.nodes import (
    allocatable_cpu_millicores,
    allocatable_memory_mib,
    exclusive_spare_millicores,
    hugepages_mib,
    pod_share,
    reserved_cpu_millicores,
)
from planner.replacement import repair, surge, update_strategy
from tests.planner.stacks import planned
from tests.planner.test_placement_rules import booked


@pytest.mark.parametrize(("vcpu", "millicores"), [(1, 60), (2, 70), (4, 80), (8, 90), (16, 110), (192, 550)])
def test_cpu_reserved_for_the_kubelet(vcpu: int, millicores: int) -> None:
    """N04: 60, 10, 5 and 5 millicores for the first four cores, 2.5 for each further one."""
    assert reserved_cpu_millicores(vcpu) == millicores


@pytest.mark.parametrize(("efa", "mib"), [(0, 0), (1, 10256), (4, 21124), (16, 42242), (32, 42242)])
def test_huge_pages_of_the_efa_driver(efa: int, mib: int) -> None:
    """Near what was seen: 21122 MiB on p4de with 4 interfaces, 42242 MiB on p5 with 32."""
    assert hugepages_mib(efa) == mib


@pytest.mark.parametrize("name", INSTANCES)
def test_a_node_never_promises_more_than_it_has(name: str) -> None:
    """N04: allocatable memory lies below the nominal one by at least the kubelet's share."""
    row = INSTANCES[name]
    free = allocatable_memory_mib(row, 110, row.efa_max)
    assert 0 < free < row.memory_gib * 1024 * 0.93 - 255


def test_pods_take_whole_cores_and_gibibytes() -> None:
    """N04: after the daemons, in shares, rounded down; nothing negative on a node that is too small."""
    assert pod_share(191450, 1896707, 8, 8) == (190000, 1850 * 1024)
    assert pod_share(191450, 1451794, 4, 8) == (95000, 707 * 1024)
    assert pod_share(400, 1000, 1, 1) == (0, 0)


def test_a_gang_pod_and_the_daemons_fit_their_node() -> None:
    """N04, N05: requests equal limits, below allocatable, with shared memory inside the memory limit."""
    for stack in ("dev", "prod"):
        plan = planned(stack)
        for run in plan.runs.values():
            pool = plan.pools[run.pool]
            assert run.pod.cpu_millicores + 500 <= pool.allocatable_cpu_millicores
            assert run.pod.memory_mib + 2048 <= pool.allocatable_memory_mib
            assert run.pod.shm_mib < run.pod.memory_mib
            assert (run.pod.gpus, run.pod.efa) == (pool.gpus_per_node, pool.efa)


def test_replicas_of_a_full_node_fit_it_together() -> None:
    """Q03: two replicas of 4 GPUs share an 8-GPU node, with its CPU and memory."""
    plan = planned("prod")
    (service,) = plan.services.values()
    pool = plan.pools[service.pool]
    replicas = pool.gpus_per_node // service.pod.gpus
    assert replicas * service.pod.cpu_millicores <= pool.allocatable_cpu_millicores - 500
    assert replicas * service.pod.memory_mib <= pool.allocatable_memory_mib - 2048


START, END = date(2026, 12, 1), date(2026, 12, 15)


@pytest.mark.parametrize(
    ("days_", "sold"),
    [(0, False), (1, True), (14, True), (15, False), (20, False), (21, True), (28, True), (182, True), (189, False)],
)
def test_blocks_come_in_days_and_then_in_weeks(days_: int, sold: bool) -> None:
    """PF10: 1 to 14 days by the day, then weeks, up to 182 days."""
    assert is_sold(days_) is sold


def test_moments_of_a_block() -> None:
    """PF10: 11:30 UTC is the end; EC2 takes nodes from 11:00, EKS empties the group at 10:50, checkpoint by 10:45."""
    times = block_times(START, END)
    assert times.start == datetime(2026, 12, 1, 11, 30, tzinfo=UTC)
    assert times.end == datetime(2026, 12, 15, 11, 30, tzinfo=UTC)
    assert times.end - times.taken == timedelta(minutes=30)
    assert times.end - times.scaled_to_zero == timedelta(minutes=40)
    assert times.end - times.checkpoint_by == timedelta(minutes=45)


def test_an_ultraserver_is_left_an_hour_before_the_end() -> None:
    """PF10: EKS would empty the group at 40 minutes, which is too late for P6e-GB200."""
    times = block_times(START, END, ultraserver=True)
    assert times.end - times.taken == timedelta(minutes=60)
    assert times.end - times.scaled_to_zero == timedelta(minutes=40)
    assert times.end - times.checkpoint_by == timedelta(minutes=65)


@pytest.mark.parametrize(
    ("today", "nodes"),
    [(date(2026, 11, 30), 0), (START, 8), (date(2026, 12, 14), 8), (END, 0), (date(2027, 1, 1), 0)],
)
def test_nodes_are_asked_for_only_while_the_block_runs(today: date, nodes: int) -> None:
    """PF10: before its start a desired count above zero fails; at its end there is nothing left to ask for."""
    assert nodes_on(8, START, END, today) == nodes


def test_a_block_is_paid_as_a_whole() -> None:
    """T3.9, PF10: 8 x p4d.24xlarge for 14 days at 14.75: 8 x 336 h x 14.75 = 39,648 USD."""
    price = INSTANCES["p4d.24xlarge"].capacity_block
    assert price
    assert days(START, END) == 14
    assert whole_price(price, 8, START, END).usd == pytest.approx(39_648)
    wide = INSTANCES["p5e.48xlarge"].capacity_block
    assert wide
    week = whole_price(wide, 2, date(2027, 3, 1), date(2027, 3, 8))
    assert (week.low, week.usd, week.high) == pytest.approx((2 * 168 * 34.61, 2 * 168 * 39.80, 2 * 168 * 43.26))


@pytest.mark.parametrize(
    ("strategy", "count", "zones", "more"),
    [("DEFAULT", 2, 1, 2), ("DEFAULT", 3, 3, 6), ("DEFAULT", 0, 3, 0), ("MINIMAL", 8, 1, 0)],
)
def test_default_updates_run_two_more_nodes_per_zone_lf07(strategy: str, count: int, zones: int, more: int) -> None:
    """LF07: the larger of twice the zones and maxUnavailable, which is one here; MINIMAL runs none."""
    assert surge("MINIMAL" if strategy == "MINIMAL" else "DEFAULT", count, zones) == more


def test_pools_without_room_for_more_nodes_are_updated_minimally_lf07() -> None:
    """LF07: gangs of GPUs and capacity blocks give a node away before they ask for its successor."""
    assert update_strategy(training=False, block=True) == "MINIMAL"
    pools = planned("prod").pools
    assert {name: (pool.update_strategy, pool.surge) for name, pool in pools.items()} == {
        "system": ("DEFAULT", 6),
        "training": ("MINIMAL", 0),
        "inference": ("DEFAULT", 2),
    }
    assert booked().pools["training"].surge == 0


def test_quotas_and_subnets_have_room_for_an_update_lf07() -> None:
    """LF07: prod's system pool of 3 becomes 9 in an update, 2 more of them in each zone."""
    prod = planned("prod")
    need = {each.quota.code: each.need for each in prod.quotas}
    assert (need["L-1216C47A"], need["L-DB2E81BA"], need["L-417A185B"]) == (9 * 8, 3 * 192, 8 * 192)
    zone = {subnet.name: subnet.needed for subnet in prod.subnets}
    node = prod.pools["system"].addresses_per_node
    assert [zone[f"system-use2-az{index}"] for index in (1, 2, 3)] == [(3 + 2) * node] * 3


@pytest.mark.parametrize(("count", "most"), [(0, 1), (1, 1), (8, 1), (10, 2), (64, 12)])
def test_repair_stops_when_a_fifth_is_sick_lf13(count: int, most: int) -> None:
    """LF13: in a small pool one node may be sick, where EKS' own fifth would stop at none or at no number."""
    plan = repair(count, gpus=True)
    assert (plan.parallel, plan.max_unhealthy) == (1, most)


def test_programs_errors_reboot_no_node_lf13() -> None:
    """LF13: XID 13 and 31 come from programs; 64 is broken memory, which no reboot mends."""
    assert {each.reason: each.action for each in repair(8, gpus=True).overrides} == {
        "NvidiaXID13Error": "NoAction",
        "NvidiaXID31Error": "NoAction",
        "NvidiaXID64Error": "Replace",
    }
    assert {(each.condition, each.wait_minutes) for each in repair(8, gpus=True).overrides} == {
        ("AcceleratedHardwareReady", 10)
    }
    assert repair(3, gpus=False).overrides == ()


def test_repair_is_on_unless_the_pool_says_no_lf13() -> None:
    assert all(pool.repair is not None for pool in planned().pools.values())
    assert planned(changes={"pools.1.repair": False}).pools["training"].repair is None


@pytest.mark.parametrize("vcpu", [8, 32, 48, 96, 128, 192, 224, 256])
def test_what_is_reserved_beside_pods_with_their_own_cpus_is_whole_cores(vcpu: int) -> None:
    """At least four CPUs more than the kubelet's own, and what is left after the daemons is whole cores as well."""
    reserved = reserved_cpu_millicores(vcpu) + exclusive_spare_millicores(vcpu)
    assert reserved - reserved_cpu_millicores(vcpu) >= 4000
    assert -(-reserved // 1000) % 2 == 0
    cpu, _ = pod_share(allocatable_cpu_millicores(vcpu, exclusive=True), 100_000, 1, 1, threads=2)
    assert cpu % 2000 == 0
    assert vcpu * 1000 - -(-reserved // 1000) * 1000 - cpu in (0, 2000)
