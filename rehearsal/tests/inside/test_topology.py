"""The topology manager's admission, by policy and scope."""

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.kubelet import admission, topology
from rehearsal.kubelet.allotted import Allotted
from rehearsal.kubelet.kubelet import Kubelet
from rehearsal.tests.inside import facts
from rehearsal.tests.inside.objects import pod

NODE = {"metadata": {"name": "n"}, "status": {"allocatable": {"nvidia.com/gpu": "8", "cpu": "192"}}}


def asking(*gpus: int, cpu: str | None = None) -> dict[str, Any]:
    """A pod whose containers ask for so many GPUs each, and for the same CPU and memory in requests and limits."""
    containers = []
    for index, count in enumerate(gpus):
        amounts = {"nvidia.com/gpu": str(count), **({"cpu": cpu, "memory": "1Gi"} if cpu else {})}
        containers.append({"name": f"c{index}", "image": "a:1", "resources": {"limits": amounts, "requests": amounts}})
    return pod(containers=containers)


def place(asked: dict[str, Any], policy: str, *others: topology.Placed, **more: str) -> topology.Placed | None:
    config = {"kubelet": {"config": {"topologyManagerPolicy": policy, **more}}}
    return topology.place(asked, facts.host("p5.48xlarge", node_config=config), NODE, others)


@pytest.mark.parametrize(
    ("policy", "gpus", "admitted"),
    [
        ("none", 8, True),
        ("best-effort", 8, True),
        ("restricted", 8, True),
        ("single-numa-node", 8, False),
        ("single-numa-node", 5, False),
        ("single-numa-node", 4, True),
    ],
)
def test_a_whole_node_is_never_on_one_numa_node(policy: str, gpus: int, admitted: bool) -> None:
    """A p5 has four GPUs on each of two NUMA nodes: single-numa-node refuses every pod with more."""
    assert (place(asking(gpus), policy) is not None) is admitted


@pytest.mark.parametrize(
    ("policy", "admitted"), [("restricted", False), ("single-numa-node", False), ("best-effort", True)]
)
def test_what_is_left_in_parts_is_no_place_for_what_fits_on_one(policy: str, admitted: bool) -> None:
    """Two GPUs fit on one NUMA node, and one is left on each."""
    held: topology.Placed = {"nvidia.com/gpu": (3, 3)}
    assert (place(asking(2), policy, held) is not None) is admitted


def test_pods_fill_the_numa_node_that_has_room() -> None:
    first = place(asking(3), "single-numa-node")
    assert first == {"nvidia.com/gpu": (3, 0)}
    assert place(asking(3), "single-numa-node", first) == {"nvidia.com/gpu": (0, 3)}
    assert place(asking(1), "single-numa-node", first) == {"nvidia.com/gpu": (1, 0)}


def test_scope_container_looks_at_each_and_scope_pod_at_all() -> None:
    """Two containers of four GPUs each have a NUMA node each, but not the pod one for both."""
    assert place(asking(4, 4), "single-numa-node") == {"nvidia.com/gpu": (4, 4)}
    assert place(asking(4, 4), "single-numa-node", topologyManagerScope="pod") is None
    assert place(asking(2, 2), "single-numa-node", topologyManagerScope="pod") == {"nvidia.com/gpu": (4, 0)}


def test_whole_cpus_count_only_where_they_are_pinned() -> None:
    """Under the static CPU manager 100 CPUs of a Guaranteed pod need both sockets of 96."""
    assert place(asking(1, cpu="100"), "single-numa-node") is not None
    assert place(asking(1, cpu="100"), "single-numa-node", cpuManagerPolicy="static") is None
    assert place(asking(1, cpu="99500m"), "single-numa-node", cpuManagerPolicy="static") is not None


def test_gpu_and_cpus_lie_on_the_same_numa_node() -> None:
    held: topology.Placed = {"nvidia.com/gpu": (4, 0), "cpu": (0, 90)}
    assert place(asking(1, cpu="8"), "single-numa-node", held, cpuManagerPolicy="static") is None
    assert place(asking(1, cpu="6"), "single-numa-node", held, cpuManagerPolicy="static") is not None


def test_a_machine_of_one_socket_refuses_nothing() -> None:
    config = {"kubelet": {"config": {"topologyManagerPolicy": "single-numa-node"}}}
    small = {"metadata": {}, "status": {"allocatable": {"nvidia.com/gpu": "1"}}}
    assert topology.place(asking(1), facts.host("p5.4xlarge", node_config=config), small, ()) is not None


def test_the_kubelet_holds_what_it_gave_until_the_pod_goes() -> None:
    """What it refuses fails with the topology manager's reason."""
    stores: dict[str, Any] = defaultdict(lambda: SimpleNamespace(on_change=lambda _: None))
    kubelet = Kubelet(SimpleNamespace(stores=stores, allotted=Allotted()))  # type: ignore[arg-type]
    host = facts.host("p5.48xlarge", node_config={"kubelet": {"config": {"topologyManagerPolicy": "restricted"}}})
    assert kubelet._place("ns/a", asking(3), NODE, host) is None
    assert kubelet._place("ns/b", asking(3), NODE, host) is None
    refused = kubelet._place("ns/c", asking(2), NODE, host)
    assert refused is not None
    assert (refused.reason, refused.message) == (
        "TopologyAffinityError",
        "Resources cannot be allocated with Topology locality",
    )
    kubelet._release("ns/a", host.node)
    assert kubelet._place("ns/c", asking(2), NODE, host) is None


def test_what_an_ended_pod_held_is_free_before_its_end_is_written() -> None:
    """A scheduler that reads of the end binds the next pod at once."""
    stores: dict[str, Any] = defaultdict(lambda: SimpleNamespace(on_change=lambda _: None))
    ended, host = asking(3), facts.host("p5.48xlarge", node_config={})
    held: list[dict[str, Any]] = []
    kubelet: Kubelet
    kube = SimpleNamespace(patch=lambda *_: held.append(dict(kubelet._admitted[host.node])))
    kubelet = Kubelet(SimpleNamespace(stores=stores, allotted=Allotted(), kube=kube))  # type: ignore[arg-type]
    kubelet._admitted[host.node] = {"ns/a": admission.requests(ended)}
    run = SimpleNamespace(
        advance=lambda *_: None, status=lambda _: {"phase": "Succeeded"}, blocked=False, host=host, namespace="ns"
    )
    kubelet._advance("ns/a", ended, NODE, run)  # type: ignore[arg-type]
    assert held == [{}]


def test_a_flag_wins_over_the_configuration() -> None:
    kubelet = {
        "config": {"topologyManagerPolicy": "none"},
        "flags": ["--topology-manager-policy=restricted", "--topology-manager-scope=pod"],
    }
    assert topology.settings({"kubelet": kubelet}) == topology.Settings("restricted", "pod", False)
    assert topology.settings({}) == topology.Settings("none", "container", False)


STATIC = {"cpuManagerPolicy": "static", "topologyManagerScope": "pod"}
RESERVED = {"metadata": {"name": "n"}, "status": {"allocatable": {"nvidia.com/gpu": "8", "cpu": "187450m"}}}


def pinned(asked: dict[str, Any], *others: topology.Placed) -> topology.Placed | None:
    config = {"kubelet": {"config": {"topologyManagerPolicy": "best-effort", **STATIC}}}
    return topology.place(asked, facts.host("p5.48xlarge", node_config=config), RESERVED, others)


def test_whole_cpus_of_a_guaranteed_pod_are_its_own_and_the_reserved_ones_nobodys() -> None:
    """192 CPUs of which 4.55 are reserved: 5 whole ones of the first NUMA node."""
    first = pinned(asking(4, cpu="90"))
    assert first == {"nvidia.com/gpu": (4, 0), "cpu": (90, 0)}
    assert pinned(asking(4, cpu="96"), first) == {"nvidia.com/gpu": (0, 4), "cpu": (0, 96)}
    assert pinned(asking(8, cpu="187")) == {"nvidia.com/gpu": (4, 4), "cpu": (91, 96)}


@pytest.mark.parametrize("size", [1, 2, 4])
def test_replicas_of_one_size_lie_at_one_socket_without_being_told_to(size: int) -> None:
    """As they come and go; so `single-numa-node` would give them nothing."""
    held: list[topology.Placed] = []
    for step in range(40):
        if held and (len(held) == 8 // size or step % 3 == 0):
            held.pop(step * 7 % len(held))
        given = place(asking(size), "best-effort", *held, topologyManagerScope="pod")
        assert given is not None
        assert sorted(given["nvidia.com/gpu"]) == [0, size]
        held.append(given)


def test_replicas_of_several_sizes_are_refused_for_good_where_one_socket_has_to_do() -> None:
    """Two GPUs are free, one at each socket: the scheduler sees room, whoever the kubelet refuses comes back."""
    held: topology.Placed = {"nvidia.com/gpu": (3, 3)}
    assert place(asking(2), "single-numa-node", held) is None
    assert place(asking(2), "best-effort", held) == {"nvidia.com/gpu": (1, 1)}


@pytest.mark.parametrize(
    ("cpu", "whole", "refused"),
    [("90", "true", False), ("91", "true", True), ("91", "false", False), ("90500m", "true", False)],
)
def test_a_part_of_a_core_is_refused_where_cores_are_whole(cpu: str, whole: str, *, refused: bool) -> None:
    """A container's, that runs first too; one that asks for a part of a CPU shares what nobody has."""
    config = {"kubelet": {"config": {**STATIC, "cpuManagerPolicyOptions": {"full-pcpus-only": whole}}}}
    host, arm = (facts.host(each, node_config=config) for each in ("p5.48xlarge", "g5g.16xlarge"))
    said = topology.misaligned(asking(4, cpu=cpu), host)
    assert said == ("SMT Alignment Error: requested 91 cpus not multiple cpus per core = 2" if refused else None)
    assert topology.misaligned(asking(1, cpu=cpu), arm) is None
    first = asking(4, cpu="90")
    first["spec"]["initContainers"] = asking(0, cpu=cpu)["spec"]["containers"]
    assert (topology.misaligned(first, host) is not None) is refused


def test_a_container_that_runs_first_and_may_use_more_than_it_asks_for_costs_a_pod_its_cpus() -> None:
    """As the training operator's own does, in which workers wait for their master."""
    waits = {"limits": {"cpu": "100m", "memory": "20Mi"}, "requests": {"cpu": "50m", "memory": "10Mi"}}
    asked = asking(8, cpu="180")
    asked["spec"]["initContainers"] = [{"name": "init-pytorch", "resources": waits}]
    assert pinned(asked) == {"nvidia.com/gpu": (4, 4)}
    asked["spec"]["initContainers"][0]["resources"]["requests"] = waits["limits"]
    assert pinned(asked) == {"nvidia.com/gpu": (4, 4), "cpu": (91, 89)}
