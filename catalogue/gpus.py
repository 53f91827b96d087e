"""GPU models. `product` is what GPU Feature Discovery writes: the driver's name with '-' for blanks.

Peak rates are dense: data sheets that print them with sparsity print twice as much. MIG profiles and their counts are
those of mig-parted's default configuration (NVIDIA/mig-parted, deployments/systemd/config-default.yaml), and of the
GPU Operator 25.10 release notes for B300.
"""

from collections.abc import Mapping

from catalogue.types import Gpu, MigProfile

_LABEL = "label as GFD publishes it, to confirm on the first node (nvidia.com/gpu.product)"


def _mig(counts: Mapping[str, int]) -> tuple[MigProfile, ...]:
    return tuple(MigProfile(name=name, count=count) for name, count in counts.items())


H100 = Gpu(
    name="H100",
    product="NVIDIA-H100-80GB-HBM3",
    memory_gb=80,
    memory_tb_per_s=3.35,
    compute_capability=9.0,
    fp16_tflops=989,
    bf16_tflops=989,
    fp8_tflops=1979,
    tdp_w=700,
    nvlink_one_way_gb_per_s=450,
    nvlink_links=18,
    nvlink_gpus=8,
    max_sm_clock_mhz=1980,
    mig=_mig({"1g.10gb": 7, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1}),
    source=f"NVIDIA H100 data sheet, SXM; {_LABEL}",
)
H100_PCIE = Gpu(
    name="H100 PCIe",
    product="NVIDIA-H100-PCIe",
    memory_gb=80,
    memory_tb_per_s=2.0,
    compute_capability=9.0,
    fp16_tflops=756,
    bf16_tflops=756,
    fp8_tflops=1513,
    tdp_w=350,
    nvlink_one_way_gb_per_s=300,
    nvlink_links=12,
    nvlink_gpus=2,
    mig=H100.mig,
    source=f"NVIDIA H100 PCIe product brief PB-11133-001; {_LABEL}",
)
H100_NVL = Gpu(
    name="H100 NVL",
    product="NVIDIA-H100-NVL",
    memory_gb=94,
    memory_tb_per_s=3.9,
    compute_capability=9.0,
    fp16_tflops=835,
    bf16_tflops=835,
    fp8_tflops=1671,
    tdp_w=400,
    nvlink_one_way_gb_per_s=300,
    nvlink_links=12,
    nvlink_gpus=2,
    mig=_mig({"1g.12gb": 7, "1g.24gb": 4, "2g.24gb": 3, "3g.47gb": 2, "4g.47gb": 1, "7g.94gb": 1}),
    source=f"NVIDIA H100 data sheet, NVL; {_LABEL}",
)
H200 = Gpu(
    name="H200",
    product="NVIDIA-H200",
    memory_gb=141,
    memory_tb_per_s=4.8,
    compute_capability=9.0,
    fp16_tflops=989,
    bf16_tflops=989,
    fp8_tflops=1979,
    tdp_w=700,
    nvlink_one_way_gb_per_s=450,
    nvlink_links=18,
    nvlink_gpus=8,
    max_sm_clock_mhz=1980,
    mig=_mig({"1g.18gb": 7, "1g.35gb": 4, "2g.35gb": 3, "3g.71gb": 2, "4g.71gb": 1, "7g.141gb": 1}),
    source=f"NVIDIA H200 data sheet, SXM; {_LABEL}",
)
B200 = Gpu(
    name="B200",
    product="NVIDIA-B200",
    memory_gb=180,
    memory_tb_per_s=8.0,
    compute_capability=10.0,
    fp16_tflops=2250,
    bf16_tflops=2250,
    fp8_tflops=4500,
    tdp_w=1000,
    nvlink_one_way_gb_per_s=900,
    nvlink_links=18,
    nvlink_gpus=8,
    mig=_mig({"1g.23gb": 7, "1g.45gb": 4, "2g.45gb": 3, "3g.90gb": 2, "4g.90gb": 1, "7g.180gb": 1}),
    source=f"NVIDIA Blackwell architecture technical brief, HGX B200; {_LABEL}",
)
B300 = Gpu(
    name="B300",
    product="NVIDIA-B300-SXM6-AC",
    memory_gb=268,
    memory_tb_per_s=8.0,
    compute_capability=10.3,
    fp16_tflops=2250,
    bf16_tflops=2250,
    fp8_tflops=4500,
    tdp_w=1100,
    pcie_generation=6,
    nvlink_one_way_gb_per_s=900,
    nvlink_links=18,
    nvlink_gpus=8,
    mig=_mig({"1g.34gb": 7, "1g.67gb": 4, "2g.67gb": 3, "3g.135gb": 2, "4g.135gb": 1, "7g.269gb": 1}),
    source=f"NVIDIA HGX B300 data sheet; memory as EC2 shows it; {_LABEL}",
)
GB200 = Gpu(
    name="GB200",
    product="NVIDIA-GB200",
    memory_gb=186,
    memory_tb_per_s=8.0,
    compute_capability=10.0,
    fp16_tflops=2500,
    bf16_tflops=2500,
    fp8_tflops=5000,
    tdp_w=1200,
    nvlink_one_way_gb_per_s=900,
    nvlink_links=18,
    nvlink_gpus=72,
    mig=_mig({"1g.24gb": 7, "1g.47gb": 4, "2g.47gb": 3, "3g.95gb": 2, "4g.95gb": 1, "7g.189gb": 1}),
    source=f"NVIDIA GB200 NVL72 data sheet, by GPU; {_LABEL}",
)
A100_40 = Gpu(
    name="A100 40GB",
    product="NVIDIA-A100-SXM4-40GB",
    memory_gb=40,
    memory_tb_per_s=1.555,
    compute_capability=8.0,
    fp16_tflops=312,
    bf16_tflops=312,
    tdp_w=400,
    pcie_generation=4,
    nvlink_one_way_gb_per_s=300,
    nvlink_links=12,
    nvlink_gpus=8,
    max_sm_clock_mhz=1410,
    mig=_mig({"1g.5gb": 7, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1}),
    source=f"NVIDIA A100 data sheet, SXM 40 GB; {_LABEL}",
)
A100_80 = Gpu(
    name="A100 80GB",
    product="NVIDIA-A100-SXM4-80GB",
    memory_gb=80,
    memory_tb_per_s=2.039,
    compute_capability=8.0,
    fp16_tflops=312,
    bf16_tflops=312,
    tdp_w=400,
    pcie_generation=4,
    nvlink_one_way_gb_per_s=300,
    nvlink_links=12,
    nvlink_gpus=8,
    max_sm_clock_mhz=1410,
    mig=H100.mig,
    source=f"NVIDIA A100 data sheet, SXM 80 GB; {_LABEL}",
)
RTX_PRO_6000 = Gpu(
    name="RTX PRO 6000",
    product="NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition",
    memory_gb=96,
    memory_tb_per_s=1.597,
    compute_capability=12.0,
    fp16_tflops=500,
    bf16_tflops=500,
    fp8_tflops=1000,
    tdp_w=600,
    mig=_mig({"1g.24gb": 4, "2g.48gb": 2, "4g.96gb": 1}),
    source=f"NVIDIA RTX PRO 6000 Blackwell Server Edition page, from 4 PFLOP/s of sparse FP4; {_LABEL}",
)
L40S = Gpu(
    name="L40S",
    product="NVIDIA-L40S",
    memory_gb=48,
    memory_tb_per_s=0.864,
    compute_capability=8.9,
    fp16_tflops=362,
    bf16_tflops=362,
    fp8_tflops=733,
    tdp_w=350,
    pcie_generation=4,
    source=f"NVIDIA L40S data sheet; {_LABEL}",
)
L4 = Gpu(
    name="L4",
    product="NVIDIA-L4",
    memory_gb=24,
    memory_tb_per_s=0.3,
    compute_capability=8.9,
    fp16_tflops=121,
    bf16_tflops=121,
    fp8_tflops=242,
    tdp_w=72,
    pcie_generation=4,
    source=f"NVIDIA L4 data sheet; {_LABEL}",
)
A10G = Gpu(
    name="A10G",
    product="NVIDIA-A10G",
    memory_gb=24,
    memory_tb_per_s=0.6,
    compute_capability=8.6,
    fp16_tflops=70,
    bf16_tflops=70,
    tdp_w=300,
    pcie_generation=4,
    source=f"NVIDIA A10G data sheet (125 TFLOP/s there with 16-bit accumulation); {_LABEL}",
)
T4 = Gpu(
    name="T4",
    product="Tesla-T4",
    memory_gb=16,
    memory_tb_per_s=0.32,
    compute_capability=7.5,
    fp16_tflops=65,
    bf16_tflops=None,
    tdp_w=70,
    pcie_generation=3,
    source=f"NVIDIA T4 data sheet; {_LABEL}",
)
RTX_3080 = Gpu(
    name="RTX 3080",
    product="NVIDIA-GeForce-RTX-3080",
    memory_gb=10,
    memory_tb_per_s=0.76,
    compute_capability=8.6,
    fp16_tflops=59.5,
    bf16_tflops=59.5,
    tdp_w=320,
    pcie_generation=4,
    source=f"NVIDIA Ampere GA102 GPU architecture paper; {_LABEL}",
)
RTX_3060 = Gpu(
    name="RTX 3060",
    product="NVIDIA-GeForce-RTX-3060",
    memory_gb=12,
    memory_tb_per_s=0.36,
    compute_capability=8.6,
    fp16_tflops=25.5,
    bf16_tflops=25.5,
    tdp_w=170,
    pcie_generation=4,
    source=f"NVIDIA GeForce RTX 3060 page; tensor rate twice its FP32 rate, as the GA102 paper has it; {_LABEL}",
)

GPUS = {
    gpu.name: gpu
    for gpu in (
        H100,
        H100_PCIE,
        H100_NVL,
        H200,
        B200,
        B300,
        GB200,
        A100_40,
        A100_80,
        RTX_PRO_6000,
        L40S,
        L4,
        A10G,
        T4,
        RTX_3080,
        RTX_3060,
    )
}
