"""What measures a pool's nodes before its runs come (P16-P19, LF04)."""

import pytest

from tests.planner.stacks import planned

ON = {"training.gates": {"minutes": 20, "storageMib": 2048}}


def test_without_the_section_nothing_is_measured() -> None:
    assert planned("prod").measured == {}


def test_a_gate_is_like_the_pods_of_the_pools_first_run_and_tests_what_is_planned() -> None:
    plan = planned("prod", ON)
    first = next(iter(plan.runs.values()))
    gate = plan.measured[first.pool]
    assert (gate.run, gate.image, gate.pod) == (first.name, first.image, first.pod)
    assert (gate.provider, gate.devices) == ("efa", plan.pools[first.pool].efa)
    assert (gate.nodes, gate.seconds, gate.storage_mib) == (plan.pools[first.pool].nodes_now, 1200, 2048)
    assert set(gate.tests) < set(plan.gates[first.pool])
    assert {each.test for each in gate.tests} == {"all-reduce", "all-gather", "reduce-scatter"}
    assert {each.nodes for each in gate.tests} == {1, 2, gate.nodes}
    assert gate.write_gb_per_s == pytest.approx(plan.storage.write_gb_per_s / gate.nodes)


def test_a_pool_without_a_fabric_is_not_measured() -> None:
    changes = {**ON, "pools.1.instanceType": "g6e.xlarge"}
    assert planned("dev", changes).measured == {}


def test_one_node_has_nobody_to_be_measured_with() -> None:
    assert planned("dev", {**ON, "pools.1.count": 1}).measured == {}
