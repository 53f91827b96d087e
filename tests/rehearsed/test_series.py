"""What simulated exporters of sixteen nodes export against what the plan counts: where they have a part of it whole.

That is processors, EFA, GPUs and model servers; of a node's other numbers and of the kubelet they tell what rules and
dashboards read.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from components.aws.efa_counters import SCRIPT
from monitoring.counters import dcgm_csv
from planner.monitoring.series import Fleet, exporters
from rehearsal.devices import dcgm
from rehearsal.devices.dcgm_exporter import Exporter
from rehearsal.images import node_exporter
from rehearsal.kubelet.program import Mount
from rehearsal.tests.inside.simulated import GPU, Node, samples
from rehearsed import efa_counters
from rehearsed.vllm_load import Replica, asked

NODES, CPUS, CARDS, GPUS = 16, 192, 32, 8
"""p5.48xlarge."""
MOUNTS = (Mount("/t", "pod:exporter:textfiles", name="textfiles"),)
FLAGS = ("--no-collector.cpu.guest", "--collector.textfile.directory=/t")
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


def of_node(directory: Path) -> dict[str, int]:
    """Series of one node's pages by the beginnings of their names."""
    node = Node(directory, "p5.48xlarge", efa_interfaces=CARDS)
    words = ("sh", "-c", f"while :; do {{ {SCRIPT}; }} > /t/efa.new && mv /t/efa.new /t/efa.prom; done")
    efa_counters.run(node.launch(args=words, mounts=MOUNTS))
    (write,) = node.work.values()
    write()
    host = node_exporter.Exporter(node.launch(mounts=MOUNTS), node_exporter.flags_of(FLAGS)).page()
    spec = {"name": "e", "image": IMAGE}
    node.hold("run-0", GPUS)
    gpus = Exporter(node.launch(spec=spec), dcgm.counters(dcgm_csv())).page()
    names = {name: len(found) for page in (host, gpus) for name, found in samples(page).items()}
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
    node = Node(tmp_path, "g6e.xlarge")
    launch = node.launch(node.pod("chat-0", **{GPU: "1"}), spec={"name": "main", "image": "i:1"})
    page = Replica(launch, asked(["vllm", "serve", "/m"], "/m", 1), 16e9, 0.0).page()
    path, steps, reason, adapters, process = 15, 17, 2, 1, 16
    told = sum(map(len, samples(page).values()))
    assert NODES * (told + path + steps + reason + adapters + process) == counted("vllm", replicas=NODES)
