"""EFA's counters beside the node exporter: what its script names, for devices that carry what GPUs compute."""

import time
from pathlib import Path

import pytest

from rehearsal.images import node_exporter
from rehearsal.kubelet.program import Mount, Program
from rehearsal.tests.inside.simulated import Node, one, samples
from rehearsed import efa_counters

SCRIPT = """while :; do { printf 'node_amazonefa_%s{device="%s",port="%s"} %s\\n' x; } > /t/efa.prom.new &&
mv /t/efa.prom.new /t/efa.prom; sleep 15; done"""
MOUNTS = (Mount("/t", "pod:exporter:textfiles", name="textfiles"),)


def written(node: Node) -> str:
    (write,) = node.work.values()
    write()
    flags = {"--collector.textfile.directory": "/t", "--collector.disable-defaults": "", "--collector.textfile": ""}
    return node_exporter.Exporter(node.launch(mounts=MOUNTS), flags).page()


def test_devices_carry_a_share_of_their_rate_while_gpus_compute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    node = Node(tmp_path, efa_interfaces=2)
    efa_counters.run(node.launch(args=("sh", "-c", SCRIPT), mounts=MOUNTS))
    clock[0] += 10
    assert {value for _, value in samples(written(node))["node_amazonefa_tx_bytes"]} == {0}
    node.hold("run-0", 8)
    clock[0] += 10
    busy = written(node)
    rate = efa_counters.SHARE * node_exporter.EFA_BYTES_PER_SECOND
    assert one(busy, "node_amazonefa_tx_bytes", device=node_exporter.efa_name(2, 1)) == rate * 10
    assert one(busy, "node_amazonefa_rx_drops", device=node_exporter.efa_name(2, 0)) == 0
    node.fail("ib-link", clock[0], target=node_exporter.efa_name(2, 1))
    assert len(samples(written(node))["node_amazonefa_tx_bytes"]) == 1


def test_a_script_of_another_kind_does_nothing(tmp_path: Path) -> None:
    node = Node(tmp_path)
    assert type(efa_counters.run(node.launch(args=("sh", "-c", "sleep 1")))) is Program
    assert not node.work
