"""Rules about the sizes of training jobs: bounds of elastic ones, the gang that starts, processes for the GPUs."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from policy.gangs import GPU, amount, copies, quantity, roles, spec_of, whole
from policy.graph import Graph, Resource
from policy.pods import pods
from policy.rule import Finding, rule
from policy.training import jobs, scheduling_policy
from policy.words import flag

OWN_GROUP = frozenset({"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-min-member"})
"""Annotations by which pods are a gang of their own for Volcano."""

ELASTIC_FIELDS = frozenset(
    {
        "maxReplicas",
        "maxRestarts",
        "metrics",
        "minReplicas",
        "nProcPerNode",
        "rdzvBackend",
        "rdzvConf",
        "rdzvHost",
        "rdzvId",
        "rdzvPort",
        "standalone",
    }
)


@rule(
    source="training-operator v1.9: pkg/controller.v1/pytorch/{envvar,elastic,master}.go, pytorch_types.go",
    remedy="elastic jobs: Worker alone, minReplicas <= replicas <= maxReplicas, schedulingPolicy.minAvailable = "
    "minReplicas; others: leave elasticPolicy out",
)
def elastic_has_no_master(graph: Graph) -> Iterator[Finding]:
    """An elastic job has only workers, within its bounds, and a rendezvous that its operator supports (KJ02, KJ05)."""
    for each in jobs(graph):
        policy = spec_of(each).get("elasticPolicy")
        if policy is None:
            continue
        if "Master" in roles(each):
            yield (
                each.name,
                "is elastic and has a Master: its pods get two rendezvous, and the job ends with the Master",
            )
        workers = whole((roles(each).get("Worker") or {}).get("replicas"), 1)
        least, most = whole(policy.get("minReplicas"), workers), whole(policy.get("maxReplicas"), workers)
        if not 1 <= least <= workers <= most:
            yield each.name, f"has {workers} workers, which is not between minReplicas {least} and maxReplicas {most}"
        if unknown := sorted(set(policy) - ELASTIC_FIELDS):
            yield (
                each.name,
                f"has {', '.join(unknown)} in its elasticPolicy, which the API drops (rdzvConf: [{{key, value}}])",
            )
        if policy.get("rdzvBackend", "c10d") not in ("c10d", "etcd", "etcd-v2"):
            yield each.name, f"names the rendezvous backend {policy['rdzvBackend']}; write c10d"
        if policy.get("nProcPerNode") is not None and spec_of(each).get("nprocPerNode") is not None:
            yield (
                each.name,
                "gives processes twice, as nProcPerNode and nprocPerNode, which the webhook refuses; keep nprocPerNode",
            )


@rule(
    source="training-operator v1.9 (PodGroup MinMember = schedulingPolicy.minAvailable, or all replicas); "
    "Volcano 1.15: pkg/controllers/podgroup (minMember 1); NCCL: a communicator waits for every rank",
    remedy="set minAvailable to the number of pods of the job (minReplicas of an elastic one), or leave it out",
)
def gangs_start_whole(graph: Graph) -> Iterator[Finding]:
    """A gang's minimum is its number of pods: below it some wait for the others, above it none starts (KJ09, KJ10)."""
    for each in jobs(graph):
        total = sum(whole((role or {}).get("replicas"), 1) for role in roles(each).values())
        least = whole((spec_of(each).get("elasticPolicy") or {}).get("minReplicas"), total)
        stated = scheduling_policy(each).get("minAvailable")
        gang = whole(stated, total)
        if gang != least and (stated is not None or scheduling_policy(each)):
            yield each.name, f"starts with {gang} of its pods, and {least} must be there together"
        for resource, value in (scheduling_policy(each).get("minResources") or {}).items():
            made = sum(_asked(role or {}, resource) for role in roles(each).values())
            if (wanted := quantity(value)) is not None and wanted > made > 0:
                yield each.name, f"waits for {value} {resource} (minResources), and its pods ask for {made:f}"
        classes = {
            ((role or {}).get("template") or {}).get("spec", {}).get("priorityClassName")
            for role in roles(each).values()
        }
        asked = scheduling_policy(each).get("priorityClass")
        if asked and classes - {asked, None}:
            yield (
                each.name,
                f"gives its gang the class {asked} and its pods {', '.join(sorted(classes - {asked, None}))}",
            )
    for each in graph.resources.values():
        if each.token.startswith("kubernetes:batch.volcano.sh/") and each.kind == "Job":
            yield from _volcano(each)
    for pod in pods(graph):
        indexed = spec_of(pod.maker).get("completionMode") == "Indexed" and copies(pod) > 1
        grouped = OWN_GROUP & set(pod.metadata.get("annotations") or {})
        if indexed and pod.spec.get("schedulerName") == "volcano" and not grouped:
            yield pod.owner, f"has {copies(pod)} pods that Volcano starts one by one: its group for a Job is of one pod"


def _asked(role: Mapping[str, Any], resource: str) -> Decimal:
    """How much of a resource all pods of a role request."""
    inner = (role.get("template") or {}).get("spec") or {}
    given = [(each.get("resources") or {}).get("requests") or {} for each in inner.get("containers") or []]
    return whole(role.get("replicas"), 1) * sum(
        (quantity(each.get(resource)) or Decimal(0) for each in given), Decimal(0)
    )


def _volcano(each: Resource) -> Iterator[Finding]:
    spec = spec_of(each)
    total = sum(whole(task.get("replicas"), 1) for task in spec.get("tasks") or [])
    least = whole(spec.get("minAvailable"), total)
    plugins = spec.get("plugins") or {}
    if least > total:
        yield each.name, f"starts with {least} pods and has {total}"
    elif least < total and {"pytorch", "mpi", "tensorflow"} & set(plugins):
        yield each.name, f"starts with {least} of its {total} pods, and all must be there together"
    tasks = [task.get("name") for task in spec.get("tasks") or []]
    options = dict(word.lstrip("-").partition("=")[::2] for word in plugins.get("pytorch") or [])
    if "pytorch" in plugins and options.get("master", "master") not in tasks:
        yield each.name, f"has no task {options.get('master', 'master')}, which its pytorch plugin looks for"
    if spec.get("schedulerName", "volcano") != "volcano":
        yield each.name, f"is a Volcano Job scheduled by {spec['schedulerName']}; write schedulerName: volcano"


@rule(
    source="training-operator v1.9: pkg/controller.v1/pytorch/envvar.go (PET_NPROC_PER_NODE, WORLD_SIZE = replicas x "
    "nprocPerNode); torchrun: --nproc-per-node",
    remedy="set nprocPerNode to the GPUs of one pod, and leave --nproc-per-node out",
)
def process_per_gpu(graph: Graph) -> Iterator[Finding]:
    """A pod starts as many processes as it has GPUs (KJ06)."""
    for pod in pods(graph):
        gpus = amount(pod, GPU)
        said = spec_of(pod.maker).get("nprocPerNode") if pod.kind == "PyTorchJob" else None
        for container in pod.spec.get("containers") or []:
            for number in (said, flag(container, "nproc-per-node")):
                if gpus and number is not None and str(number).isdigit() and int(number) != gpus:
                    yield pod.owner, f"starts {number} processes in a pod of {gpus} GPUs ({pod.path})"
