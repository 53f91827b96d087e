"""What simulated exporters of sixteen nodes export against what the plan counts: where they have a part of it whole.

That is processors, EFA, GPUs and model servers; of a node's other numbers and of the kubelet they tell what rules and
dashboards read, but for NOT_SIMULATED.
"""

import itertools
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from components.aws.efa_counters import SCRIPT
from monitoring.counters import dcgm_csv
from planner.monitoring.series import Fleet, exporters
from rehearsal.devices import dcgm
from rehearsal.devices.dcgm_exporter import Exporter
from rehearsal.eks import nodeserver
from rehearsal.images import node_exporter
from rehearsal.kubelet.program import Mount
from rehearsal.tests.inside.simulated import GPU, Node, samples
from rehearsed import efa_counters
from rehearsed.vllm_load import Replica, asked
from tests.monitoring.dashboards.exported import READ_BY_PANELS
from tests.monitoring.exported import EXPORTERS

NODES, CPUS, CARDS, GPUS = 16, 192, 32, 8
"""p5.48xlarge."""
MOUNTS = (Mount("/t", "pod:exporter:textfiles", name="textfiles"),)
FLAGS = ("--no-collector.cpu.guest", "--collector.systemd", "--collector.textfile.directory=/t")
IMAGE = "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless"
BARE = Fleet(
    nodes=NODES,
    gpu_nodes=NODES,
    gpus=0,
    processors=0,
    disks=0,
    ports=0,
    efa=0,
    pods=0,
    containers=0,
    replicas=0,
    queues=0,
)


def counted(exporter: str, **parts: int) -> int:
    """How many series more the plan counts of an exporter with so many of a part."""
    with_them, without = (
        sum(each.series for each in exporters(seen, 30) if each.name == exporter)
        for seen in (replace(BARE, **parts), BARE)
    )
    return with_them - without


def machine(directory: Path, kind: str = "p5.48xlarge") -> Node:
    """A node whose EFA cards were counted once."""
    node = Node(directory, kind, efa_interfaces=CARDS)
    words = ("sh", "-c", f"while :; do {{ {SCRIPT}; }} > /t/efa.new && mv /t/efa.new /t/efa.prom; done")
    efa_counters.run(node.launch(args=words, mounts=MOUNTS))
    (write,) = node.work.values()
    write()
    return node


def host(node: Node) -> str:
    return node_exporter.Exporter(node.launch(mounts=MOUNTS), node_exporter.flags_of(FLAGS)).page()


def gpus(node: Node) -> Exporter:
    return Exporter(node.launch(spec={"name": "e", "image": IMAGE}), dcgm.counters(dcgm_csv()))


def server(directory: Path) -> str:
    node = Node(directory, "g6e.xlarge")
    launch = node.launch(node.pod("chat-0", **{GPU: "1"}), spec={"name": "main", "image": "i:1"})
    return Replica(launch, asked(["vllm", "serve", "/m"], "/m", 1), 16e9, 0.0).page()


def of_node(directory: Path) -> dict[str, int]:
    """Series of one node's pages by the beginnings of their names."""
    node = machine(directory)
    node.hold("run-0", GPUS)
    names = {name: len(found) for page in (host(node), gpus(node).page()) for name, found in samples(page).items()}
    begin = ("node_cpu_", "node_infiniband_", "node_amazonefa_", "DCGM_")
    return {start: sum(many for name, many in names.items() if name.startswith(start)) for start in begin}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    pages = [of_node(tmp_path_factory.mktemp(f"node-{number}")) for number in range(NODES)]
    return {start: sum(each[start] for each in pages) for start in pages[0]}


def test_processors_and_cards_of_sixteen_nodes_export_what_the_plan_counts_x10(exported: dict[str, int]) -> None:
    assert exported["node_cpu_"] == counted("node-exporter", processors=NODES * CPUS)
    cards = exported["node_infiniband_"] + exported["node_amazonefa_"]
    assert cards == counted("node-exporter", efa=NODES * CARDS)


def test_gpus_of_sixteen_nodes_export_what_the_plan_counts_but_for_reasons_that_were_not_seen_x10(
    exported: dict[str, int],
) -> None:
    """The plan counts each of eight reasons of a clock event; a GPU tells those of its last minutes."""
    gpus = NODES * GPUS
    assert exported["DCGM_"] == counted("dcgm-exporter", gpus=gpus) - 8 * gpus


def test_model_servers_export_what_the_plan_counts_but_for_what_the_simulated_does_not_have_x10(tmp_path: Path) -> None:
    """A second path that was asked for, samples of an engine step, one more reason, adapters, and the process."""
    page = server(tmp_path)
    path, steps, reason, adapters, process = 15, 17, 2, 1, 16
    told = sum(map(len, samples(page).values()))
    assert NODES * (told + path + steps + reason + adapters + process) == counted("vllm", replicas=NODES)


NOT_SIMULATED = {
    "node_disk_": "a simulated machine's disks have sizes and no statistics",
    "node_pressure_": "nothing waits for them",
    "node_hwmon_": "nor has it sensors of its board",
    "node_infiniband_": "its cards are EFA, which tells a state by this collector and counters by its own script",
}
"""Beginnings of names that rules or panels read and no simulated exporter tells, and why."""


def kubelet(node: Node) -> Iterator[str]:
    """Names of what a kubelet tells of a pod with a block volume."""
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    pod = node.pod("stored-0")
    pod["spec"]["volumes"] = [volume]
    csi = {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}
    node.objects["claims", "data"] = {"spec": {"volumeName": "pv"}}
    node.objects["volumes", "pv"] = {
        "metadata": {"name": "pv"},
        "spec": {"csi": csi, "capacity": {"storage": "10Gi"}},
    }
    yield from (name for name, *_ in nodeserver.own(node.world, node.host.node))
    yield from (name for name, *_ in nodeserver.containers(node.pods))


def test_rules_and_panels_read_what_is_simulated_but_for_what_the_page_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """U02, X03, X06: an alert on a name that no rehearsal has was never seen to fire."""
    monkeypatch.setattr(time, "time", itertools.count(1.8e9, 15).__next__)
    node = machine(tmp_path / "metal", "m5.metal")
    cards = machine(tmp_path / "gpus")
    exporter = gpus(cards)
    pages = [host(cards), exporter.page(), exporter.page(), host(node), server(tmp_path / "server")]
    told = {name for page in pages for name in samples(page)} | set(kubelet(cards))
    played = {"dcgm-exporter", "node_exporter", "EFA", "vllm", "kubelet"}
    lists = [each for each in (*EXPORTERS, *READ_BY_PANELS) if each.name in played]
    assert {each.name for each in lists} == played
    untold = {name for each in lists for name in each.series()} - told
    assert {name for name in untold if not name.startswith(tuple(NOT_SIMULATED))} == set()
    assert all(any(name.startswith(begin) for name in untold) for begin in NOT_SIMULATED)
