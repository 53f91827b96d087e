"""GPU models. `product` is what GPU Feature Discovery writes: the driver's name with '-' for blanks."""

from catalogue.types import Gpu

_DRIVER = "NVIDIA product strings as GFD publishes them; confirm on the first node (label nvidia.com/gpu.product)"

H100 = Gpu(name="H100", product="NVIDIA-H100-80GB-HBM3", memory_gb=80, max_sm_clock_mhz=1980, source=_DRIVER)
H200 = Gpu(name="H200", product="NVIDIA-H200", memory_gb=141, max_sm_clock_mhz=1980, source=_DRIVER)
B200 = Gpu(name="B200", product="NVIDIA-B200", memory_gb=180, max_sm_clock_mhz=None, source=_DRIVER)
B300 = Gpu(name="B300", product="NVIDIA-B300-SXM6-AC", memory_gb=268, max_sm_clock_mhz=None, source=_DRIVER)
A100_40 = Gpu(name="A100 40GB", product="NVIDIA-A100-SXM4-40GB", memory_gb=40, max_sm_clock_mhz=1410, source=_DRIVER)
A100_80 = Gpu(name="A100 80GB", product="NVIDIA-A100-SXM4-80GB", memory_gb=80, max_sm_clock_mhz=1410, source=_DRIVER)
L40S = Gpu(name="L40S", product="NVIDIA-L40S", memory_gb=48, max_sm_clock_mhz=None, source=_DRIVER)
L4 = Gpu(name="L4", product="NVIDIA-L4", memory_gb=24, max_sm_clock_mhz=None, source=_DRIVER)
A10G = Gpu(name="A10G", product="NVIDIA-A10G", memory_gb=24, max_sm_clock_mhz=None, source=_DRIVER)
T4 = Gpu(name="T4", product="Tesla-T4", memory_gb=16, max_sm_clock_mhz=None, source=_DRIVER)

GPUS = {gpu.name: gpu for gpu in (H100, H200, B200, B300, A100_40, A100_80, L40S, L4, A10G, T4)}
