"""Where a GPU is that a gate's line names: the address that the kernel has, by each tool's own numbers."""

from pathlib import Path

import pytest
import slots
from verdicts import Verdict, clock, manager

SMI = "0, 00000000:19:00.0\n1, 00000000:3B:00.0\n2, [GPU is lost]\n3, 00010000:C9:00.0\n"


def test_addresses_are_the_kernels_own_by_nvidia_smis_numbers() -> None:
    """What it tells nothing of has none; a domain may have more than four digits."""
    assert slots.of_smi(SMI) == {0: "0000:19:00.0", 1: "0000:3b:00.0", 3: "10000:c9:00.0"}


@pytest.mark.parametrize(
    "said", ["", "nvidia-smi is not in the image", "Unable to determine the device handle for GPU"]
)
def test_a_tool_that_tells_no_address_gives_none(said: str) -> None:
    assert slots.of_smi(said) == slots.of_devices(said) == {}


def test_what_is_listed_here_is_read_as_nvbandwidths() -> None:
    said = slots.listed(0, "NVIDIA H100 80GB HBM3", 0, 0x19, 0) + slots.listed(1, "NVIDIA (made up)", 1, 0x3B, 2)
    assert said.splitlines()[0] == "Device 0: NVIDIA H100 80GB HBM3 (00000000:19:00)"
    assert slots.of_devices(said) == {0: "0000:19:00.0", 1: "0001:3b:02.0"}


def test_every_gpu_of_a_line_is_named_with_its_slot_and_no_number_of_gpus() -> None:
    line = Verdict("copies", "fail", "GPU 1 to GPU 11 7 GB/s, GPU 2 to host 8; 8 GPUs of 11")
    assert slots.named(line, {1: "0000:3b:00.0", 11: "0000:c9:00.0"}).why == (
        "GPU 1 (slot 0000:3b:00.0) to GPU 11 (slot 0000:c9:00.0) 7 GB/s, GPU 2 to host 8; 8 GPUs of 11"
    )
    assert slots.named(line, {}) == line


def _device(root: Path, name: str, vendor: str, kind: str) -> None:
    (root / name).mkdir()
    (root / name / "vendor").write_text(f"{vendor}\n")
    (root / name / "class").write_text(f"{kind}\n")


def test_a_gpu_that_does_not_answer_is_found_where_the_kernel_has_it(tmp_path: Path) -> None:
    """Neither a switch of NVLink nor somebody else's card is one; of a node without any answer nothing is said."""
    _device(tmp_path, "0000:19:00.0", "0x10de", "0x030200")
    _device(tmp_path, "0000:5d:00.0", "0x10de", "0x030200")
    _device(tmp_path, "0000:07:00.0", "0x10de", "0x068000")
    _device(tmp_path, "0000:02:00.0", "0x1a03", "0x030000")
    (tmp_path / "0000:ff:00.0").mkdir()
    lost = slots.silent({0: "0000:19:00.0"}, tmp_path)
    assert lost == ["0000:5d:00.0"]
    assert slots.silent({}, tmp_path) == []
    assert clock([], 1, lost).why == "0 GPUs answer, not 1: none in slot 0000:5d:00.0"


def test_a_gpu_that_waits_for_its_switches_has_its_own_number() -> None:
    """Behind one that is behind none."""
    found = manager([("N/A", "N/A"), ("Completed", "Success"), ("In Progress", "N/A")])
    assert (found.state, found.why) == ("fail", "GPU 2 In Progress: look at nvidia-fabricmanager on the node")
