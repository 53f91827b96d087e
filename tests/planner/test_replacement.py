"""Updates and repairs of nodes: what EKS runs beside a pool, and how many nodes it takes at a time."""

import pytest

from planner.replacement import repair, surge, update_strategy
from tests.planner.stacks import planned
from tests.planner.test_placement_rules import booked


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
