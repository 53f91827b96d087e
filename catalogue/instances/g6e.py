"""g6e: L40S."""

from catalogue.gpus import L40S
from catalogue.instances.rows import family

ROWS = family(
    L40S,
    """
    type         vcpu memory_gib gpus disks disk_gb cards interfaces addresses gbit_per_s efa   usd      high
    g6e.xlarge   4    32         1    1     250     1     4          15        20         false 1.861    1.861
    g6e.2xlarge  8    64         1    1     450     1     4          15        20         false 2.24208  2.8
    g6e.4xlarge  16   128        1    1     600     1     8          30        20         false 3.00424  3.00424
    g6e.8xlarge  32   256        1    2     450     1     8          30        25         true  4.52856  4.52856
    g6e.12xlarge 48   384        4    2     1900    1     10         30        100        true  10.49264 10.6032
    g6e.16xlarge 64   512        1    2     950     1     15         50        35         true  7.57719  7.57719
    g6e.24xlarge 96   768        4    2     1900    2     10         50        200        true  15.06559 15.06559
    g6e.48xlarge 192  1536       8    4     1900    4     10         50        400        true  30.13118 30.13118
    """,
)
