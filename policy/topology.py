"""Rules about where in a node a pod fits: the kubelet's topology policy and the sockets of its type."""

import re
from collections.abc import Iterator, Mapping

from catalogue.types import Instance
from policy.gangs import GPU, above, amount, quantity
from policy.graph import Graph
from policy.pods import Pod, pods
from policy.pools import Pool, pools
from policy.rule import Finding, rule

SINGLE = "single-numa-node"
_POLICY = re.compile(r"topology-?manager-?policy[\"']?\s*[:=]\s*[\"']?([a-z-]+)", re.IGNORECASE)
_STATIC = re.compile(r"cpu-?manager-?policy[\"']?\s*[:=]\s*[\"']?static", re.IGNORECASE)
OF_NODES = (
    "nvidia.com/",
    "kubernetes.io/",
    "node.kubernetes.io/",
    "topology.kubernetes.io/",
    "topology.k8s.aws/",
    "feature.node.kubernetes.io/",
    "eks.amazonaws.com/",
)
"""Labels that nodes get from others than their group."""

VCPU_OF_A_SOCKET = 96


def fitting(graph: Graph, pod: Pod) -> list[Pool]:
    """The node groups that a pod's selector names; none for a pod that selects nothing."""
    wanted: Mapping[str, str] = pod.spec.get("nodeSelector") or {}
    own = {key: value for key, value in wanted.items() if not key.startswith(OF_NODES)}
    return [each for each in pools(graph) if own and own.items() <= (each.group.inputs.get("labels") or {}).items()]


def numa_nodes(instance: Instance) -> int:
    """NUMA nodes of a type: one for each socket, two where eight accelerators hang on both."""
    return 2 if instance.gpu_count >= 8 or instance.vcpu > VCPU_OF_A_SOCKET else 1


def _single(pool: Pool, pod: Pod) -> bool:
    said = _POLICY.findall(pool.user_data or "")
    task = next((each["topologyPolicy"] for each in above(pod) if "topologyPolicy" in each), "")
    return SINGLE in (*said[-1:], task)


@rule(
    source="Kubernetes: TopologyAffinityError; https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/",
    remedy="set topologyManagerPolicy: best-effort (or restricted) for pods that take a whole node",
)
def pods_fit_a_numa_node(graph: Graph) -> Iterator[Finding]:
    """If the kubelet allocates devices from one NUMA node only, no pod requests more than one has (J10)."""
    for pod in pods(graph):
        for pool in fitting(graph, pod):
            for instance in pool.instances if _single(pool, pod) else ():
                nodes = numa_nodes(instance)
                asked, there = amount(pod, GPU), instance.gpu_count // nodes
                if asked > there:
                    sentence = f"asks for {asked} GPUs; a NUMA node of {instance.type} has {there}"
                    yield pod.owner, f"{sentence}, and {pool.name} says {SINGLE}: it is refused at its node"
                elif _STATIC.search(pool.user_data or "") and _cpus(pod) > instance.vcpu / nodes:
                    sentence = (
                        f"asks for {_cpus(pod):g} CPUs; a NUMA node of {instance.type} has {instance.vcpu // nodes}"
                    )
                    yield pod.owner, f"{sentence}, and {pool.name} says {SINGLE}: it is refused at its node"


def _cpus(pod: Pod) -> float:
    """The CPUs of the largest container, which is what the kubelet aligns."""
    asked = [((each.get("resources") or {}).get("requests") or {}).get("cpu") for each in pod.containers]
    return max((float(quantity(each) or 0) for each in asked), default=0.0)
