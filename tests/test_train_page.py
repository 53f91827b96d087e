"""What the page of training says is so: its fragments, laid together, are stacks that plan, and reach a pod."""

from typing import Any

import pytest
import yaml

from components.training.trainer import TRAINER, trainer_files
from tests.graph.stackfiles import registered, stack_config
from tests.planner.stacks import plan_of
from tests.test_tutorial import fragments

BLOCKS: list[dict[str, Any]] = [yaml.safe_load(each.values[0]) for each in fragments(["how-to/train.md"])]
TRAINING = "gpucluster:training"


def only(key: str) -> Any:
    """What the one fragment that begins with this key says of it."""
    (found,) = [each[key] for each in BLOCKS if next(iter(each)) == key]
    return found


@pytest.mark.parametrize("key", [None, "elastic", "followUps"])
def test_from_a_dataset_to_a_run_that_saves_the_page_is_one_stack(key: str | None) -> None:
    """In place of what prod trains on eight nodes, with the small pool that follow-ups name; nothing is warned of."""
    config, (run, _) = stack_config("prod"), [each["runs"][0] for each in BLOCKS if "runs" in each]
    data, gates = BLOCKS[0], only(TRAINING)["gates"]
    config["gpucluster:lifecycle"]["protect"] = False
    config["gpucluster:pools"].append({"name": "small", "role": "training", "instanceType": "p5.4xlarge", "count": 1})
    (weights, _) = config["gpucluster:storage"]["sources"]
    config["gpucluster:storage"]["sources"] = [weights, *data["gpucluster:storage"]["sources"]]
    config[TRAINING] = {
        "datasets": data[TRAINING]["datasets"],
        "gates": gates,
        "runs": [run | ({key: only(key)} if key else {})],
    }
    plan = plan_of(config)
    assert [each.sentence for each in plan.errors] == []
    told = {each.rule for each in plan.findings if each.path.startswith(TRAINING)}
    assert told == ({"elastic-shrinks-batch"} if key == "elastic" else set())


def test_dev_trains_without_an_image_of_its_own_lf03_lf04() -> None:
    """By the page's run in place of its own: NVIDIA's image, the trainer's files beside it, and what was planned."""
    config, (_, run) = stack_config("dev"), [each["runs"][0] for each in BLOCKS if "runs" in each]
    config[TRAINING]["runs"] = [run]
    del config["gpucluster:catalogue"]
    plan = plan_of(config)
    assert [each.sentence for each in (*plan.errors, *plan.findings) if each.path.startswith(TRAINING)] == []
    graph = registered(config, stack="dev")
    spec = graph.one(f"run-{run['name']}-job").inputs["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    (container,) = spec["containers"]
    assert container["image"] == "nvcr.io/nvidia/pytorch:26.03-py3"
    assert f"{TRAINER}/train.py" in container["args"]
    (mount,) = [each for each in container["volumeMounts"] if each["mountPath"] == TRAINER]
    (volume,) = [each for each in spec["volumes"] if each["name"] == mount["name"]]
    maps = {each.inputs["metadata"]["name"]: each.inputs for each in graph.of_type("ConfigMap")}
    assert maps[volume["configMap"]["name"]]["data"] == trainer_files()
    assert "--data-parallel=2" in container["args"], "a GPU on each of two nodes"
