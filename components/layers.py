"""The architecture's layers as components (A01): every other component is the child of one.

They hold no resources of their own. A preview, a state file and a graph thus read as the picture in the README does:
what carries traffic, what computes, what stores, what runs the cluster, what decides who runs, what watches, and what
runs.
"""

from components._base import Component


class Fabric(Component):
    """Network, its groups and the keys that everything else is encrypted with."""


class KubePlatform(Component):
    """The control plane, its access and add-ons, and what makes GPUs and the fabric's cards schedulable."""


class HardwarePool(Component):
    """The nodes, by pool."""


class Storage(Component):
    """The shared file system, its claims and the object store."""


class Scheduling(Component):
    """Gang scheduler, queues, priorities and the operator of training jobs."""


class Monitoring(Component):
    """What watches all of it, tells somebody, and keeps the logs."""


class Workloads(Component):
    """Training runs and inference services."""
