"""What the plan demands of cards in pairs is what the gate's script is told, on racks with InfiniBand (E16, P19)."""

import json
from typing import Any

from tests.graph.stackfiles import run_program, stack_config
from tests.planner.stacks import planned_metal

GATES = {"minutes": 30}


def test_the_script_is_told_the_lines_of_the_plan() -> None:
    config = stack_config("metal")
    graph = run_program(
        {**config, "gpucluster:training": {**config["gpucluster:training"], "gates": GATES}}, stack="metal"
    )
    pairs = planned_metal({"training.gates": GATES}).measured["training"].pairs
    told: dict[str, Any] = json.loads(graph.one("gate-training-plan").inputs["data"]["plan.json"])
    assert told["links"] == 18
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
