"""What the plan demands of cards in pairs is what the gate's script is told, on racks with InfiniBand (E16, P19)."""

import json
from copy import deepcopy
from functools import cache
from typing import Any

import arguments

from catalogue.versions import PYTHON_IMAGE
from components.metal.devices import RDMA_RESOURCE
from components.training.gate_pods import gate_files
from components.training.trainer import trainer_files
from planner.communication.thresholds import GIB
from tests.graph.harness import Recorded
from tests.graph.stackfiles import run_program, stack_config
from tests.planner.stacks import planned_metal

GATES = {"minutes": 30, "expiryDays": 9}


@cache
def gated() -> Recorded:
    config = stack_config("metal")
    return run_program(
        {**config, "gpucluster:training": {**config["gpucluster:training"], "gates": GATES}}, stack="metal"
    )


def test_a_gate_is_where_the_runs_of_its_pool_are_and_in_their_image() -> None:
    """One pod on each node, before runs of any queue; who lets verdicts end runs a program of Python's own image."""
    graph, plan = gated(), planned_metal({"training.gates": GATES})
    job, run = graph.one("gate-training-job"), next(iter(plan.runs.values()))
    pod = job.inputs["spec"]["template"]["spec"]
    (measuring,) = pod["containers"]
    assert job.inputs["metadata"]["namespace"] == "training"
    assert measuring["image"] == plan.supply.image(run.image)
    product = plan.pools["training"].gpu_product
    assert pod["nodeSelector"] == {"gpucluster/pool": "training", "nvidia.com/gpu.product": product}
    assert [(each["key"], each["value"]) for each in pod["tolerations"] if each["key"] == "nvidia.com/gpu"] == [
        ("nvidia.com/gpu", "present")
    ]
    assert pod["priorityClassName"] == "experiments"
    claims = [each["persistentVolumeClaim"]["claimName"] for each in pod["volumes"] if "persistentVolumeClaim" in each]
    assert claims == ["checkpoints"]
    assert {"nvidia.com/gpu": "8", RDMA_RESOURCE: "1"}.items() <= measuring["resources"]["limits"].items()
    before = {graph.resources[urn].name for urn in job.depends_on}
    assert before >= {"pool-training-nodes", "gpu-checks-training-smoke", "priorities-experiments"}
    expiry = graph.one("gate-training-expiry").inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert [each["image"] for each in expiry["containers"]] == [plan.supply.image(PYTHON_IMAGE)]


def test_the_script_is_told_the_lines_of_the_plan() -> None:
    """NC15: whatever the cards are; nobody else writes a line."""
    graph, plan = gated(), planned_metal({"training.gates": GATES})
    pairs = plan.measured["training"].pairs
    assert pairs
    told: dict[str, Any] = json.loads(graph.one("gate-training-plan").inputs["data"]["plan.json"])
    assert told["links"] == 18
    lines = {
        (each.test.replace("-", "_"), each.nodes, each.size_gib * GIB): (each.threshold.warn, each.threshold.fail)
        for each in plan.gates["training"]
        if each.size_gib
    }
    found = {(each["operation"], each["nodes"], each["bytes"]): (each["warn"], each["fail"]) for each in told["tests"]}
    assert found == lines
    assert [each["test"] for each in told["tests"]] == [
        f"{each.test} {each.reach}, {each.nodes} nodes, {each.size_gib or 0:g} GiB"
        for each in plan.measured["training"].tests
    ]
    assert told["pairs"] == {
        "program": "ib_write_bw",
        "warn": 385,
        "fail": 360,
        "latency_us": 4.2,
        "rounds": pairs.rounds,
        "seconds": pairs.seconds,
    }
    (measuring,) = graph.one("gate-training-job").inputs["spec"]["template"]["spec"]["containers"]
    named = {each["name"]: each["value"] for each in measuring["env"] if "value" in each}
    assert named["NCCL_IB_HCA"].startswith("=mlx5_"), "by which the script takes the cards in rail order"
    scripts = graph.one("gate-training-scripts").inputs["data"]
    assert {"rails.py", "railed.py", "perftest.py"} <= scripts.keys()


def test_the_only_node_of_a_pool_is_told_of_no_network_d04() -> None:
    config = deepcopy(stack_config("dev"))
    config["gpucluster:pools"][1]["count"] = config["gpucluster:training"]["runs"][0]["nodes"] = 1
    graph = run_program(config, stack="dev")
    told = json.loads(graph.one("gate-training-plan").inputs["data"]["plan.json"])
    assert (told["provider"], told["devices"], told["pairs"]) == (None, None, None)
    assert {each["nodes"] for each in told["tests"]} <= {1}
    assert graph.one("gate-training-job").inputs["spec"]["completions"] == 1
    (run,) = (each for each in graph.of_type("PyTorchJob") if "gpucluster/gate" in json.dumps(each.inputs))
    assert run.name.startswith("run-"), "it waits for a node that passed"


def test_nodes_train_as_the_reference_trainer_takes_it_o08() -> None:
    """Its own parser reads every word, and its modules lie beside the gate's."""
    config = stack_config("metal")
    gates = {**GATES, "benchmark": True}
    graph = run_program(
        {**config, "gpucluster:training": {**config["gpucluster:training"], "gates": gates}}, stack="metal"
    )
    told: dict[str, Any] = json.loads(graph.one("gate-training-plan").inputs["data"]["plan.json"])["benchmark"]
    planned = planned_metal({"training.gates": gates}).measured["training"].benchmark
    assert planned
    assert planned.forecast
    assert told["tokens_per_s"] == round(planned.forecast.tokens_per_s)
    gpus = told["words"][2].removeprefix("--nproc-per-node=")
    assert told["words"][:4] == [
        *("torchrun", "--standalone", f"--nproc-per-node={gpus}"),
        "/opt/gpucluster/gates/train.py",
    ]
    asked = arguments.parse(told["words"][4:])
    assert (asked.model, asked.data_parallel, asked.steps) == (told["model"], int(gpus), 25)
    assert (asked.checkpoint_dir, asked.data_dir, asked.metrics_port) == (None, None, None)
    scripts = graph.one("gate-training-scripts").inputs["data"]
    assert scripts == {**trainer_files(), **gate_files()} == gate_files(trains=True)
    assert len(scripts) == len(trainer_files()) + len(gate_files()), "no module of one hides one of the other"
