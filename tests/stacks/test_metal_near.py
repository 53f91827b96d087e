"""Machines at several leaves: what nodes, Volcano and runs are told of them."""

from copy import deepcopy
from functools import cache

import yaml

from tests.graph.harness import Recorded
from tests.graph.schema_kubernetes import crd_file, problems
from tests.graph.stackfiles import run_program, stack_config

LEAF = "network.topology.nvidia.com/leaf"
LEAVES = {"leaf-r0-01": 4, "leaf-r0-02": 4}
"""Nodes of the shipped stack by leaf, with ports for four nodes at each."""


@cache
def graph(*, apart: bool = True, within: str | None = None) -> Recorded:
    config = deepcopy(stack_config("metal"))
    if within:
        (run,) = config["gpucluster:training"]["runs"]
        run |= {"within": within, "api": "v2", "followUps": [], "dataset": None}
        known = {"subject": run["name"], "reason": "kubeflow-trainer 2.3 is there", "until": "2999-01-01"}
        config["gpucluster:waivers"] = [{"rule": "trainer-not-served", **known}]
    if apart:
        config["gpucluster:fabric"] |= {"spareLeafPorts": 28}
        # More leaves take more room.
        config["gpucluster:facility"] |= {"racks": {"count": 6, "units": 48, "powerKw": 45}}
        config["gpucluster:facility"]["cooling"] |= {"capacityKw": 300}
    return run_program(config, stack="metal")


def test_volcano_knows_the_tree_by_the_machines_names() -> None:
    found = {each.inputs["metadata"]["name"]: each for each in graph().of_type("HyperNode")}
    assert {name: len(each.inputs["spec"]["members"]) for name, each in found.items()} == {**LEAVES, "spine-01": 2}
    first = found["leaf-r0-01"].inputs["spec"]
    assert first["tier"] == 1
    assert first["members"][0] == {"type": "Node", "selector": {"exactMatch": {"name": "dgx-01"}}}
    top = found["spine-01"].inputs["spec"]
    assert top["tier"] == 2
    assert [each["selector"]["exactMatch"]["name"] for each in top["members"]] == list(LEAVES)
    assert {each["type"] for each in top["members"]} == {"HyperNode"}
    assert crd_file("HyperNode")
    assert not [words for each in found.values() for words in problems(each)]
    admitted = graph().one("gang-admission-wait").urn
    assert all(admitted in each.depends_on for each in found.values())


def test_the_scheduler_reads_it_for_groups_alone() -> None:
    text = graph().one("volcano-release").inputs["values"]["custom"]["scheduler_config_override"]
    plugins = {plugin["name"]: plugin for tier in yaml.safe_load(text)["tiers"] for plugin in tier["plugins"]}
    assert plugins["network-topology-aware"]["arguments"] == {"hypernode.binpack.normal-pod.enable": False}


def test_nodes_are_labelled_also_those_that_joined_before() -> None:
    words = graph().one("pool-training-nodes").inputs["create"].split(" && ")
    assert "wait --for=condition=Ready" in words[0]
    begin = "sudo -n kubectl --kubeconfig /etc/kubernetes/admin.conf label --overwrite"
    assert words[1] == f"{begin} node/dgx-01 node/dgx-02 gpucluster/rack=r1"
    odd = " ".join(f"node/dgx-0{each}" for each in (1, 3, 5, 7))
    assert f"{begin} {odd} gpucluster/unit=2" in words
    first = " ".join(f"node/dgx-0{each}" for each in (1, 2, 3, 4))
    assert f"{begin} {first} network.topology.nvidia.com/leaf=leaf-r0-01" in words
    assert len(words) == 1 + 4 + 2 + 2 + 1, "a call for each rack, unit, leaf and spine"


def test_pods_of_a_run_prefer_the_leaf_of_the_others() -> None:
    replicas = graph().one("run-llama-3-70b-pretrain-job").inputs["spec"]["pytorchReplicaSpecs"]
    for replica in replicas.values():
        (term,) = replica["template"]["spec"]["affinity"]["podAffinity"][
            "preferredDuringSchedulingIgnoredDuringExecution"
        ]
        assert term["podAffinityTerm"]["topologyKey"] == LEAF
        assert term["podAffinityTerm"]["labelSelector"]["matchLabels"] == {"gpucluster/run": "llama-3-70b-pretrain"}


def test_where_all_are_at_one_leaf_nobody_is_told() -> None:
    one = graph(apart=False)
    assert not one.of_type("HyperNode")
    assert "podAffinity" not in str(one.one("run-llama-3-70b-pretrain-job").inputs)
    assert "network-topology-aware" not in str(one.one("volcano-release").inputs["values"])


def test_a_run_within_a_kind_of_switch_is_of_its_tier() -> None:
    name = "run-llama-3-70b-pretrain-runtime"
    made = {apart: graph(apart=apart, within="spine").one(name).inputs["spec"] for apart in (True, False)}
    policies = {apart: spec["podGroupPolicy"] for apart, spec in made.items()}
    assert policies[True] == {"volcano": {"networkTopology": {"mode": "hard", "highestTierAllowed": 2}}}
    assert policies[False] == {"volcano": {}}
