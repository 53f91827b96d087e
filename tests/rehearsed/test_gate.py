"""The gate's own script on tools that print what a simulated node makes them print (P16-P19, LF04).

Each failure fails its own line and no other.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gate
import publish
import pytest
import verdicts

from components.training.gate_pods import (
    KEPT_WHOLE,
    GateBenchmark,
    GatePairs,
    GateTest,
    container,
    demanded,
    gate_files,
)
from rehearsal.testing.answering import Asked, Said, answering
from rehearsal.tests.inside.simulated import GPU, Node
from rehearsed import gate as played
from rehearsed.gate_texts import SYSTEM
from tests.components.samples.training import gate_args

EFA = "vpc.amazonaws.com/efa"
IMAGE = "nvcr.io/nvidia/pytorch:26.03-py3"
TESTS = [
    GateTest(test="inside", operation="all_reduce", nodes=1, bytes=8 << 30, warn=440.0, fail=420.0),
    GateTest(test="between", operation="all_reduce", nodes=2, bytes=8 << 30, warn=400.0, fail=400.0),
]
RAILS = GatePairs(program="ib_write_bw", warn=385.0, fail=360.0, latency_us=4.2, rounds=3, seconds=36)
ENV = {"FI_PROVIDER": "efa", "NCCL_NET_PLUGIN": "ofi"}


@dataclass
class Told:
    """What the API server was told."""

    address: str
    patches: dict[str, Any] = field(default_factory=dict)
    refuses: str = ""
    conflicts: int = 0
    taints: list[dict[str, str]] = field(default_factory=list)


@pytest.fixture
def api() -> Iterator[Told]:
    told = Told("")

    def answer(asked: Asked) -> Said:
        if asked.method == "GET":
            version = str(told.conflicts)
            return Said({"metadata": {"resourceVersion": version}, "spec": {"taints": told.taints}})
        told.patches[asked.path] = (asked.headers["Content-Type"], asked.headers["Authorization"], asked.content)
        if told.conflicts and asked.path.startswith("/api/v1/nodes/"):
            told.conflicts -= 1
            return Said({"message": "the object has been modified"}, 409)
        return Said({"message": told.refuses}, 403 if told.refuses else 200)

    with answering(answer) as where:
        told.address = f"http://{where}"
        yield told


Measured = Callable[..., dict[str, Any]]


@pytest.fixture
def measured(tmp_path: Path) -> Measured:
    """A measurement of a node of eight GPUs beside another one that is well, after these failures."""

    def measure(*kinds: str, image: str = IMAGE, efa: int = 32, **plan: Any) -> dict[str, Any]:
        node = Node(tmp_path)
        pod = node.pod("gate-0", **{GPU: "8", EFA: str(efa)})
        wanted = {"provider": "efa", "devices": 32, "tests": TESTS, **plan}
        if wanted["provider"] == "IB":
            wanted["pairs"] = RAILS
        args = gate_args(shape=replace(gate_args().shape, gpus=8), **wanted)
        asked = demanded(args)
        pod["spec"]["volumes"] = [{"name": "plan", "configMap": {"name": "plan"}}]
        pod["metadata"]["labels"] = {"batch.kubernetes.io/job-name": "gate"}
        node.objects["configmaps", "plan"] = {"data": {"plan.json": json.dumps(asked)}}
        limits = {"limits": {GPU: "8", EFA: str(efa)}}
        launch = node.launch(pod, spec={"name": "gate", "image": image, "resources": limits}, env=ENV)
        for kind in kinds:
            node.fail(kind, 0.0)
        tools = played._tools(launch)

        def run(*words: str, seconds: float = 0) -> str:
            env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, check=False)
            return done.stdout.decode()

        out = tmp_path / "out"
        out.mkdir(exist_ok=True)
        alone = gate.alone(asked, out, run, tools / SYSTEM)
        others = (
            gate.between(asked, out, (), run, tools / SYSTEM) if all(each.state != "fail" for each in alone) else []
        )
        return {each.test: each for each in (*alone, *others)}

    return measure


def failed(found: Mapping[str, Any]) -> dict[str, str]:
    return {name: each.why for name, each in found.items() if each.state != "pass"}


def test_a_node_that_works_passes_every_line(measured: Measured) -> None:
    found = measured(links=18)
    assert failed(found) == {}
    assert list(found) == ["fabric manager", "storage", "NVLink", "clocks", "network provider", "inside", "between"]
    assert found["NVLink"].why == "8 GPUs have 18 links each"
    assert found["network provider"].why == "all 8 ranks use efa by 32 devices"


def test_a_node_that_has_no_other_is_measured_with_its_own_gpus_d04(measured: Measured) -> None:
    """No line of a network: the image of a run in one node need not have its libraries. A slow GPU fails it as ever."""
    one = {"provider": None, "devices": None, "pairs": None, "tests": TESTS[:1], "copies": COPIES}
    found = measured(links=18, image="pytorch/pytorch:2.9", efa=0, **one)
    assert failed(found) == {}
    lines = ["fabric manager", "storage", "NVLink", "clocks", "copies with host", "copies with peers", "inside"]
    assert list(found) == lines
    assert list(failed(measured("gpu-slow", links=18, **one))) == ["clocks"]


def test_a_node_that_trains_as_planned_passes_and_a_slow_one_is_warned_of_o08(measured: Measured) -> None:
    """The real script reads what the trainer prints; the clock's own line fails the slow node."""
    asked = GateBenchmark(model="llama-3-8b", words=["--model=llama-3-8b"], tokens_per_s=50_000)
    found = measured(benchmark=asked)
    assert failed(found) == {}
    assert found["training"].why == "45000 tokens/s of llama-3-8b; the plan expects 50000"
    slow = measured("gpu-slow", benchmark=asked)
    assert (slow["training"].state, slow["clocks"].state) == ("warn", "fail")


COPIES = {"host": 48.0, "peer": 335.0}
"""The plan's lines of an H100."""


def test_copies_of_each_gpu_are_two_lines_c07(measured: Measured) -> None:
    found = measured(copies=COPIES)
    assert failed(found) == {}
    assert found["copies with host"].why == "55.3 GB/s or more; 48 is the least"
    assert found["copies with peers"].why == "396 GB/s or more; 335 is the least"
    assert failed(measured("gpu-unavailable", copies=COPIES)) == {"clocks": "7 GPUs answer, not 8"}


def test_a_gpu_whose_packets_are_sent_again_fails_its_copies_and_no_other_line(measured: Measured) -> None:
    assert failed(measured("pcie", copies=COPIES)) == {
        "copies with host": "host to GPU 0 (slot 0000:1a:00.0) 27.65, GPU 0 (slot 0000:1a:00.0) to host 27.65 GB/s; "
        "48 is the least"
    }
    assert failed(measured("pcie")) == {}, "where nobody published a line nothing is measured"


def test_links_that_are_fewer_than_the_model_has_fail_their_own_line(measured: Measured) -> None:
    """D01, U14."""
    (found,) = failed(measured(links=19)).items()
    assert found == (
        "NVLink",
        "links are down: "
        + ", ".join(f"GPU {each} (slot 0000:{0x1A + each:02x}:00.0) has 18 of 19" for each in range(8)),
    )


@pytest.mark.parametrize(
    ("kind", "line", "words"),
    [
        ("gpu-slow", "clocks", "GPU 0 (slot 0000:1a:00.0) at 990 of 1980 MHz"),
        ("ib-link", "network provider", "found 31 devices, not 32"),
        (
            "fabric-manager",
            "fabric manager",
            "GPU 0 (slot 0000:1a:00.0) In Progress, GPU 1 (slot 0000:1b:00.0) In Progress",
        ),
        ("nvlink", "inside", "240.75 GB/s at 8589934592 bytes"),
        ("filesystem-mount", "storage", "dd ended early: 'dd: failed to open: Connection timed out'"),
        ("gpu-unavailable", "clocks", "7 GPUs answer, not 8"),
    ],
)
def test_a_failure_fails_its_own_line_and_no_other(measured: Measured, kind: str, line: str, words: str) -> None:
    found = failed(measured(kind))
    assert list(found) == [line]
    assert words in found[line]


def test_missing_efa_interfaces_and_an_image_without_the_plugin_fail_the_provider_lf04(measured: Measured) -> None:
    assert failed(measured(efa=31)) == {"network provider": "ranks 0, 1, 2, 3, 4, 5, 6, 7 found 31 devices, not 32"}
    assert failed(measured(image="pytorch/pytorch:2.9")) == {
        "network provider": "ranks 0, 1, 2, 3, 4, 5, 6, 7 use Socket, not efa"
    }


def test_a_dead_rail_of_infiniband_fails_the_line_of_its_ports(measured: Measured) -> None:
    whole = measured(provider="IB", devices=8)
    assert (whole[verdicts.PORTS].state, whole[verdicts.PORTS].why) == ("pass", "8 ports are active at 400 Gb/s")
    assert whole["rails"].state == "pass"
    assert whole["rails"].why.startswith("8 rails reach 392 Gb/s or more with each of 3 nodes; 385 is right")
    found = failed(measured("ib-link", provider="IB", devices=8))
    assert found == {verdicts.PORTS: "7 ports are active, not 8: mlx5_0 port 1 is DOWN"}, "NCCL is not blamed for it"


def test_what_is_kept_of_a_large_pool_fits_one_config_map(measured: Measured) -> None:
    """1 MiB, as the API server takes it (kubernetes, pkg/apis/core/validation: MaxSecretSize, of a ConfigMap too)."""
    asked = GateBenchmark(model="llama-3-8b", words=["--model=llama-3-8b"], tokens_per_s=50_000)
    lines = list(measured("pcie", links=18, copies=COPIES, benchmark=asked).values())
    at = datetime(2026, 11, 28, tzinfo=UTC)
    kept = gate.record({"digest": "ab12cd34"}, lines, "580.105.08", at)
    assert any(each["state"] != "pass" for each in kept["lines"])
    name = len("ip-10-64-128-251.us-east-2.compute.internal")
    whole, short = (name + len(json.dumps(each, separators=(",", ":"))) for each in (kept, gate.brief(kept)))
    assert KEPT_WHOLE * whole < 1 << 20
    assert 4 * KEPT_WHOLE * short < 1 << 20
    assert gate.brief(kept)["state"] == kept["state"]
    assert [each["state"] for each in gate.brief(kept)["lines"]] == [
        each.state for each in lines if each.state != "pass"
    ]
    for nodes in (KEPT_WHOLE, KEPT_WHOLE + 1):
        words = container(gate_args(nodes=nodes), "gate-big")["args"]
        assert ("--brief" in words) == (nodes > KEPT_WHOLE)


def test_the_log_begins_with_how_the_nodes_parts_are_joined() -> None:
    """P22: the numbers stand beside the topology that they were measured on."""
    lines = [{"test": "clocks", "state": "pass", "why": "8 GPUs at 1980 MHz or more"}]
    asked: list[tuple[str, ...]] = []

    def run(*words: str, seconds: float = 0) -> str:
        asked.append(words)
        return "\tGPU0\tGPU1\nGPU0\t X \tNV18\n"

    said = gate.log("node-1", {"state": "pass", "lines": lines}, run)
    assert asked == [("nvidia-smi", "topo", "-m")]
    assert said == "\tGPU0\tGPU1\nGPU0\t X \tNV18\npass: clocks: 8 GPUs at 1980 MHz or more\nnode node-1: pass"


def test_what_is_told_of_a_node_is_its_labels_and_a_taint_where_it_failed(api: Told) -> None:
    server, api.conflicts = publish.Api(api.address, "token", "training", None), 2
    api.taints = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    kept = {"state": "fail", "tests": "ab12", "driver": "580.105.08", "at": "2026-11-23T09.00Z", "lines": []}
    publish.tell(server, "node-1", "gate-big-verdicts", kept)
    kind, token, patch = api.patches["/api/v1/nodes/node-1"]
    assert (kind, token) == ("application/merge-patch+json", "Bearer token")
    assert patch["metadata"]["labels"] == {
        "gpucluster/gate": "fail",
        "gpucluster/gate-tests": "ab12",
        "gpucluster/gate-driver": "580.105.08",
        "gpucluster/gate-at": "2026-11-23T09.00Z",
    }
    assert patch["metadata"]["resourceVersion"] == "0"
    failed = {"key": "gpucluster/gate", "value": "fail", "effect": "NoSchedule"}
    assert patch["spec"]["taints"] == [*api.taints, failed]
    _, _, held = api.patches["/api/v1/namespaces/training/configmaps/gate-big-verdicts"]
    assert json.loads(held["data"]["node-1"])["state"] == "fail"
    node = {"metadata": {"resourceVersion": "7"}, "spec": {"taints": [*api.taints, failed]}}
    assert publish.node_patch(node, {**kept, "state": "pass"})["spec"]["taints"] == api.taints


def test_a_refusal_is_told_in_the_servers_words(api: Told) -> None:
    api.refuses = "a gate changes the node that its pod runs on"
    with pytest.raises(OSError, match="/api/v1/nodes/other: a gate changes the node"):
        publish.Api(api.address, "token", "training", None).patch("/api/v1/nodes/other", {})


def test_the_pods_files_are_all_that_the_script_imports(tmp_path: Path) -> None:
    """Beside nothing but Python itself: PyTorch is asked for by the tool that measures alone."""
    for name, text in gate_files().items():
        (tmp_path / name).write_text(text)
    words = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import gate, measure"]
    subprocess.run(words, check=True)


@pytest.mark.parametrize("value", ["580.105.08", "a b", "-x-", "y" * 80, ""])
def test_labels_have_values_that_kubernetes_takes(value: str) -> None:
    shown = publish.label(value)
    assert len(shown) <= 63
    assert not shown or (shown[0].isalnum() and shown[-1].isalnum())


def test_the_shared_file_system_gives_a_node_most_of_what_is_planned() -> None:
    """Half of it is the least that passes (node/gates/verdicts.py); where nobody knows a rate, one is assumed."""
    assert played._disk({"storage": {"write_gb_per_s": 2.34375, "read_gb_per_s": None}}) == 2011
    assert played._disk({"storage": {"write_gb_per_s": None, "read_gb_per_s": None}}) == played.DISK_MIB_PER_SECOND
    assert played._disk({}) == played.DISK_MIB_PER_SECOND
