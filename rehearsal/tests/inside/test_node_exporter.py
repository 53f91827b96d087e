"""node_exporter's page: what a node has, which collectors its flags leave on, and what failures change."""

import re
import time
from pathlib import Path
from typing import Any

import pytest

from rehearsal.images import node_exporter, nodenetwork
from rehearsal.images.nodemetrics import NodeNow, Port
from rehearsal.kubelet.exposition import text
from rehearsal.kubelet.orders import Fault
from rehearsal.kubelet.program import Mount
from rehearsal.tests.inside.simulated import Node, one, samples
from rehearsal.tests.vendors import listed_metrics

CHART = r"--collector.filesystem.mount-points-exclude=^/(dev|proc|sys|run/containerd/.+|var/lib/kubelet/.+)($|/)"
SYSTEMD = ("--collector.systemd", r"--collector.systemd.unit-include=^(kubelet|containerd)\.service$")


def page(node: Node, *flags: str, **more: Any) -> str:
    argv = ["--web.listen-address=[10.0.0.5]:9100", *flags]
    return node_exporter.Exporter(node.launch(**more), node_exporter.flags_of(argv)).page()


def with_lustre(node: Node) -> None:
    pod = node.pod("trainer-0")
    pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    node.objects["claims", "data"] = {"spec": {"volumeName": "pv"}}
    csi = {"driver": "fsx.csi.aws.com", "volumeHandle": "fs-1", "volumeAttributes": {"dnsname": "d", "mountname": "m"}}
    node.objects["volumes", "pv"] = {
        "metadata": {"name": "pv"},
        "spec": {"csi": csi, "capacity": {"storage": "1200Gi"}},
    }


def test_a_node_shows_its_cpus_memory_and_devices(tmp_path: Path) -> None:
    node = Node(tmp_path, "p5.48xlarge", efa_interfaces=32)
    found = samples(page(node))
    assert (len(found["node_cpu_seconds_total"]), len(found["node_cpu_guest_seconds_total"])) == (192 * 8, 192 * 2)
    assert "node_cpu_guest_seconds_total" not in samples(page(node, "--no-collector.cpu.guest"))
    assert found["node_memory_MemTotal_bytes"][0][1] == pytest.approx(2048 * 2**30, rel=0.03)
    assert len(found["node_infiniband_info"]) == 32
    assert {value for _, value in found["node_infiniband_state_id"]} == {4}
    (pods,) = {each["device"] for each, _ in found["node_network_up"]} - {"lo", "ens5", "ens6"}
    assert re.fullmatch("eni[0-9a-f]{11}", pods)
    assert found["node_uname_info"][0][0]["nodename"] == node.host.node
    assert found["node_time_seconds"][0][1] == pytest.approx(time.time(), abs=5)
    assert "node_edac_correctable_errors_total" not in found


def test_a_node_without_efa_has_no_fabric_and_one_of_metal_sees_its_memory_controllers(tmp_path: Path) -> None:
    assert "node_infiniband_info" not in page(Node(tmp_path / "a", "m7i.xlarge", efa_interfaces=0))
    metal = samples(page(Node(tmp_path / "b", "g4dn.metal", efa_interfaces=1)))
    assert [each["controller"] for each, _ in metal["node_edac_uncorrectable_errors_total"]] == ["0", "1"]


def test_flags_leave_collectors_out_and_bring_systemd_in(tmp_path: Path) -> None:
    node = Node(tmp_path)
    assert "node_systemd_unit_state" not in page(node)
    assert "node_cpu_seconds_total" not in page(node, "--no-collector.cpu")
    alone = samples(page(node, "--collector.disable-defaults", "--collector.meminfo"))
    assert not [name for name in alone if not name.startswith(("node_memory", "node_exporter", "node_scrape"))]
    units = samples(page(node, *SYSTEMD))["node_systemd_unit_state"]
    assert {each["name"] for each, _ in units} == {"kubelet.service", "containerd.service"}
    assert {(each["state"], value) for each, value in units if value} == {("active", 1.0)}
    assert node_exporter.port(["--web.listen-address=[10.0.0.5]:9200"]) == 9200


def test_claims_are_shown_where_the_flags_let_them(tmp_path: Path) -> None:
    node = Node(tmp_path)
    with_lustre(node)
    shown = samples(page(node))["node_filesystem_size_bytes"]
    assert {(each["fstype"], value) for each, value in shown if each["mountpoint"] != "/"} == {("lustre", 1200 * 2**30)}
    assert [each["mountpoint"] for each, _ in samples(page(node, CHART))["node_filesystem_size_bytes"]] == ["/"]


def test_a_network_mount_hangs_and_tells_no_size_any_more(tmp_path: Path) -> None:
    node = Node(tmp_path)
    with_lustre(node)
    node.fail("filesystem-mount", 1.0)
    broken = page(node)
    assert one(broken, "node_filesystem_device_error", fstype="lustre", device_error="mountpoint timeout") == 1
    assert one(broken, "node_filesystem_readonly", mountpoint="/") == 0
    assert [each["mountpoint"] for each, _ in samples(broken)["node_filesystem_size_bytes"]] == ["/"]
    node.heal(2.0)
    assert one(page(node), "node_filesystem_device_error", fstype="lustre") == 0


def test_without_a_network_mount_the_root_is_read_only(tmp_path: Path) -> None:
    node = Node(tmp_path)
    assert one(page(node), "node_filesystem_readonly", mountpoint="/") == 0
    node.fail("filesystem-mount", 1.0)
    assert one(page(node), "node_filesystem_readonly", mountpoint="/") == 1


def test_an_efa_device_that_fails_is_gone_and_an_infiniband_port_is_down(tmp_path: Path) -> None:
    node = Node(tmp_path, efa_interfaces=2)
    node.fail("ib-link", 1.0, target=node_exporter.efa_name(2, 1))
    assert [each["device"] for each, _ in samples(page(node))["node_infiniband_info"]] == [node_exporter.efa_name(2, 0)]
    card = NodeNow(
        *("n", "x86_64", "6", 1, 0.0, 1.0, 0.0, 1.0, 0.0, 9.0, 0.0),
        ports=[Port("mlx5_0", False, 5e10), Port("mlx5_1", False, 5e10)],
        faults=[Fault("n", "ib-link", 1.0, target="mlx5_1")],
    )
    down = text(nodenetwork.infiniband(card))
    assert [one(down, "node_infiniband_state_id", device=f"mlx5_{i}") for i in range(2)] == [4, 1]
    assert [one(down, "node_infiniband_physical_state_id", device=f"mlx5_{i}") for i in range(2)] == [5, 2]
    assert [one(down, "node_infiniband_link_downed_total", device=f"mlx5_{i}") for i in range(2)] == [0, 1]


def test_memory_ethernet_and_services_fail_where_they_are_shown(tmp_path: Path) -> None:
    node = Node(tmp_path)
    before = page(node, *SYSTEMD)
    assert one(before, "node_memory_HardwareCorrupted_bytes") == one(before, "node_vmstat_oom_kill") == 0
    for kind in ("main-memory", "oom", "system-services"):
        node.fail(kind, 1.0)
    node.fail("ethernet-link", 1.0, target="ens6")
    after = page(node, *SYSTEMD)
    assert one(after, "node_memory_HardwareCorrupted_bytes") == 4096
    assert one(after, "node_vmstat_oom_kill") == 1
    assert one(after, "node_systemd_unit_state", name="containerd.service", state="failed") == 1
    assert one(after, "node_systemd_unit_state", name="kubelet.service", state="active") == 1
    assert [one(after, "node_network_up", device=each) for each in ("ens5", "ens6")] == [1, 0]
    assert one(after, "node_network_carrier_down_changes_total", device="ens6") == 1
    node.heal(2.0)
    healed = page(node, *SYSTEMD)
    assert one(healed, "node_network_up", device="ens6") == 1
    assert one(healed, "node_network_carrier_changes_total", device="ens6") == 2
    assert one(healed, "node_memory_HardwareCorrupted_bytes") == 0, "a kernel that starts anew knows no bad page"


def test_text_files_of_the_directory_are_added(tmp_path: Path) -> None:
    node = Node(tmp_path)
    file = tmp_path / "efa.prom"
    file.write_text('node_amazonefa_rx_bytes{device="rdmap0s31",port="1"} 5\n')
    node.world.contents.bring("pod:exporter:textfiles", "efa.prom", file)
    node.world.contents.bring("pod:exporter:textfiles", "efa.prom.new", file)
    mounts = (Mount("/run/prometheus", "pod:exporter:textfiles", name="textfiles"),)
    flag = "--collector.textfile.directory=/run/prometheus"
    assert one(page(node, flag, mounts=mounts), "node_amazonefa_rx_bytes") == 5
    assert "amazonefa" not in page(node, mounts=mounts)


def test_fabric_names_are_those_of_the_collector(tmp_path: Path) -> None:
    """Against the names in the vendors' data, where that is at hand: those of the infiniband collector."""
    vendor = listed_metrics()
    card = NodeNow(*("n", "x86_64", "6", 1, 0.0, 1.0, 0.0, 1.0, 0.0, 9.0, 0.0), ports=[Port("mlx5_0", False, 5e10)])
    exported = {*samples(page(Node(tmp_path))), *samples(text(nodenetwork.infiniband(card)))}
    assert {name for name in exported if name.startswith("node_infiniband")} <= set(vendor)
