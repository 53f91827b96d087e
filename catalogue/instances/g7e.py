"""g7e: RTX PRO 6000."""

from catalogue.gpus import RTX_PRO_6000
from catalogue.instances.rows import family

ROWS = family(
    RTX_PRO_6000,
    """
    type         vcpu memory_gib gpus disks disk_gb cards interfaces addresses gbit_per_s efa   usd     high
    g7e.2xlarge  8    64         1    1     1900    1     4          64        50         false 3.3631  5.72
    g7e.4xlarge  16   128        1    1     1900    1     8          64        50         false 3.9982  3.9982
    g7e.8xlarge  32   256        1    1     1900    1     8          64        100        true  5.2682  5.2682
    g7e.12xlarge 48   512        2    1     3800    1     10         64        400        true  8.2861  8.2861
    g7e.24xlarge 96   1024       4    2     3800    2     10         64        800        true  16.5722 16.5722
    g7e.48xlarge 192  2048       8    4     3800    4     10         64        1600       true  33.1443 33.1443
    """,
)
