"""Every committed stack, as a whole: invariants, identities, and a first preview (AB10, Z16, A01)."""

import cProfile
import json
import pstats
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from policy import RULES
from policy.rule import Rule, violations
from rehearsal.plugins.aws.table import ROWS
from tests.graph import stackfiles
from tests.graph.stackfiles import ROOT, SHIPPED, every_shipped, graph_of, stack_config, stack_names
from tests.presets import stacks
from tests.presets.stacks import LARGE

GOLDEN = Path(__file__).with_name("golden")


def watched(stack: str) -> bool:
    """Whether the stack file has the section that brings Prometheus."""
    return "gpucluster:monitoring" in stack_config(stack)


LAYERS = {"Fabric", "KubePlatform", "HardwarePool", "Storage", "Scheduling", "Workloads"}

IN_A_PARENT = ("aws:eks/nodeGroup:NodeGroup", "aws:ec2/securityGroup:SecurityGroup", "aws:iam/rolePolicy:RolePolicy")
"""What has a name that is unique in its cluster, VPC or role only."""

every_stack = pytest.mark.parametrize("stack", stack_names())


@every_shipped
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_stack_keeps_every_rule(stack: str, rule: Rule) -> None:
    """In a first preview too, in which no id is known."""
    assert [str(each) for each in violations(graph_of(stack), [rule])] == []
    assert [str(each) for each in violations(graph_of(stack, preview=True), [rule])] == []


@every_shipped
def test_urns_are_those_on_record(stack: str, accept: bool) -> None:
    """A URN that changes replaces what it stands for: give the new one an alias, then run pytest --accept."""
    golden = GOLDEN / f"{stack}.urns"
    urns = "".join(f"{urn}\n" for urn in sorted(graph_of(stack).resources))
    if accept:
        golden.write_text(urns)
    assert golden.is_file(), f"there is no golden for {stack}: type make accept, and read what it writes"
    assert golden.read_text() == urns


def test_a_stack_of_ones_own_is_no_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B3: a further stack file beside the shipped ones gets no golden, and takes none."""
    for file in ROOT.glob("Pulumi.*.yaml"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "Pulumi.mine.yaml").write_bytes((ROOT / "Pulumi.dev.yaml").read_bytes())
    before = stack_names()
    monkeypatch.setattr(stackfiles, "ROOT", tmp_path)
    assert stack_names() == before


def test_every_golden_has_its_stack() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.urns")) == sorted(SHIPPED)


@every_shipped
def test_a_first_preview_shows_every_resource(stack: str) -> None:
    """Nothing is made inside an apply, and nothing needs an id to be known (P6)."""
    assert sorted(graph_of(stack, preview=True).resources) == sorted(graph_of(stack).resources)


@every_shipped
def test_the_tree_mirrors_the_layers_a01(stack: str) -> None:
    graph = graph_of(stack)
    roots = {each.kind for each in graph.resources.values() if each.parent not in graph.resources and not each.custom}
    assert roots == LAYERS | ({"Monitoring"} if watched(stack) else set())


@every_shipped
def test_there_is_one_output_per_layer_a01(stack: str) -> None:
    outputs = graph_of(stack).outputs
    layers = {"fabric", "hardware", "storage", "kubePlatform", "scheduling", "workloads"}
    assert set(outputs) == layers | ({"monitoring"} if watched(stack) else set())
    command = outputs["kubePlatform"]["kubeconfigCommand"]
    assert command.endswith("/etc/kubernetes/admin.conf" if stack == "metal" else f"--name gpucluster-{stack}")
    assert outputs["hardware"]["gpus"] == sum(pool["gpus"] for pool in outputs["hardware"]["pools"].values())


def test_prod_protects_whatever_dev_has_and_more_z16() -> None:
    guarded = {
        name: {each.token for each in graph_of(name).resources.values() if each.protect} for name in ("dev", "prod")
    }
    assert guarded["dev"] == set()
    assert len(guarded["prod"]) == 5


@every_stack
def test_documents_are_written_in_one_order(stack: str) -> None:
    """A policy whose keys change places would be another text, and a change in the next preview."""
    texts = [
        value
        for each in graph_of(stack).resources.values()
        for value in each.inputs.values()
        if each.token.startswith("aws:") and isinstance(value, str) and value.startswith("{")
    ]
    assert texts
    assert [text for text in texts if json.dumps(json.loads(text), sort_keys=True) != text] == []


@every_shipped
def test_default_providers_are_off_where_the_engine_looks(stack: str) -> None:
    """Under `config:`; elsewhere the engine ignores it without a word (P27)."""
    assert stack_config(stack)["pulumi:disable-default-providers"] == ["*"]


@every_shipped
def test_nothing_is_shown_but_waived_findings(stack: str) -> None:
    assert [text for _, text in graph_of(stack).messages if "[waived: " not in text] == []


def test_resources_do_not_grow_with_nodes() -> None:
    """A stack of 2,048 GPUs, and the same with eight nodes instead of 256."""
    large = LARGE.read_text()
    texts = (large, re.sub(r"\b256\b", "8", large))
    graphs = [stackfiles.run_program(yaml.safe_load(each)["config"], stack="large") for each in texts]
    assert set(graphs[0].resources) == set(graphs[1].resources)


def _run_on_eight(text: str) -> dict[str, Any]:
    """The configuration of a large stack whose run stays small."""
    config: dict[str, Any] = yaml.safe_load(text)["config"]
    config["gpucluster:training"]["runs"][0]["nodes"] = 8
    return config


COUNTING = {
    ("pool-training-nodes", "scalingConfig"),
    ("pool-training-nodes", "nodeRepairConfig"),
    ("queues-training", "spec"),
    ("metrics-server-release", "values"),
}
COUNTING_IN_PROD = {
    ("queues-experiments", "spec"),
    ("gate-training-plan", "data"),
    ("gate-training-job", "spec"),
    ("gate-training-weekly", "spec"),
    ("monitoring-stack-chart-release", "values"),
    *((f"dashboards-gpucluster-{each}", "data") for each in ("cluster", "fabric", "cost", "energy")),
}
"""Its gate tries every node of the pool, its second queue lends them, its dashboards have their number, price and
power, and Prometheus has room for their series.
"""


@pytest.mark.parametrize(
    ("config", "counting"),
    [
        (_run_on_eight(LARGE.read_text()), COUNTING),
        (_run_on_eight(stacks.text("prod", stacks.LARGE_PROD)), COUNTING | COUNTING_IN_PROD),
    ],
    ids=["two-thousand", "prod"],
)
def test_nodes_from_8_to_256_change_what_counts_them_alone(
    config: dict[str, Any], counting: set[tuple[str, str]]
) -> None:
    """One number of the stack file, the runs as they are: the group's size and how many of it may be sick, the GPUs of
    the queue, and what metrics-server asks for beyond 100 nodes (components/platform/metrics_server.py).

    The program does no more for it, by the calls of its functions: `make bench` has the time.
    """
    graph_of("prod")  # what the first program of a process imports is no part of either
    graphs, calls = [], []
    for count in (8, 256):
        config["gpucluster:pools"][1]["count"] = count
        with cProfile.Profile() as counted:
            graphs.append(stackfiles.run_program(config, stack="large").resources)
        calls.append(vars(pstats.Stats(counted))["total_calls"])
    small, large = graphs
    assert set(small) == set(large)
    changed = {
        (small[urn].name, key)
        for urn in small
        for key in {**small[urn].inputs, **large[urn].inputs}
        if small[urn].inputs.get(key) != large[urn].inputs.get(key)
    }
    assert changed == counting
    assert calls[1] / calls[0] < 1.05, calls


def test_two_stacks_of_one_account_share_no_physical_name() -> None:
    from tests.graph.stackfiles import run_program

    config = stack_config("dev")
    graphs = [run_program(config, stack=name) for name in ("alice", "bob")]
    named = {token: row.autoname.input for token, row in ROWS.items() if row.autoname and token not in IN_A_PARENT}
    names = [
        {(token, each.inputs[key]) for token, key in named.items() for each in graph.of_type(token)} for graph in graphs
    ]
    assert len(names[0]) >= 10
    assert names[0].isdisjoint(names[1])
