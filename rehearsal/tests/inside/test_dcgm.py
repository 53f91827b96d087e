"""dcgm-exporter's page: its list of counters, labels of who holds a GPU, and what failures leave of it."""

import time
from pathlib import Path
from typing import Any

import pytest

from rehearsal.devices import boards, dcgm, dcgm_exporter, gpus, readings
from rehearsal.devices.boards import BOARDS
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.program import Ends, Exit, Mount
from rehearsal.tests.inside.simulated import Node, one, samples
from rehearsal.tests.vendors import listed_metrics

LIST = "/etc/dcgm-exporter/dcgm-metrics.csv"
EVERY = "".join(f"{name}, gauge, help\n" for name in [*readings.FIELDS, readings.XID, dcgm.XIDS, dcgm.CLOCK_EVENTS])
IMAGE = "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless"


def exporter(node: Node, text: str = EVERY, image: str = IMAGE) -> dcgm_exporter.Exporter:
    return dcgm_exporter.Exporter(node.launch(spec={"name": "e", "image": image}), dcgm.counters(text))


def mounting(node: Node, data: dict[str, str] | None) -> Any:
    """The exporter's container with a list of counters from a ConfigMap."""
    pod = node.pod("exporter")
    pod["spec"]["volumes"] = [{"name": "metrics-config", "configMap": {"name": "counters"}}]
    node.objects["configmaps", "counters"] = {"data": data or {}}
    mount = Mount(LIST, "pod:exporter:metrics-config", "dcgm-metrics.csv", name="metrics-config")
    return node.launch(pod, env={"DCGM_EXPORTER_COLLECTORS": LIST, "DCGM_EXPORTER_LISTEN": ":9400"}, mounts=(mount,))


def test_a_gpu_that_a_pod_works_with_is_busy_and_named_after_it(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.hold("run-0", 2)
    page = exporter(node).page()
    held = {"pod": "run-0", "namespace": "ns", "container": "main"}
    assert one(page, "DCGM_FI_DEV_GPU_UTIL", gpu="1", **held) == 100
    assert one(page, "DCGM_FI_DEV_POWER_USAGE", gpu="0") == 700 * boards.BUSY_SHARE
    assert one(page, "DCGM_FI_DEV_FB_USED", gpu="0") == int(0.9 * (81559 - readings.RESERVED_MIB))
    assert one(page, "DCGM_FI_PROF_NVLINK_TX_BYTES", gpu="0") > 0
    (idle,) = [labels for labels, _ in samples(page)["DCGM_FI_DEV_GPU_UTIL"] if labels["gpu"] == "2"]
    assert "pod" not in idle
    assert one(page, "DCGM_FI_DEV_POWER_USAGE", gpu="2") == 700 * boards.IDLE_SHARE
    assert one(page, "DCGM_FI_DEV_GPU_UTIL", gpu="2") == one(page, "DCGM_FI_DEV_FB_USED", gpu="2") == 0
    assert len(samples(page)["DCGM_FI_DEV_GPU_TEMP"]) == 8


def test_labels_are_those_of_the_exporter_and_the_nodes_name_changes_its_case(tmp_path: Path) -> None:
    node = Node(tmp_path, "p5.4xlarge")
    counters = "DCGM_FI_DEV_GPU_TEMP, gauge, t\nDCGM_FI_DRIVER_VERSION, label, v\n"
    ((labels, _),) = samples(exporter(node, counters).page())["DCGM_FI_DEV_GPU_TEMP"]
    assert list(labels) == [
        *("gpu", "UUID", "pci_bus_id", "device", "modelName", "Hostname", "DCGM_FI_DRIVER_VERSION"),
    ]
    assert (labels["Hostname"], labels["modelName"]) == (node.host.node, "NVIDIA H100 80GB HBM3")
    newer = IMAGE.replace("4.5.3-4.8.2", "4.6.0-4.8.3")
    assert "hostname" in samples(exporter(node, counters, newer).page())["DCGM_FI_DEV_GPU_TEMP"][0][0]
    assert dcgm.model("NVIDIA-A100-SXM4-80GB") == "NVIDIA A100-SXM4-80GB"


def test_a_gpu_that_fell_off_the_bus_has_its_xid_and_nothing_else(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.fail("gpu-unavailable", time.time(), gpu=3)
    page = exporter(node).page()
    assert one(page, "DCGM_FI_DEV_XID_ERRORS", gpu="3", err_code="79", err_msg="GPU has fallen off the bus") == 79
    assert one(page, "DCGM_FI_DEV_XID_ERRORS", gpu="2", err_code="0") == 0
    assert one(page, "DCGM_EXP_XID_ERRORS_COUNT", gpu="3", xid="79", window_size_in_ms="300000") == 1
    assert one(page, "DCGM_EXP_XID_ERRORS_COUNT", gpu="2") == 0
    others = [name for name, found in samples(page).items() if any(each["gpu"] == "3" for each, _ in found)]
    assert set(others) == {"DCGM_FI_DEV_XID_ERRORS", "DCGM_EXP_XID_ERRORS_COUNT", "DCGM_EXP_CLOCK_EVENTS_COUNT"}


def test_memory_errors_count_and_their_rows_are_remapped(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.fail("gpu-memory", time.time(), gpu=1)
    page = exporter(node).page()
    assert one(page, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", gpu="1") == 1
    assert one(page, "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", gpu="1") == 1
    assert one(page, "DCGM_FI_DEV_ROW_REMAP_PENDING", gpu="1") == 1
    assert one(page, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", gpu="0") == 0
    node.heal(time.time())
    healed = exporter(node).page()
    assert one(healed, "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", gpu="1") == 1
    assert one(healed, "DCGM_FI_DEV_ROW_REMAP_PENDING", gpu="1") == one(healed, "DCGM_FI_DEV_XID_ERRORS", gpu="1") == 0


def test_links_and_pcie_count_errors_as_long_as_they_fail(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.fail("nvlink", time.time() - 60, gpu=0)
    node.fail("pcie", time.time() - 60, gpu=1)
    page = exporter(node).page()
    assert one(page, "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", gpu="0") >= 300
    assert one(page, "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", gpu="0") == 1
    assert one(page, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", gpu="1") >= 60
    assert one(page, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", gpu="0") == 0


def test_a_board_has_only_the_fields_that_it_has(tmp_path: Path) -> None:
    """An L40S has no NVLink and no temperature of its memory; a T4 retires pages, and has no rows to remap."""
    small = samples(exporter(Node(tmp_path / "a", "g6e.xlarge")).page())
    assert not [name for name in small if "NVLINK" in name]
    assert [value for _, value in small["DCGM_FI_DEV_MEMORY_TEMP"]] == [0]
    old = samples(exporter(Node(tmp_path / "b", "g4dn.xlarge")).page())
    assert "DCGM_FI_DEV_RETIRED_DBE" in old
    assert "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS" not in old
    assert exporter(Node(tmp_path / "c", "m7i.xlarge")).page() == ""


def test_energy_is_power_over_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    node = Node(tmp_path)
    node.hold("run-0", 1)
    running = exporter(node)
    clock[0] += 10
    page = running.page()
    assert one(page, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", gpu="0") == pytest.approx(630 * 10 * 1000, rel=1e-6)
    assert one(page, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", gpu="1") == pytest.approx(70 * 10 * 1000, rel=1e-6)


def test_idle_samples_of_the_window_are_counted_and_leave_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    node = Node(tmp_path, "p5.4xlarge")
    running = exporter(node)
    for _ in range(40):
        page = running.page()
        clock[0] += 15
    assert one(page, "DCGM_EXP_CLOCK_EVENTS_COUNT", clock_event="gpu_idle") == pytest.approx(10, abs=1)
    node.hold("run-0", 1)
    clock[0] += 301
    assert "DCGM_EXP_CLOCK_EVENTS_COUNT" not in samples(running.page())


def test_slices_have_their_profile_and_number_and_no_utilisation(tmp_path: Path) -> None:
    node = Node(tmp_path, "p5.48xlarge")
    node.world.hosts.cut(node.host.node, "3g.40gb")
    node.hold("small-0", 3)
    page = exporter(node).page()
    power = samples(page)["DCGM_FI_DEV_POWER_USAGE"]
    assert len(power) == 16
    assert [(each["gpu"], each["GPU_I_ID"]) for each, _ in power if "pod" in each] == [
        ("0", "1"),
        ("0", "2"),
        ("1", "1"),
    ]
    assert {each["GPU_I_PROFILE"] for each, _ in power} == {"3g.40gb"}
    assert "DCGM_FI_DEV_GPU_UTIL" not in samples(page)
    assert one(page, "DCGM_FI_DEV_FB_FREE", gpu="7", GPU_I_ID="2") == dcgm_exporter.slice_mib("3g.40gb") - 600


def test_the_list_is_that_of_the_mounted_configmap_else_the_images(tmp_path: Path) -> None:
    node = Node(tmp_path)
    launch = mounting(node, {"dcgm-metrics.csv": "# ours\nDCGM_FI_DEV_GPU_TEMP, gauge, t\n"})
    assert dcgm.counters(dcgm_exporter.listed(launch)) == [dcgm.Counter("DCGM_FI_DEV_GPU_TEMP", "gauge", "t")]
    standard = dcgm.counters(dcgm_exporter.listed(node.launch(env={"DCGM_EXPORTER_COLLECTORS": "/etc/default.csv"})))
    assert len(standard) == 26
    running = dcgm_exporter.run(launch)
    assert isinstance(running, Answering)
    assert running.listens(9400, time.monotonic())
    assert running.refuses({"httpGet": {"path": "/health"}}, 9400, time.monotonic()) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("DCGM_FI_DEV_GPU_TEMPERATURE, gauge, t", "could not find DCGM field"),
        ("DCGM_FI_DEV_GPU_TEMP, gouge, t", "could not find Prometheus metric type 'gouge'"),
        ("DCGM_FI_DEV_GPU_TEMP, gauge", "expected 3 fields"),
    ],
)
def test_a_list_that_the_exporter_cannot_read_ends_it(tmp_path: Path, line: str, words: str) -> None:
    ended = dcgm_exporter.run(mounting(Node(tmp_path), {"dcgm-metrics.csv": line + "\n"}))
    assert isinstance(ended, Ends)
    assert words in (ended.exited(1.0) or Exit(0)).message


def test_a_list_that_is_not_there_ends_it(tmp_path: Path) -> None:
    ended = dcgm_exporter.run(mounting(Node(tmp_path), None))
    assert "no such file" in (ended.exited(1.0) or Exit(0)).message


def test_every_board_that_ec2_sells_is_known_and_every_field_is_one_of_dcgm() -> None:
    assert {each.product for each in gpus._BY_NAME_AND_EC2_MEMORY.values()} == set(BOARDS)
    assert set(readings.FIELDS) <= dcgm.known()


def test_what_is_exported_without_a_list_is_what_the_vendor_lists(tmp_path: Path) -> None:
    """Against the names in the vendors' data, where that is at hand."""
    vendor = listed_metrics()
    enabled = {name for name, each in vendor.items() if each.get("in_dcp_metrics_included_csv")}
    own = {each.field for each in dcgm.counters(dcgm_exporter.DEFAULTS.read_text())}
    assert own == enabled
    exported = samples(exporter(Node(tmp_path), dcgm_exporter.DEFAULTS.read_text()).page())
    assert set(exported) <= set(vendor)
    assert own - set(exported) == {"DCGM_FI_DRIVER_VERSION"}
