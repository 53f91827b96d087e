"""Labels that daemons write and pods that select them; queues, classes and rights."""

from typing import Any

from policy.graph import Resource
from tests.policy.programs.fabric import nodes
from tests.policy.programs.form import Program, deployment, gpus, job, release, resource, template, thing, training
from tests.policy.programs.training import QUEUED, volcano

WRITTEN = "labels_are_discovered"
ASKED, EFA = "gpu_nodes_are_for_gpus", "gangs_take_their_efa"
FORMS, CLASSES, QUEUES = "scheduler_forms_gangs", "priorities_are_allowed", "jobs_name_their_queue"
RIGHTS, MOUNTS, DRIVERS = "callers_have_rights", "mounts_have_their_volume", "drivers_are_there"
CLUSTER = resource("aws:eks/cluster:Cluster", "cluster")
OPERATOR = release("gpu-operator")
ON_GPUS: dict[str, Any] = {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-L40S"}}
POOL: dict[str, Any] = {"nodeSelector": {"pool": "a"}}
OFF: dict[str, Any] = {"enabled": False}
QUEUE = thing("scheduling.volcano.sh/v1beta1", "Queue", "training", namespace="", spec={})


def configured(text: str | None) -> Resource:
    """Volcano with a configuration of its scheduler."""
    return release("volcano", custom={"scheduler_config_override": text} if text else {})


def priority(value: int, name: str = "", **more: Any) -> Resource:
    return thing("scheduling.k8s.io/v1", "PriorityClass", name or f"class-{value}", namespace="", value=value, **more)


def caller(account: str | None = "one", **container: Any) -> Resource:
    """A Job that runs kubectl."""
    spec: dict[str, Any] = {"serviceAccountName": account} if account else {}
    inner = template({"command": ["kubectl", "get", "pods"], **container}, **spec)
    return thing("batch/v1", "Job", spec={"template": inner})


def bound(account: str) -> Resource:
    """Rights of an account."""
    subjects = [{"kind": "ServiceAccount", "namespace": "here", "name": account}]
    return thing("rbac.authorization.k8s.io/v1", "RoleBinding", "rights", subjects=subjects)


def volume(driver: str) -> Resource:
    return thing("core/v1", "PersistentVolume", "volume", namespace="", spec={"csi": {"driver": driver}})


def taking(number: int) -> Resource:
    """A gang of pods with these GPUs and one EFA device."""
    return training(container=gpus(number, **{"vpc.amazonaws.com/efa": "1"}), **POOL)


ACCOUNT = thing("core/v1", "ServiceAccount")
FOREIGN = resource("kubernetes:storage.k8s.io/v1:StorageClass", "x", provisioner="example.com/nfs")
PREEMPTING = 'actions: "enqueue, allocate, backfill, preempt"\n'
WHOLE = f"{PREEMPTING}tiers:\n- plugins:\n  - name: gang\n  - name: predicates\n"
NO_GANG = f"{PREEMPTING}tiers:\n- plugins:\n  - name: priority\n"
NO_PREEMPTION = WHOLE.replace(", preempt", "")
MOUNT = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
SET = {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}], "template": template(MOUNT)}
DEVICES = [
    Program(WRITTEN, (release("gpu-operator", gfd=OFF), deployment(**ON_GPUS)), "which nothing writes"),
    Program(WRITTEN, (release("gpu-operator", nfd=OFF), deployment(**ON_GPUS)), "which nothing writes"),
    Program(WRITTEN, (release("nvidia-device-plugin"), deployment(**ON_GPUS)), "which nothing writes"),
    Program(WRITTEN, (OPERATOR, deployment(**ON_GPUS))),
    Program(WRITTEN, (release("nvidia-device-plugin", gfd={"enabled": True}), deployment(**ON_GPUS))),
    Program(WRITTEN, (deployment(**ON_GPUS),)),
    Program(ASKED, (deployment(**ON_GPUS),), "selects nodes with GPUs and asks for none"),
    Program(ASKED, (*nodes(), deployment(**POOL)), "selects nodes with GPUs and asks for none"),
    Program(ASKED, (deployment(gpus(1), **ON_GPUS),)),
    Program(ASKED, (thing("apps/v1", "DaemonSet", spec={"template": template(**ON_GPUS)}),)),
    Program(ASKED, (deployment(resourceClaims=[{"name": "gpu"}], **ON_GPUS),)),
    Program(ASKED, (*nodes(instance="m7i.48xlarge"), deployment(**POOL))),
    Program(EFA, (*nodes("efa", "efa-only"), taking(8)), "and 1 of these"),
    Program(EFA, (*nodes("efa", "efa-only"), taking(4))),
]
SHARES = [
    Program(FORMS, (configured(NO_GANG), training()), "without the plugin gang"),
    Program(FORMS, (configured(NO_PREEMPTION), training(), priority(1), priority(2)), "has no action preempt"),
    Program(FORMS, (configured(None), training(), priority(1), priority(2)), "has no action preempt"),
    Program(FORMS, (configured(WHOLE), training(), priority(1), priority(2))),
    Program(FORMS, (configured(None), training(), priority(1))),
    Program(FORMS, (configured(NO_GANG), deployment())),
    Program(CLASSES, (priority(1, globalDefault=True), priority(2, globalDefault=True)), "which class-1 is already"),
    Program(CLASSES, (priority(1, "system-mine"),), "is called system-mine"),
    Program(CLASSES, (priority(2_000_000_000),), "which the API server refuses"),
    Program(CLASSES, (priority(1, globalDefault=True), priority(2))),
    Program(QUEUES, (QUEUE, training()), "names no queue"),
    Program(QUEUES, (QUEUE, volcano(1, {"name": "a"})), "names no queue"),
    Program(QUEUES, (QUEUE, training(spec=QUEUED), volcano(1, {"name": "a"}, queue="training"))),
    Program(QUEUES, (training(), job())),
    Program(RIGHTS, (caller(), ACCOUNT), "as one, which has no permissions"),
    Program(RIGHTS, (caller(None),), "as default, which has no permissions"),
    Program(RIGHTS, (caller(command=["sh"], image="registry.k8s.io/kubectl:v1"), ACCOUNT), "which has no permissions"),
    Program(RIGHTS, (caller(), ACCOUNT, bound("one"))),
    Program(RIGHTS, (caller(),)),
    Program(RIGHTS, (job(), deployment())),
]
PARTS = [
    Program(MOUNTS, (deployment(MOUNT),), "mounts data, which is no volume"),
    Program(MOUNTS, (deployment(MOUNT, volumes=[{"name": "data", "emptyDir": {}}]),)),
    Program(MOUNTS, (thing("apps/v1", "StatefulSet", spec=SET),)),
    Program(DRIVERS, (CLUSTER, volume("lustre.csi.io")), "uses the driver lustre.csi.io, which nothing installs"),
    Program(DRIVERS, (CLUSTER, FOREIGN), "uses the driver example.com/nfs"),
    Program(DRIVERS, (CLUSTER, volume("fsx.csi.aws.com"))),
    Program(DRIVERS, (CLUSTER, volume("x.io"), thing("storage.k8s.io/v1", "CSIDriver", "x.io", namespace=""))),
    Program(DRIVERS, (CLUSTER, volume("rook-ceph.rbd.csi.ceph.com"), release("rook-ceph"))),
    Program(DRIVERS, (volume("lustre.csi.io"),)),
]
PROGRAMS = [*DEVICES, *SHARES, *PARTS]
