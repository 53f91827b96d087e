"""Converts the planner's pod sizes to arguments of components."""

from components.platform.pods import PodNetwork, PodShape
from planner.workload_types import PodResources


def shape(pod: PodResources, network: PodNetwork | None = None, threads: int = 1) -> PodShape:
    """The planner's numbers as a component takes them, for pods on the fabric with its needs. What its containers share
    of the CPUs is a multiple of `threads`.
    """
    return PodShape(
        gpus=pod.gpus,
        cpu_millicores=pod.cpu_millicores,
        memory_mib=pod.memory_mib,
        shm_mib=pod.shm_mib,
        network=network or PodNetwork(),
        threads=threads,
    )
