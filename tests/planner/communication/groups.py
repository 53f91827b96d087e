"""Groups of GPUs that several tests look at."""

from catalogue.gpus import A100_80, H100
from planner.communication.group import EFA_LATENCY_US, Cluster, Group, Network

NDR = Network(nics=8, gbit_per_s=400)
SHARP = Network(nics=8, gbit_per_s=400, sharp=True)
ONE_HDR = Network(nics=1, gbit_per_s=200)
P5 = Network(nics=32, gbit_per_s=100, latency_us=EFA_LATENCY_US)
P4DE = Network(nics=4, gbit_per_s=100, latency_us=EFA_LATENCY_US)

NODE = Group(gpu=H100, ranks=8)
A100_NODE = Group(gpu=A100_80, ranks=8)
CLUSTER = Cluster(gpu=H100, domain_gpus=8, network=NDR)


def nodes(count: int, network: Network = NDR) -> Group:
    """So many nodes of 8 H100."""
    return Group(gpu=H100, ranks=8 * count, domains=count, network=network)
