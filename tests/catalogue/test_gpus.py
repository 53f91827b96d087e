"""GPU rows (B02-B06, D01): what the vendors print, one way and dense."""

import pytest

from catalogue.gpus import A10G, A100_40, A100_80, B200, B300, GB200, GPUS, H100, H200, L4, L40S, RTX_3060, RTX_3080, T4
from catalogue.types import Gpu, MigProfile
from catalogue.units import SECONDS_PER_DAY


@pytest.mark.parametrize(
    ("gpu", "memory_gb", "tb_per_s", "bf16", "fp8", "tdp_w", "nvlink_both_ways", "clock", "label"),
    [
        (H100, 80, 3.35, 989, 1979, 700, 900, 1980, "NVIDIA-H100-80GB-HBM3"),
        (H200, 141, 4.8, 989, 1979, 700, 900, 1980, "NVIDIA-H200"),
        (B200, 180, 8, 2250, 4500, 1000, 1800, None, "NVIDIA-B200"),
        (A100_40, 40, 1.6, 312, None, 400, 600, 1410, "NVIDIA-A100-SXM4-40GB"),
        (A100_80, 80, 2.0, 312, None, 400, 600, 1410, "NVIDIA-A100-SXM4-80GB"),
        (L40S, 48, 0.86, 362, 733, 350, 0, None, "NVIDIA-L40S"),
        (L4, 24, 0.30, 121, 242, 72, 0, None, "NVIDIA-L4"),
        (A10G, 24, 0.60, 70, None, 300, 0, None, "NVIDIA-A10G"),
        (T4, 16, 0.32, None, None, 70, 0, None, "Tesla-T4"),
    ],
)
def test_rows_are_the_vendors_t3_5(
    gpu: Gpu,
    memory_gb: int,
    tb_per_s: float,
    bf16: float | None,
    fp8: float | None,
    tdp_w: int,
    nvlink_both_ways: float,
    clock: int | None,
    label: str,
) -> None:
    """B02-B05, T3.5: memory, bandwidth, dense peaks, power, NVLink, clock and label."""
    assert (gpu.memory_gb, gpu.bf16_tflops, gpu.fp8_tflops, gpu.tdp_w) == (memory_gb, bf16, fp8, tdp_w)
    assert gpu.memory_tb_per_s == pytest.approx(tb_per_s, rel=0.03)
    assert gpu.nvlink_one_way_gb_per_s == nvlink_both_ways / 2
    assert (gpu.max_sm_clock_mhz, gpu.product) == (clock, label)


def test_nvlink_is_counted_one_way() -> None:
    """HW03, D01: 900 GB/s are 18 links of 50 both ways, so 450 go one way, and 8 GPUs have 3.6 TB/s one way."""
    assert H100.nvlink_one_way_gb_per_s * 2 == H100.nvlink_links * 50 == 900
    assert A100_80.nvlink_one_way_gb_per_s * 2 == A100_80.nvlink_links * 50 == 600
    assert B200.nvlink_one_way_gb_per_s * 2 == B200.nvlink_links * 100 == 1800
    assert H100.nvlink_one_way_gb_per_s * H100.nvlink_gpus == 3600


def test_pcie_is_counted_one_way() -> None:
    """HW04, HW05: 16 lanes of PCIe 5 carry 64 GB/s one way, not 300; like for like NVLink is 7 times that, not 14."""
    assert H100.pcie_one_way_gb_per_s == 64
    assert H100.nvlink_one_way_gb_per_s / H100.pcie_one_way_gb_per_s == pytest.approx(7, abs=0.1)
    assert [gpu.pcie_one_way_gb_per_s for gpu in (T4, A100_80, B300)] == [16, 32, 128]


def test_peaks_are_dense_and_by_type() -> None:
    """HW06, HW07: no H100 has 140 TFLOP/s; 2 PFLOP/s is its FP8 or a B200's bf16, and 16 years are right for that."""
    assert H100.bf16_tflops == 989
    assert H100.fp8_tflops is not None
    assert B200.bf16_tflops is not None
    assert round(H100.fp8_tflops / 1000) == round(B200.bf16_tflops / 1000) == 2
    assert pytest.approx(5787, abs=1) == 1e24 / (2e15 * SECONDS_PER_DAY)


@pytest.mark.parametrize("gpu", GPUS.values(), ids=lambda gpu: gpu.name)
def test_types_follow_the_generation(gpu: Gpu) -> None:
    """B05: bf16 begins with compute capability 8.0, FP8 with 8.9, and a narrower type is never slower."""
    assert (gpu.bf16_tflops is not None) is (gpu.compute_capability >= 8.0)
    assert (gpu.fp8_tflops is not None) is (gpu.compute_capability >= 8.9)
    if gpu.fp8_tflops and gpu.bf16_tflops:
        assert gpu.fp8_tflops == pytest.approx(2 * gpu.bf16_tflops, rel=0.02)
    assert (gpu.nvlink_gpus > 1) is (gpu.nvlink_links > 0) is (gpu.nvlink_one_way_gb_per_s > 0)
    assert gpu.source


@pytest.mark.parametrize("gpu", GPUS.values(), ids=lambda gpu: gpu.name)
def test_slices_are_no_more_than_the_gpu(gpu: Gpu) -> None:
    """KJ24: seven slices at most, and together no more memory than there is (profiles round each slice up)."""
    assert len({each.name for each in gpu.mig}) == len(gpu.mig)
    for each in gpu.mig:
        assert each.count * int(each.name[0]) <= 7
        assert each.count * each.memory_gb <= gpu.memory_gb * 1.06


def test_smallest_slices_of_each_model() -> None:
    """KJ24, T3.5: 1g.10gb is a slice of 80 GB GPUs and a double one of the A100 with 40 GB; H200 and B200 differ."""
    smallest = {gpu.name: (gpu.mig[0].name, gpu.mig[0].count) for gpu in GPUS.values() if gpu.mig}
    assert smallest["H100"] == smallest["A100 80GB"] == ("1g.10gb", 7)
    assert smallest["H200"] == ("1g.18gb", 7)
    assert smallest["B200"] == ("1g.23gb", 7)
    assert smallest["B300"] == ("1g.34gb", 7)
    assert smallest["A100 40GB"] == ("1g.5gb", 7)
    assert {each.name: each.count for each in A100_40.mig}["1g.10gb"] == 4
    assert {each.name: each.count for each in H100.mig} == {
        "1g.10gb": 7, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1
    }  # fmt: skip
    assert [each.name for each in H200.mig] == ["1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"]
    assert [each.name for each in B200.mig] == ["1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"]


def test_lab_and_rack_models_are_known() -> None:
    """B04, B06: consumer cards for a lab, and a rack-wide NVLink domain."""
    assert (RTX_3060.memory_gb, RTX_3080.memory_gb) == (12, 10)
    assert not RTX_3080.mig
    assert GB200.nvlink_gpus == 72


@pytest.mark.parametrize("name", ["10gb", "1g.10", "0g.10gb", "1g.10gb+", "all-1g.10gb"])
def test_wrong_profile_names_are_refused(name: str) -> None:
    """KJ24: a site's row cannot have a profile that is none."""
    with pytest.raises(ValueError, match="is no MIG profile; write it as 7 x"):
        MigProfile(name=name, count=7)
    assert MigProfile(name="1g.10gb+me", count=1).memory_gb == 10
