"""What the plan demands of cards in pairs is what the gate's script is told, on racks with InfiniBand (E16, P19)."""

import json
from typing import Any

import arguments

from components.training.gate_pods import gate_files
from components.training.trainer import trainer_files
from planner.communication.thresholds import GIB
from tests.graph.stackfiles import run_program, stack_config
from tests.planner.stacks import planned_metal

GATES = {"minutes": 30}


def test_the_script_is_told_the_lines_of_the_plan() -> None:
    """NC15: whatever the cards are; nobody else writes a line."""
    config = stack_config("metal")
    graph = run_program(
        {**config, "gpucluster:training": {**config["gpucluster:training"], "gates": GATES}}, stack="metal"
    )
    plan = planned_metal({"training.gates": GATES})
    pairs = plan.measured["training"].pairs
    told: dict[str, Any] = json.loads(graph.one("gate-training-plan").inputs["data"]["plan.json"])
    assert told["links"] == 18
    lines = {
        (each.test.replace("-", "_"), each.nodes, each.size_gib * GIB): (each.threshold.warn, each.threshold.fail)
        for each in plan.gates["training"]
        if each.size_gib
    }
    found = {(each["operation"], each["nodes"], each["bytes"]): (each["warn"], each["fail"]) for each in told["tests"]}
    assert found == lines
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
