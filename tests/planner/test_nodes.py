"""What nodes leave to pods."""

import pytest

from catalogue.instances import INSTANCES
from planner.nodes import allocatable_memory_mib, hugepages_mib, pod_share, reserved_cpu_millicores
from tests.planner.stacks import planned


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
