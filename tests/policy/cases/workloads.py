"""Runs, servers and racked machines: pods that differ, saves, limits, room, queues, shared memory, fabrics."""

from functools import partial
from typing import Any

from policy.graph import Graph
from tests.graph.changes import MISSING, Change, both, gone, put
from tests.policy.cases.case import Case

RUN, SERVER, LIMITS = "run-llama-3-70b-pretrain-job", "service-llama-3-70b-deployment", "namespaces-training-limits"
ROLLING = "spec.strategy.rollingUpdate"


def in_both(path: str, value: Any) -> Change:
    """The input below the pods' spec is this in the master and in the workers."""
    roles = ("Master", "Worker")
    return both(*(put(RUN, f"spec.pytorchReplicaSpecs.{role}.template.spec.{path}", value) for role in roles))


def in_workers(path: str, value: Any) -> Change:
    return put(RUN, f"spec.pytorchReplicaSpecs.Worker.template.spec.{path}", value)


def told(name: str, value: str) -> Change:
    """The workers have one variable of this value more."""

    def change(graph: Graph) -> Graph:
        spec = graph.one(RUN).inputs["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
        env = [*spec["containers"][0]["env"], {"name": name, "value": value}]
        return in_workers("containers.0.env", env)(graph)

    return change


made = partial(Case, preview=False)
"""A case whose names a first preview does not know."""

ALIKE, SAVED, LET_IN = "members_are_alike", "saves_can_be_written", "namespaces_limits_let_their_pods_in"
ROOM, WAIT, HOLD, FORMS = (
    "rollouts_have_room",
    "zonal_volumes_wait_for_pods",
    "queues_hold_their_gangs",
    "scheduler_forms_gangs",
)
NEEDED = "values.custom.scheduler_config_override"
CONFIGURED = "tiers:\n- plugins:\n  - name: gang\n  - name: predicates\n  - name: proportion\n"
NIC, CONFIG = "kube-platform-nic-cluster-policy", "spec.rdmaSharedDevicePlugin.config"
OTHER = '{"configList": [{"resourceName": "shared"}]}'
WITH_PREFIX = '{"configList": [{"resourcePrefix": "rdma", "resourceName": "compute"}]}'
MACHINE = "pods_can_be_placed"


def joining(old: str, new: str) -> Change:
    """Every machine that is told so is told another text."""

    def change(graph: Graph) -> Graph:
        found = [each for each in graph.of_type("Command") if old in str(each.inputs.get("stdin"))]
        assert found, old
        return both(*(put(each.name, "stdin", each.inputs["stdin"].replace(old, new)) for each in found))(graph)

    return change


DEVICES, REACHED, API = "rdma_devices_are_given", "fabric_plugins_reach_their_nodes", "cilium_finds_the_api"
on_metal = partial(Case, stack="metal")
FABRIC = [
    on_metal(MACHINE, joining("gpucluster/pool=training", "gpucluster/pool=train"), "which no node has", preview=False),
    on_metal(
        MACHINE,
        joining("- key: nvidia.com/gpu\n    value: present", "- key: reserved\n    value: gpus"),
        "tolerates the taints of none of the nodes that it selects (reserved)",
        preview=False,
    ),
    on_metal(MACHINE, joining("gpucluster/rack=r1", "gpucluster/rack=r9"), None, preview=False),
    on_metal(MACHINE, in_both("nodeSelector", {"gpucluster/pool": "training", "example.com/by-hand": "yes"}), None),
    on_metal(DEVICES, put(NIC, CONFIG, OTHER), "asks for rdma/compute; the device plugins give rdma/shared"),
    on_metal(DEVICES, put(NIC, CONFIG, WITH_PREFIX), None),
    on_metal(DEVICES, gone(NIC), None),
    on_metal(REACHED, put(NIC, "spec.tolerations", MISSING), "tolerates no taint nvidia.com/gpu", preview=False),
    on_metal(REACHED, put(NIC, "spec.tolerations", [{"operator": "Exists"}]), None),
    on_metal(API, put("cilium-release", "values.k8sServiceHost", MISSING), "has no k8sServiceHost"),
    on_metal(
        API,
        both(
            put("cilium-release", "values.k8sServiceHost", MISSING),
            put("cilium-release", "values.kubeProxyReplacement", "false"),
            joining("skipPhases:\n- addon/kube-proxy\n", ""),
        ),
        None,
    ),
]

CASES = [
    Case(ALIKE, in_workers("containers.0.image", "trainer@sha256:0"), "and trainer@sha256:0 in pods of one job"),
    Case(ALIKE, told("NCCL_PROTO", "Simple"), "sets NCCL_PROTO otherwise"),
    Case(ALIKE, told("SEED", "7"), None),
    Case(ALIKE, in_both("containers.0.image", "trainer@sha256:0"), None),
    Case(SAVED, in_both("volumes.0.persistentVolumeClaim.readOnly", True), "to /checkpoints, which is mounted read-"),
    Case(SAVED, in_both("containers.0.volumeMounts.0.readOnly", True), "is mounted read-only"),
    Case(SAVED, in_both("containers.0.volumeMounts.0.mountPath", "/saves"), "to /checkpoints, which is gone with"),
    Case(SAVED, in_both("volumes.0", {"name": "checkpoints", "emptyDir": {}}), "which is gone with the pod"),
    Case(SAVED, in_both("containers.0.volumeMounts.0.mountPath", "/"), None),
    Case(
        LET_IN,
        put(LIMITS, "spec.limits.0.max", {"memory": "64Gi"}),
        "memory in pytorch, which namespaces-training",
        preview=False,
    ),
    made(LET_IN, put(LIMITS, "spec.limits.0.min", {"cpu": "2"}), "asks for 100m cpu in run-watch"),
    Case(LET_IN, put(LIMITS, "spec.limits.0.max", {"memory": "2Ti", "nvidia.com/gpu": "8"}), None),
    Case(LET_IN, put(LIMITS, "spec.limits.0", {"type": "Pod", "max": {"memory": "1Gi"}}), None),
    Case(ROOM, put(SERVER, ROLLING, {"maxSurge": 1, "maxUnavailable": 0}), "updates with 12 GPUs at once"),
    Case(ROOM, put(SERVER, "spec.strategy", MISSING), "updates with 12 GPUs at once"),
    Case(ROOM, put(SERVER, "spec.strategy", {"type": "Recreate"}), None),
    Case(
        ROOM,
        both(
            put(SERVER, ROLLING, {"maxSurge": "25%", "maxUnavailable": 0}),
            put("pool-inference-nodes", "scalingConfig.maxSize", 2),
        ),
        None,
    ),
    Case(WAIT, put("block-storage-gp3", "volumeBindingMode", "Immediate"), "binds at once, and nodes are in 3 zones"),
    Case(WAIT, put("block-storage-gp3", "volumeBindingMode", MISSING), "binds at once"),
    Case(
        WAIT,
        both(
            put("block-storage-gp3", "volumeBindingMode", MISSING),
            put("block-storage-gp3", "allowedTopologies", [{"matchLabelExpressions": []}]),
        ),
        None,
    ),
    Case(
        WAIT,
        put("local-volumes-class", "volumeBindingMode", "Immediate"),
        "binds at once to the disk of any node",
        stack="metal",
    ),
    Case(
        HOLD,
        put("queues-training", "spec.capability", {"nvidia.com/gpu": "32"}),
        "its queue training has 32",
        preview=False,
    ),
    Case(HOLD, put("queues-training", "spec.capability", {"cpu": "8"}), None),
    Case(
        HOLD,
        both(
            put("queues-training", "spec.capability", {"nvidia.com/gpu": "16"}),
            put(RUN, "spec.elasticPolicy", {"minReplicas": 1, "maxReplicas": 7}),
        ),
        None,
    ),
    Case(FORMS, put("volcano-release", NEEDED, f"actions: backfill, preempt\n{CONFIGURED}"), "no action allocate"),
    Case(FORMS, put("volcano-release", NEEDED, f"actions: enqueue, allocate, preempt\n{CONFIGURED}"), None),
    Case(
        "processes_share_memory", in_both("volumes.2.emptyDir", {"sizeLimit": "64Gi"}), "and its shared memory on disk"
    ),
    Case("processes_share_memory", in_both("volumes.2", {"name": "shm", "hostPath": {"path": "/dev/shm"}}), None),
    Case(
        "cards_may_lock_memory",
        in_both("containers.0.securityContext.capabilities", {"drop": ["ALL"]}),
        "without the capability IPC_LOCK",
        stack="metal",
    ),
    Case("cards_may_lock_memory", in_both("containers.0.securityContext", {"privileged": True}), None, stack="metal"),
    *FABRIC,
]
