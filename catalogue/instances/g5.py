"""g5: A10G."""

from catalogue.gpus import A10G
from catalogue.instances.rows import family
from catalogue.prices import spot

ROWS = family(
    A10G,
    """
    type        vcpu memory_gib gpus disks disk_gb cards interfaces addresses gbit_per_s efa   usd    high
    g5.xlarge   4    16         1    1     250     1     4          15        10         false 1.006  1.006
    g5.2xlarge  8    32         1    1     450     1     4          15        10         false 1.212  1.212
    g5.4xlarge  16   64         1    1     600     1     8          30        25         false 1.624  1.624
    g5.8xlarge  32   128        1    1     900     1     8          30        25         true  2.448  2.448
    g5.12xlarge 48   192        4    1     3800    1     15         50        40         true  5.672  5.672
    g5.16xlarge 64   256        1    1     1900    1     8          30        25         true  4.096  4.096
    g5.24xlarge 96   384        4    1     3800    1     15         50        50         true  8.144  8.144
    g5.48xlarge 192  768        8    2     3800    1     7          50        100        true  16.288 16.288
    """,
    {"g5.xlarge": spot(0.4, 0.3, 0.5), "g5.12xlarge": spot(2.1, 1.7, 2.5), "g5.48xlarge": spot(6.5, 5.0, 8.0)},
)
