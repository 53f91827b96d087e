"""A pool of CPU nodes with gVisor: from the stack file to what is registered (Y05)."""

import base64
import json
from copy import deepcopy
from email import message_from_bytes
from functools import cache

from tests.graph.harness import Recorded
from tests.graph.stackfiles import graph_of, run_program, stack_config
from tests.planner.test_several_blocks import SANDBOX


@cache
def deployed() -> Recorded:
    config = deepcopy(stack_config("dev"))
    config["gpucluster:pools"][0]["sandbox"] = SANDBOX
    config["gpucluster:training"]["pipelines"] = {"sandbox": True}
    return run_program(config, stack="dev")


def test_the_class_leads_to_nodes_that_have_it() -> None:
    made = deployed().one("sandbox-class").inputs
    assert (made["metadata"]["name"], made["handler"]) == ("gvisor", "runsc")
    selector = made["scheduling"]["nodeSelector"]
    labels = {
        name: deployed().one(f"pool-{name}-nodes").inputs["labels"] for name in ("system", "training", "inference")
    }
    assert [name for name, each in labels.items() if selector.items() <= each.items()] == ["system"]


def test_nodes_fetch_it_by_hash_and_containerd_knows_it() -> None:
    text = base64.b64decode(deployed().one("pool-system-template").inputs["userData"])
    parts = [each.get_payload(decode=True) for each in message_from_bytes(text).walk() if not each.is_multipart()]
    config, script = (each.decode() for each in parts if isinstance(each, bytes))
    assert "containerd.runtimes.runsc]" in json.loads(config)["spec"]["containerd"]["config"]
    lines = script.splitlines()
    assert lines[:2] == ["#!/bin/bash", f"set -- s3://acme-tools/gvisor/20261116 {'a' * 64} {'b' * 64}"]
    assert "sha256sum --check" in script


def test_nodes_may_read_that_folder_and_nothing_else() -> None:
    (statement,) = json.loads(deployed().one("node-role-fetched").inputs["policy"])["Statement"]
    assert statement["Action"] == ["s3:GetObject"]
    assert statement["Resource"] == ["arn:aws:s3:::acme-tools/gvisor/20261116/*"]


def test_steps_of_pipelines_run_in_it() -> None:
    defaults = json.loads(deployed().one("pipelines-argo-config").inputs["data"]["workflowDefaults"])
    assert json.loads(defaults["spec"]["podSpecPatch"]) == {"runtimeClassName": "gvisor"}


def test_a_stack_without_has_nothing_of_it() -> None:
    graph = graph_of("dev")
    assert graph.of_type("RuntimeClass") == []
    assert "node-role-fetched" not in {each.name for each in graph.resources.values()}
