"""g4dn: T4."""

from catalogue.gpus import T4
from catalogue.instances.rows import family
from catalogue.prices import spot

ROWS = family(
    T4,
    """
    type          vcpu memory_gib gpus disks disk_gb cards interfaces addresses gbit_per_s efa   usd   high
    g4dn.xlarge   4    16         1    1     125     1     3          10        25         false 0.526 0.526
    g4dn.2xlarge  8    32         1    1     225     1     3          10        25         false 0.752 0.752
    g4dn.4xlarge  16   64         1    1     225     1     3          10        25         false 1.204 1.204
    g4dn.8xlarge  32   128        1    1     900     1     4          15        50         true  2.176 2.264
    g4dn.12xlarge 48   192        4    1     900     1     8          30        50         true  3.912 3.912
    g4dn.16xlarge 64   256        1    1     900     1     4          15        50         true  4.352 4.528
    g4dn.metal    96   384        8    2     900     1     15         50        100        true  7.824 7.824
    """,
    {"g4dn.xlarge": spot(0.2, 0.16, 0.25)},
)
