"""What XIDs mean, as NVIDIA's catalogue of driver r590 and the health suites that follow it group them (DC09)."""

from monitoring.thresholds import Codes

_CATALOGUE = (
    "NVIDIA XID catalogue (docs.nvidia.com/deploy/xid-errors), actions as in awslabs/awsome-distributed-ai's health"
    " check suite for r590"
)

LOST = Codes(values=("54", "79"), source=f"{_CATALOGUE}: 79 fallen off the bus, 54 without auxiliary power")
MEMORY = Codes(
    values=("48", "64", "95", "140"),
    source=f"{_CATALOGUE}: uncorrectable ECC, failed remap, uncontained ECC, unrecovered ECC; 63 (remapped), 92 (rate"
    f" of"
    " corrected ones) inform only",
)
CONTAINED = Codes(values=("94",), source=f"{_CATALOGUE}: a contained ECC error ends the application alone")
DRIVER = Codes(
    values=("46", "62", "109", "110", "119", "120", "136", "143", "155", "156", "158"),
    source=f"{_CATALOGUE}: the GPU, its driver or its firmware (GSP) has to be reset",
)
NVLINK = Codes(values=("74",), source=f"{_CATALOGUE}: NVLink error; 144 to 150 on Blackwell are told by counters")

HARDWARE = Codes(
    values=(*MEMORY.values, *CONTAINED.values, *DRIVER.values, *NVLINK.values),
    source=f"{_CATALOGUE}: those with an alert of their own",
)
