"""EC2 instance types: the GPU families g4dn to p6e, m7i for the system pool, and types that are known to be neither.

Sizes, cards and EFA limits as DescribeInstanceTypes publishes them (a test compares with another copy of that data).
"""

from catalogue.instances.general import C5N, HPC6ID, INF2, M7I
from catalogue.instances.graphics import G4DN, G5, G6, G6E, G7E
from catalogue.instances.training import P4, P5, P6

INSTANCES = {row.type: row for row in (*M7I, *C5N, *HPC6ID, *INF2, *G4DN, *G5, *G6, *G6E, *G7E, *P4, *P5, *P6)}
