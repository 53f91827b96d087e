"""Pods that select nodes which have not what they ask for, are not there, or are not reached by a plugin."""

from dataclasses import replace

from policy.graph import Graph
from tests.graph.changes import MISSING, Change, both, gone, more, put
from tests.policy.cases.case import Case

RUN, SERVER = "run-llama-3-70b-pretrain-job", "service-llama-3-70b-deployment"
TEMPLATE, NODES = "pool-inference-template", "pool-training-nodes"
ROLE = "spec.pytorchReplicaSpecs.{}"
MASTER = f"{ROLE.format('Master')}.template.spec.containers.0.resources.limits"
SELECTOR = "spec.template.spec.nodeSelector"
PRODUCT = f"{SELECTOR}.nvidia~com/gpu~product"
EFA_PLUGIN, OPERATOR = "efa-plugin-release", "gpu-operator-release"
EMPTY = both(put(NODES, "scalingConfig.minSize", 0), put(NODES, "scalingConfig.desiredSize", 0))


def handed_over(graph: Graph) -> Graph:
    """Somebody else says how many nodes there are now."""
    pool = replace(graph.one(NODES), ignore_changes=("scalingConfig.desiredSize",))
    return replace(graph, resources={**graph.resources, pool.urn: pool})


def left_alone(graph: Graph) -> Graph:
    """The pool's sizes are those of another day: an `up` leaves them alone."""
    pool = replace(graph.one(NODES), ignore_changes=("scalingConfig",))
    return replace(graph, resources={**graph.resources, pool.urn: pool})


def tolerates(**toleration: str) -> Change:
    """The EFA plugin with one toleration of the GPUs' taint."""
    return put(EFA_PLUGIN, "values.tolerations", [{"key": "nvidia.com/gpu", **toleration}])


FITTING = [
    Case("pods_fit_their_nodes", put(TEMPLATE, "instanceType", "g6e.xlarge"), "asks for 4 nvidia.com/gpu"),
    Case("pods_fit_their_nodes", put(TEMPLATE, "instanceType", "p99.48xlarge"), None),
    Case("pods_fit_their_nodes", put(RUN, f"{MASTER}.vpc~amazonaws~com/efa", "33"), "asks for 33 vpc.amazonaws"),
    Case("pods_fit_their_nodes", put("pool-training-template", "networkInterfaces", MISSING), "-nodes have 0"),
    Case("pods_fit_their_nodes", put(RUN, f"{MASTER}.nvidia~com/gpu", "16"), "asks for 16 nvidia.com/gpu"),
    Case("pods_fit_their_nodes", put(SERVER, PRODUCT, "NVIDIA-A10G"), "selects the GPU NVIDIA-A10G; its nodes have"),
    Case("pods_fit_their_nodes", put(SERVER, PRODUCT, "NVIDIA-L40S-SHARED"), None),
]
ROOM = [
    Case("pools_hold_what_selects_them", EMPTY, "which have no nodes"),
    Case("pools_hold_what_selects_them", both(EMPTY, handed_over), None),
    Case("pools_hold_what_selects_them", both(EMPTY, more("scaler", EFA_PLUGIN, chart="karpenter")), None),
    Case("pools_hold_what_selects_them", put(NODES, "scalingConfig.maxSize", 7), "needs 64 GPUs at once"),
    Case("pools_hold_what_selects_them", both(put(NODES, "scalingConfig.maxSize", 7), left_alone), None),
    Case("pools_hold_what_selects_them", put(RUN, f"{ROLE.format('Worker')}.replicas", 8), "needs 72 GPUs"),
    Case("pools_hold_what_selects_them", put(RUN, f"{ROLE.format('Worker')}.replicas", 3), None),
    Case("pools_hold_what_selects_them", put(SERVER, "spec.replicas", 3), "needs 12 GPUs"),
]
REACHED = [
    Case("plugins_reach_their_nodes", put(EFA_PLUGIN, "values.tolerations", []), "no taint nvidia.com/gpu of pool-tr"),
    Case("plugins_reach_their_nodes", gone(EFA_PLUGIN), "has EFA that no plugin"),
    Case("plugins_reach_their_nodes", put(OPERATOR, "values.daemonsets.tolerations.1.key", "x"), "taint gpucluster/p"),
    Case("plugins_reach_their_nodes", put(EFA_PLUGIN, "values.tolerations", [{"operator": "Exists"}]), None),
    Case("plugins_reach_their_nodes", put(EFA_PLUGIN, "values", MISSING), None),
    Case("plugins_reach_their_nodes", tolerates(effect="NoExecute", operator="Exists"), "no taint nvidia.com/gpu"),
    Case("plugins_reach_their_nodes", tolerates(value="absent"), "no taint nvidia.com/gpu"),
    Case("plugins_reach_their_nodes", tolerates(value="present"), None),
]

KEPT = [
    Case("gpu_nodes_are_kept_free", put(NODES, "taints", MISSING), "has GPUs and no taint"),
    Case("gpu_nodes_are_kept_free", put(NODES, "taints.0.effect", "PREFER_NO_SCHEDULE"), "has GPUs and no taint"),
    Case("gpu_nodes_are_kept_free", both(put(NODES, "taints", []), gone("pool-system-nodes")), None),
]

CASES = [*FITTING, *ROOM, *REACHED, *KEPT]
