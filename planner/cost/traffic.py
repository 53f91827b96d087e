"""What follows use rather than time: data through NAT and across zones, objects, logs. Assumed, and said so."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Use of a month, in decimal GB. The defaults are assumptions; S3 of the region never passes the NAT gateway.

    Images of a node: PyTorch, vLLM and the operators, pulled once and renewed once in a month. Across zones go the API
    server's and the metrics' traffic of the system nodes; collectives and Lustre stay in the GPU zone. `home` is what
    people keep in EFS, whose GB is the console's GiB.
    """

    nat_gb_per_node: float = 60
    cross_zone_gb_per_system_node: float = 200
    object_gb: float = 1000
    log_gb: float = 20
    flow_log_gb_per_node: float = 0
    home_gb: float = 0
    home_read_gb: float = 0
    home_written_gb: float = 0
    home_backed_up: bool = False
