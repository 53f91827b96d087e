"""A gang-scheduled training run: one PyTorchJob, one pod per node, all pods or none (N02-N05, M02, M03).

Static jobs only: one Master and n-1 Workers, no elastic policy (KJ02). `torchrun` gets no node count or rendezvous
flags; it reads the PET_* variables that the operator injects (KJ03, KJ06). NCCL keeps its defaults (NC01-NC10).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.accounts import service_account
from components.platform.pods import SHM, PodShape
from components.platform.taints import GPU_PRODUCT_KEY, POOL_KEY, Taint, tolerations

CONTAINER = "pytorch"
"""The operator's webhook refuses a replica without a container of this name (KJ01)."""

OPERATORS_OWN = ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT")
DATA, CHECKPOINTS, LOCAL = "/data", "/checkpoints", "/local-checkpoints"


def saves(run: str) -> str:
    """Where on the claim of the checkpoints those of a run lie."""
    return f"checkpoints/{run}"


@dataclass(frozen=True, kw_only=True)
class Saving:
    """When a run saves and how many saves it keeps; the script reads it from its environment (T01).

    With `file_system_seconds` every pod has a directory on its node's own disks to save to, from where a save goes on
    to the file system that often. A save is a directory, whole when it holds `SHA256SUMS`, which is written last.
    """

    every_seconds: int
    keep: int
    file_system_seconds: int | None = None

    @property
    def local(self) -> bool:
        """Whether saves go to the nodes' own disks first."""
        return self.file_system_seconds is not None

    def env(self) -> dict[str, pulumi.Input[str]]:
        """What the script is told."""
        told = {
            "CHECKPOINT_DIR": CHECKPOINTS,
            "CHECKPOINT_EVERY_SECONDS": str(self.every_seconds),
            "CHECKPOINT_KEEP": str(self.keep),
        }
        if self.local:
            told |= {
                "CHECKPOINT_LOCAL_DIR": LOCAL,
                "CHECKPOINT_FILE_SYSTEM_SECONDS": str(self.file_system_seconds),
            }
        return dict(told)


@dataclass(frozen=True, kw_only=True)
class TrainingJobArgs:
    """A run of `nodes` pods on the pool's nodes, which all begin again at a checkpoint up to `restarts` times.

    `script` is what torchrun starts. Claims, queue and priority are names that resolve when the things exist;
    `granted` resolves when pods of the account named like the run have their rights in the object store. `operator`
    accepts PyTorchJobs, `nodes_ready` is the pool's node group, and what shows that GPUs work.
    """

    run: str
    namespace: pulumi.Input[str]
    nodes: int
    restarts: int
    image: str
    script: Sequence[str]
    shape: PodShape
    pool: str
    gpu_product: str
    taints: Sequence[Taint]
    queue: pulumi.Input[str]
    priority: pulumi.Input[str]
    granted: pulumi.Input[str]
    data_claim: pulumi.Input[str]
    checkpoint_claim: pulumi.Input[str]
    operator: pulumi.Resource
    nodes_ready: Sequence[pulumi.Resource]
    env: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    saving: Saving | None = None

    def __post_init__(self) -> None:
        if self.nodes < 1:
            raise ValueError(f"{self.run}: a run needs one node at least")
        for name in self.env:
            if name in OPERATORS_OWN or name.startswith("PET_"):
                raise ValueError(f"{self.run}: {name} is set by the training operator; remove it from env")


def environment(shape: PodShape, extra: Mapping[str, pulumi.Input[str]]) -> list[dict[str, Any]]:
    """Environment of a rank: the libfabric provider on EFA nodes, warnings of NCCL, and what the run adds."""
    env: dict[str, pulumi.Input[str]] = {"NCCL_DEBUG": "WARN"}
    if shape.efa:
        env["FI_PROVIDER"] = "efa"
    return [{"name": name, "value": value} for name, value in sorted({**env, **extra}.items())]


def pod_template(args: TrainingJobArgs, account: pulumi.Input[str]) -> dict[str, Any]:
    """Pod template of every replica. `/dev/shm` is memory, limited below the pod's own limit (AA06)."""
    claims = {"data": (args.data_claim, True), "checkpoints": (args.checkpoint_claim, False)}
    saving = args.saving.env() if args.saving else {}
    local = args.saving is not None and args.saving.local
    return {
        "metadata": {"labels": {"gpucluster/run": args.run}},
        "spec": {
            "schedulerName": "volcano",
            "priorityClassName": args.priority,
            "serviceAccountName": account,
            "nodeSelector": {POOL_KEY: args.pool, GPU_PRODUCT_KEY: args.gpu_product},
            "tolerations": tolerations(args.taints),
            "containers": [
                {
                    "name": CONTAINER,
                    "image": args.image,
                    "command": ["torchrun"],
                    "args": list(args.script),
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                    "env": environment(args.shape, {**saving, **args.env}),
                    "resources": args.shape.resources(),
                    # Registering memory with the EFA device locks it (NW03).
                    "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
                    "volumeMounts": [
                        {"name": "data", "mountPath": DATA, "readOnly": True},
                        {"name": "checkpoints", "mountPath": CHECKPOINTS, "subPath": saves(args.run)},
                        *([{"name": "local", "mountPath": LOCAL}] if local else []),
                        {"name": "shm", "mountPath": SHM},
                    ],
                }
            ],
            "volumes": [
                *(
                    {"name": name, "persistentVolumeClaim": {"claimName": claim, "readOnly": read_only}}
                    for name, (claim, read_only) in claims.items()
                ),
                {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{args.shape.shm_mib}Mi"}},
                # The kubelet's directory is on the node's own disks, striped (its user data says so).
                *([{"name": "local", "emptyDir": {}}] if local else []),
            ],
        },
    }


def pytorch_job(args: TrainingJobArgs, account: pulumi.Input[str]) -> dict[str, Any]:
    """Spec of the PyTorchJob: a gang whose PodGroup starts at `nodes` pods."""
    replica = {"restartPolicy": "OnFailure", "template": pod_template(args, account)}
    replicas = {"Master": {"replicas": 1, **replica}}
    if args.nodes > 1:
        replicas["Worker"] = {"replicas": args.nodes - 1, **replica}
    return {
        "nprocPerNode": str(args.shape.gpus),
        "pytorchReplicaSpecs": replicas,
        "runPolicy": {
            # The operator adds up the restarts of all pods, and each failure restarts every one of them (KJ08).
            "backoffLimit": args.restarts * args.nodes + 1,
            "cleanPodPolicy": "Running",
            "schedulingPolicy": {"minAvailable": args.nodes, "queue": args.queue, "priorityClass": args.priority},
        },
    }


class TrainingJob(Component):
    """A PyTorchJob. The run is there when the API server has it; it starts when the queue lets the gang in."""

    run: pulumi.Output[str]
    account: pulumi.Output[str]

    def __init__(self, name: str, args: TrainingJobArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.account = service_account(self, args.run, args.namespace, args.granted)
        job = k8s.apiextensions.CustomResource(
            self.named("job"),
            api_version="kubeflow.org/v1",
            kind="PyTorchJob",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=args.run,
                namespace=args.namespace,
                # Pods go before the job does, or its queue is refused to be deleted while they still count.
                annotations={"pulumi.com/deletionPropagationPolicy": "foreground"},
            ),
            spec=pytorch_job(args, self.account),
            opts=self.child(
                depends_on=[args.operator, *args.nodes_ready],
                # The operator never touches pods that run: a changed spec would stand in the API and change nothing.
                replace_on_changes=["spec"],
                delete_before_replace=True,
            ),
        )
        self.run = job.id.apply(lambda _: args.run)
        self.register_outputs({"run": self.run})
