"""Gates of two pools of whole servers: each failure fails its own line and no other, and runs stay away from the node.

P16-P19, LF04.

The real scheduler, controllers and operator place what the gate left; the verdicts are the gate's own script's.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import yaml

from components.platform.taints import GATE_KEY, POOL_KEY
from rehearsal.command import ordering
from rehearsal.kube.errors import ApiError, Unreachable

from .rehearsed import Rehearsed, rehearsed, until
from .test_gates import WHERE, verdict_of
from .trees import Tree
from .wrong import LEFT_OUT

pytestmark = [pytest.mark.engine, pytest.mark.scale]

KIND = "p5.48xlarge"
POOL, BARE = "training", "bare"
BREAKS = ("gpu-slow", "fabric-manager", "ib-link")
LINES = {"gpu-slow": "clocks", "fabric-manager": "fabric manager", "ib-link": "network provider"}
"""What is broken, and the line of the verdict that says so: on EFA a dead rail is an interface that is missing."""
PLUGINLESS = "pytorch/pytorch:2.11.0-cuda12.8-cudnn9-runtime"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rehearsed, dict[str, str]]]:
    """Five nodes, three of them broken before anything measured them, and two whose run's image lacks the plugin; what
    was broken, by node."""
    directory = tmp_path_factory.mktemp("broken")
    tree = Tree.copy(directory / "tree")
    stack = tree.stack("dev")
    system, training, inference = stack.get("gpucluster:pools")
    pools = [{**training, "name": name, "instanceType": KIND, "count": count} for name, count in ((POOL, 5), (BARE, 2))]
    stack.set("gpucluster:pools", [system, *pools, {**inference, "count": 1}])
    (run,) = stack.get("gpucluster:training.runs")
    plain = {key: value for key, value in run.items() if key not in LEFT_OUT}
    told = {key: value for key, value in run.items() if key != "dataset"} | {
        "framework": "fsdp2",
        "sharding": "fsdp",
        "loaderWorkers": 4,
    }
    runs = [told, {**plain, "name": BARE, "pool": BARE, "image": PLUGINLESS, "script": ["-m", "trainer"]}]
    stack.set("gpucluster:training.runs", runs)
    stack.set("gpucluster:training.datasets", [])
    stack.set("gpucluster:training.gates.benchmark", True)
    stack.set("gpucluster:serving.services", [])
    stack.set("gpucluster:budget.maxHourlyUsd", 900).set("gpucluster:budget.maxGpus", 64)
    waiver = {"rule": "image-without-efa", "subject": PLUGINLESS, "reason": "the gate finds it", "until": "2027-12-31"}
    waived = yaml.safe_load(tree.text(stack.name))["config"].get("gpucluster:waivers", [])
    stack.set("gpucluster:waivers", [*waived, waiver])
    with rehearsed("broken", tree, directory / "state") as site, ThreadPoolExecutor(1) as threads:
        applied = threads.submit(site.up)
        until(lambda: applied.done() or _offering(site, 5), "five nodes that offer their GPUs", 900)
        if applied.done():
            applied.result().require()
            raise AssertionError("the stack was applied before the nodes offered GPUs")
        sick = dict(zip(sorted(nodes(site, POOL)), BREAKS, strict=False))
        for node, kind in sick.items():
            site.order(ordering.fail, node=node, kind=kind, gpu=0, target=None)
        applied.result().require()
        yield site, sick


def nodes(site: Rehearsed, pool: str) -> dict[str, dict[str, Any]]:
    found = site.kube.list("v1", "Node", label_selector=f"{POOL_KEY}={pool}")
    return {each["metadata"]["name"]: each for each in found}


def _offering(site: Rehearsed, count: int) -> bool:
    if not site.clusters():
        return False
    try:
        found = nodes(site, POOL).values()
    except (Unreachable, ApiError):
        return False
    return sum("nvidia.com/gpu" in (each["status"].get("capacity") or {}) for each in found) >= count


def running(site: Rehearsed, run: str) -> set[str]:
    """Nodes of the run's pods that run."""
    pods = site.kube.list("v1", "Pod", WHERE, label_selector=f"training.kubeflow.org/job-name={run}")
    return {each["spec"]["nodeName"] for each in pods if each["status"]["phase"] == "Running"}


def failed(site: Rehearsed, pool: str, node: str) -> list[str]:
    return [each["test"] for each in verdict_of(site, pool, node)["lines"] if each["state"] == "fail"]


def test_each_failure_fails_its_own_line_and_no_other(broken: tuple[Rehearsed, dict[str, str]]) -> None:
    site, sick = broken
    assert set(sick.values()) == set(BREAKS)
    for node, each in nodes(site, POOL).items():
        kind = sick.get(node)
        assert failed(site, POOL, node) == ([LINES[kind]] if kind else []), (node, kind)
        assert each["metadata"]["labels"][GATE_KEY] == ("fail" if kind else "warn")
        tainted = {"key": GATE_KEY, "value": "fail", "effect": "NoSchedule"} in each["spec"].get("taints", [])
        assert tainted == bool(kind)


def test_the_run_is_on_the_nodes_that_are_well(broken: tuple[Rehearsed, dict[str, str]]) -> None:
    site, sick = broken
    well = set(nodes(site, POOL)) - set(sick)
    until(lambda: running(site, "llama-3-8b-sft") == well, "the run on the two nodes that are well")


def test_an_image_without_the_plugin_fails_the_provider_on_every_node_and_nothing_runs_there(
    broken: tuple[Rehearsed, dict[str, str]],
) -> None:
    site, _ = broken
    for node in nodes(site, BARE):
        assert failed(site, BARE, node) == ["network provider"]
    assert running(site, BARE) == set()
    (pod, *_) = site.kube.list("v1", "Pod", WHERE, label_selector=f"training.kubeflow.org/job-name={BARE}")
    assert not pod["spec"].get("nodeName")


def test_each_node_trains_and_a_slow_one_is_warned_of_o08(broken: tuple[Rehearsed, dict[str, str]]) -> None:
    """GPUs whose manager does not run cannot be started, which its own line says."""
    site, sick = broken
    expected = {"gpu-slow": ["warn"], "fabric-manager": []}
    for node in nodes(site, POOL):
        lines = [each["state"] for each in verdict_of(site, POOL, node)["lines"] if each["test"] == "training"]
        assert lines == expected.get(sick.get(node, ""), ["pass"]), sick.get(node)


def test_the_processes_that_load_data_are_told_to_the_ranks_o05(broken: tuple[Rehearsed, dict[str, str]]) -> None:
    site, _ = broken
    pods = site.kube.list("v1", "Pod", WHERE, label_selector="training.kubeflow.org/job-name=llama-3-8b-sft")
    assert len(pods) == 2
    assert all("--loader-workers=4" in each["spec"]["containers"][0]["args"] for each in pods)
