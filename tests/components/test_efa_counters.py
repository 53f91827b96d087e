"""The shell that reads EFA's counters, run on a tree like the kernel's (X04)."""

import subprocess
from pathlib import Path

from components.aws.efa_counters import SCRIPT, efa_counters
from components.aws.node_scripts import LNET_FILES
from components.monitoring.counters import HOST_FILES, TEXTFILES, host_files, sidecar


def device(root: Path, name: str, driver: str, **counters: int) -> None:
    """A device below /sys/class/infiniband, with a link to its driver and one port."""
    place = root / name
    (root.parent / "drivers" / driver).mkdir(parents=True, exist_ok=True)
    (place / "ports" / "1" / "hw_counters").mkdir(parents=True)
    (place / "device").mkdir()
    (place / "device" / "driver").symlink_to(root.parent / "drivers" / driver)
    for counter, value in counters.items():
        (place / "ports" / "1" / "hw_counters" / counter).write_text(f"{value}\n")


def printed(root: Path) -> list[str]:
    script = SCRIPT.replace("/sys/class/infiniband", str(root))
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_efa_is_counted_by_device_and_port(tmp_path: Path) -> None:
    root = tmp_path / "infiniband"
    device(root, "rdmap0s31", "efa", rx_drops=3, rdma_read_bytes=2**40)
    device(root, "rdmap1s31", "efa", rx_drops=0)
    assert printed(root) == [
        f'node_amazonefa_rdma_read_bytes{{device="rdmap0s31",port="1"}} {2**40}',
        'node_amazonefa_rx_drops{device="rdmap0s31",port="1"} 3',
        'node_amazonefa_rx_drops{device="rdmap1s31",port="1"} 0',
    ]


def test_what_the_node_exporter_reads_itself_is_left_to_it(tmp_path: Path) -> None:
    device(tmp_path / "infiniband", "mlx5_0", "mlx5_core", rx_write_requests=9)
    assert printed(tmp_path / "infiniband") == []


def test_a_node_without_cards_prints_nothing(tmp_path: Path) -> None:
    assert printed(tmp_path / "nothing") == []


def test_the_exporter_never_sees_half_a_file() -> None:
    made = sidecar(efa_counters("shell:1"), 45, {"cpu": "5m", "memory": "16Mi"})
    assert made["image"] == "shell:1"
    loop = made["command"][2]
    assert f"> {TEXTFILES}/efa.prom.new && mv {TEXTFILES}/efa.prom.new {TEXTFILES}/efa.prom; sleep 45" in loop
    assert subprocess.run(["sh", "-n", "-c", loop], check=False).returncode == 0


def test_what_lnet_carries_goes_with_them_where_the_file_system_speaks_efa(tmp_path: Path) -> None:
    """G05: as the node's own unit has told it, and nothing where it has told nothing yet."""
    counters = efa_counters("shell:1", lustre=True)
    (mount,) = host_files(counters)
    assert (mount["hostPath"], mount["mountPath"], mount["readOnly"]) == (LNET_FILES, HOST_FILES, True)
    loop = sidecar(counters, 45, {"cpu": "5m", "memory": "16Mi"})["command"][2]
    once = (
        loop.replace(TEXTFILES, str(tmp_path)).replace(HOST_FILES, str(tmp_path / "host")).replace("sleep 45", "exit")
    )
    assert subprocess.run(["sh", "-c", once], check=False).returncode == 0
    assert (tmp_path / "efa.prom").read_text() == ""
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "lnet.prom").write_text("node_lnet_interfaces_up 8\n")
    assert subprocess.run(["sh", "-c", once], check=False).returncode == 0
    assert (tmp_path / "efa.prom").read_text() == "node_lnet_interfaces_up 8\n"
    assert host_files(efa_counters("shell:1")) == []
