"""g6: L4."""

from catalogue.gpus import L4
from catalogue.instances.rows import family
from catalogue.prices import spot

ROWS = family(
    L4,
    """
    type        vcpu memory_gib gpus disks disk_gb cards interfaces addresses gbit_per_s efa   usd     high
    g6.xlarge   4    16         1    1     250     1     4          15        10         false 0.8048  0.8048
    g6.2xlarge  8    32         1    1     450     1     4          15        10         false 0.9776  0.9776
    g6.4xlarge  16   64         1    1     600     1     8          30        25         false 1.3232  1.3232
    g6.8xlarge  32   128        1    2     450     1     8          30        25         true  2.0144  2.0144
    g6.12xlarge 48   192        4    4     940     1     8          30        40         true  4.6016  4.6016
    g6.16xlarge 64   256        1    2     940     1     15         50        25         true  3.3968  3.3968
    g6.24xlarge 96   384        4    4     940     1     15         50        50         true  6.6752  6.6752
    g6.48xlarge 192  768        8    8     940     1     15         50        100        true  13.3504 13.3504
    """,
    {"g6.xlarge": spot(0.32, 0.25, 0.4), "g6.12xlarge": spot(1.8, 1.4, 2.2), "g6.48xlarge": spot(5.0, 4.0, 6.0)},
)
