"""Wrong programs: a stack of many small pools, and a copied `__main__` that makes mistakes in what it registers."""

import yaml

from . import mistakes
from .making import MISTAKES
from .trees import ROOT, Tree

MAIN = "__main__.py"


def make(tree: Tree, *names: str) -> None:
    """Let the tree's program make these mistakes, and no others."""
    assert MISTAKES.keys() >= set(names), sorted(set(names) - MISTAKES.keys())
    first = f"from {mistakes.__package__} import making, mistakes\n\nmaking.commit{names!r}\n\n"
    tree.write(MAIN, first + (ROOT / MAIN).read_text())


POOLS = (
    ("training", "p5.4xlarge", 2),
    ("fabricless", "p5.4xlarge", 1),
    ("graphics", "g6.xlarge", 1),
    ("mislabelled", "g5.xlarge", 1),
    ("empty", "g6.xlarge", 1),
    ("pair", "g6.xlarge", 2),
)
LEFT_OUT = {"model", "method", "sharding", "recompute", "dataset"}
"""What the dev stack's run says of its model, which would not fit the small GPUs here, and of data to wait for."""
RUNS = {
    "plain": "training",
    "untolerating": "graphics",
    "unclaimed": "graphics",
    "mislabelled": "mislabelled",
    "empty": "empty",
    "single": "pair",
}
SERVICES = ("tokenless", "wide", "deaf", "weightless")


def many_small_pools(tree: Tree, *extra: str) -> None:
    """A stack file with a pool, a run or a service for every mistake, on few machines; `extra` are pools of one node.

    Only `plain` and `fabricless` ask for EFA, which is scarce: Volcano lets no gang in that the cluster as a whole has
    nothing left for. No gates measure the pools: a gate holds every node of a pool until it has passed.
    """
    file = tree.stack("dev")
    system, training, inference = file.get("gpucluster:pools")
    run, service = file.get("gpucluster:training.runs[0]"), file.get("gpucluster:serving.services[0]")
    pools = [*POOLS, *((name, "p5.4xlarge", 1) for name in extra)]
    trained = [{**training, "name": name, "instanceType": kind, "count": count} for name, kind, count in pools]
    file.set("gpucluster:pools", [system, *trained, {**inference, "instanceType": "g6e.12xlarge"}])
    nameless = {key: value for key, value in run.items() if key not in LEFT_OUT}
    runs = [{**nameless, "name": name, "pool": pool, "nodes": 1, "shmGib": 2} for name, pool in RUNS.items()]
    file.set("gpucluster:training.runs", runs)
    file.set("gpucluster:training.datasets", [])
    file.set("gpucluster:training.gates", None)
    file.set("gpucluster:serving.services", [{**service, "name": name} for name in SERVICES])
    file.set("gpucluster:budget.maxHourlyUsd", 200)
    _waive(tree, "gangs-exclude-each-other", "one of two gangs is wrong, and the other may wait")


def _waive(tree: Tree, rule: str, reason: str) -> None:
    file = tree.stack("dev")
    waived = yaml.safe_load(tree.text(file.name))["config"].get("gpucluster:waivers", [])
    file.set("gpucluster:waivers", [*waived, {"rule": rule, "reason": reason, "until": "2027-12-31"}])


BESIDE = {"single": ("pair", 1), "halved": ("pair", 2), "fabricless": ("fabricless", 1), "reserved": ("mislabelled", 1)}
"""Runs that are told apart when the first one runs: the pool and the nodes of each."""


def few_runs(tree: Tree) -> None:
    """The same pools with other runs beside the first one, and nothing that serves."""
    many_small_pools(tree)
    file = tree.stack("dev")
    first, *_ = file.get("gpucluster:training.runs")
    others = [{**first, "name": name, "pool": pool, "nodes": nodes} for name, (pool, nodes) in BESIDE.items()]
    file.set("gpucluster:training.runs", [first, *others])
    file.set("gpucluster:serving.services", [])
    _waive(tree, "gang-without-efa", "a gang is halved without any fabric")
