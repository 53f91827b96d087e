"""A gang-scheduled training run: one PyTorchJob, one pod per node, all pods or none (N02-N05, M02, M03).

A job of fixed size has one Master and n-1 Workers, an elastic one Workers alone (KJ02). `torchrun` gets no node count
or rendezvous flags; it reads the PET_* variables that the operator injects (KJ03, KJ06). NCCL keeps its defaults
(NC01-NC10), but where the fabric between nodes has no other witness it must be used or named (LF04).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.accounts import service_account
from components.platform.pods import PodShape
from components.platform.taints import Taint
from components.training.mpi_job import mpi_job
from components.training.pod import noted, pod_template
from components.training.saving import SaveTimes
from components.training.staging import Part
from components.training.train_job import API, train_job, training_runtime

OPERATORS_OWN = ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT")

FILES_KEY = "gpucluster/files"
"""Annotation of a run's pods: a hash of the files they find, so that a run with other files begins anew."""

JOIN_SECONDS = 900
"""How long an elastic run waits for its fewest nodes: images come, volumes are mounted (PyTorch's default is 600)."""


@dataclass(frozen=True, kw_only=True)
class RunData:
    """What a run reads: the directory `path` of a claim. `ready` are the resources that exist when it is whole."""

    claim: pulumi.Input[str]
    path: str
    ready: Sequence[pulumi.Resource] = ()


@dataclass(frozen=True, kw_only=True)
class SecretValue:
    """The value of `key` in the Secret `name` of the run's namespace."""

    name: pulumi.Input[str]
    key: str


@dataclass(frozen=True, kw_only=True)
class TrainingJobArgs:
    """A run of `nodes` pods on the pool's nodes, which all begin again at a checkpoint up to `restarts` times.

    `script` is what torchrun starts, after its own options. `files` are texts by directory and name, which every pod
    finds there. `measured` keeps it to nodes that a gate was content with. With `elastic` the run goes on with so many
    nodes at least, and has no fixed master. Claims, queue and priority are names that resolve when the things exist;
    `granted` resolves when pods of the account named like the run have their rights in the object store. `operator`
    accepts PyTorchJobs, `nodes_ready` is the pool's node group, and what shows that GPUs work. Without `data` there is
    none for it. `local` is the source of the volume on a node's own disks: saves go there first where `saving` says so,
    and with `staging` the data, or a node's shard of it, before the ranks start. On `metrics_port` the script of rank 0
    tells of the run (monitoring/run_metrics.py); None where it does not. It is ended `deadline_seconds` after it was
    made. With `launcher` mpi it is an MPIJob, and `operator` accepts those; by `api` v2 a TrainJob. `lineage` are
    words about what it is made of, kept with the job, `labels` those of them by which it is found. `secrets` are
    variables by name, out of Secrets. With `tier` the gang stays in one HyperNode of that tier, which by `api` v1
    nobody can say.
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
    checkpoint_claim: pulumi.Input[str]
    operator: pulumi.Resource
    nodes_ready: Sequence[pulumi.Resource]
    env: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    secrets: Mapping[str, SecretValue] = field(default_factory=dict)
    data: RunData | None = None
    saving: SaveTimes | None = None
    local: Mapping[str, Any] | None = None
    metrics_port: int | None = None
    elastic: int | None = None
    measured: bool = False
    staging: Part = "none"
    deadline_seconds: int | None = None
    lineage: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    launcher: Literal["torchrun", "mpi"] = "torchrun"
    api: Literal["v1", "v2"] = "v1"
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tier: int | None = None

    def __post_init__(self) -> None:
        if self.nodes < 1:
            raise ValueError(f"{self.run}: a run needs at least one node")
        if self.elastic is not None and not 1 <= self.elastic <= self.nodes:
            raise ValueError(f"{self.run}: elastic is {self.elastic}; it must be between 1 and {self.nodes} nodes")
        if self.saving and self.saving.local and self.local is None:
            raise ValueError(f"{self.run}: checkpoints go to the nodes' local disks first; pass local, a volume there")
        if self.staging != "none" and (self.data is None or self.local is None):
            raise ValueError(f"{self.run}: staging copies data to the nodes' local disks; pass data and local")
        if self.tier is not None and self.api == "v1":
            raise ValueError(f"{self.run}: only pod groups of api v2 have a tier; remove it")
        if self.staging == "shard" and self.elastic is not None:
            raise ValueError(
                f"{self.run}: staging: shard needs a fixed number of nodes, which an elastic run does not have"
            )
        for name in (*self.env, *self.secrets):
            if name in OPERATORS_OWN or name.startswith("PET_"):
                raise ValueError(f"{self.run}: {name} is set by the training operator; remove it from env")


def pytorch_job(args: TrainingJobArgs, account: pulumi.Input[str]) -> dict[str, Any]:
    """Spec of the PyTorchJob: a gang whose PodGroup starts at `nodes` pods, an elastic one at its fewest (KJ09)."""
    least = args.nodes if args.elastic is None else args.elastic
    return {
        "nprocPerNode": str(args.shape.gpus),
        **({"elasticPolicy": elastic_policy(args, least)} if args.elastic is not None else {}),
        "pytorchReplicaSpecs": _replicas(args, account),
        "runPolicy": {
            # The operator adds up the restarts of all pods, and each failure restarts every one of them (KJ08).
            "backoffLimit": args.restarts * args.nodes + 1,
            "cleanPodPolicy": "Running",
            **({"activeDeadlineSeconds": args.deadline_seconds} if args.deadline_seconds else {}),
            "schedulingPolicy": {"minAvailable": least, "queue": args.queue, "priorityClass": args.priority},
        },
    }


def _replicas(args: TrainingJobArgs, account: pulumi.Input[str]) -> dict[str, Any]:
    """Workers alone where the run is elastic: a Master would decide alone when it is done, and count apart (KJ02).

    There torchrun gives rank 0 to any of them; else the Master has it.
    """
    if args.elastic is not None:
        return {"Worker": {"replicas": args.nodes, **_replica(args, account, first=True)}}
    replicas: dict[str, Any] = {"Master": {"replicas": 1, **_replica(args, account, first=True)}}
    if args.nodes > 1:
        replicas["Worker"] = {"replicas": args.nodes - 1, **_replica(args, account, first=False)}
    return replicas


def _replica(args: TrainingJobArgs, account: pulumi.Input[str], *, first: bool) -> dict[str, Any]:
    template = pod_template(args, account, config_maps(args), first=first)
    digest = {FILES_KEY: _digest(args.files)} if args.files else {}
    if digest:
        template["metadata"]["annotations"] = {**template["metadata"].get("annotations", {}), **digest}
    return {"restartPolicy": "OnFailure", "template": template}


def elastic_policy(args: TrainingJobArgs, least: int) -> dict[str, Any]:
    """torchrun's dynamic rendezvous at the first worker; `rdzvConf` is the field that the API has (KJ05, N09)."""
    return {
        "rdzvBackend": "c10d",
        "minReplicas": least,
        "maxReplicas": args.nodes,
        "maxRestarts": args.restarts,
        "rdzvConf": [{"key": "join_timeout", "value": str(JOIN_SECONDS)}],
    }


def config_maps(args: TrainingJobArgs) -> dict[str, str]:
    """Name of the ConfigMap that holds a directory's files, by the directory."""
    return {each: f"{args.run}-{each.rpartition('/')[2]}" for each in args.files}


def _digest(files: Mapping[str, Mapping[str, str]]) -> str:
    text = json.dumps({each: dict(content) for each, content in files.items()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class TrainingJob(Component):
    """A PyTorchJob. The run is there when the API server has it; it starts when the queue lets the gang in."""

    run: pulumi.Output[str]
    account: pulumi.Output[str]

    def __init__(self, name: str, args: TrainingJobArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.account = service_account(self, args.run, args.namespace, args.granted)
        files = [
            k8s.core.v1.ConfigMap(
                self.named(each.rpartition("/")[2]),
                metadata=k8s.meta.v1.ObjectMetaArgs(name=config_map, namespace=args.namespace),
                data=args.files[each],
                opts=self.child(),
            )
            for each, config_map in config_maps(args).items()
        ]
        kind, api, spec, before = self._job(args)
        job = k8s.apiextensions.CustomResource(
            self.named("job"),
            api_version=api,
            kind=kind,
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=args.run,
                namespace=args.namespace,
                labels=dict(args.labels) or None,
                # Pods go before the job does, or its queue is refused to be deleted while they still count.
                annotations={
                    "pulumi.com/deletionPropagationPolicy": "foreground",
                    **noted(args.lineage),
                },
            ),
            spec=spec,
            opts=self.child(
                depends_on=[args.operator, *args.nodes_ready, *files, *before, *(args.data.ready if args.data else ())],
                # The operator never touches pods that run: a changed spec would stand in the API and change nothing.
                replace_on_changes=["spec"],
                delete_before_replace=True,
            ),
        )
        self.run = job.id.apply(lambda _: args.run)
        self.register_outputs({"run": self.run})

    def _job(self, args: TrainingJobArgs) -> tuple[str, str, dict[str, Any], list[pulumi.Resource]]:
        """The run's kind, that of its API, its spec, and what it needs of its own before it."""
        if args.launcher == "mpi":
            return "MPIJob", "kubeflow.org/v2beta1", mpi_job(args, self.account, config_maps(args)), []
        if args.api == "v1":
            return "PyTorchJob", "kubeflow.org/v1", pytorch_job(args, self.account), []
        runtime = k8s.apiextensions.CustomResource(
            self.named("runtime"),
            api_version=API,
            kind="TrainingRuntime",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=args.run, namespace=args.namespace),
            spec=training_runtime(args, self.account, config_maps(args)),
            opts=self.child(replace_on_changes=["spec"], delete_before_replace=True),
        )
        return "TrainJob", API, train_job(args, self.account, args.run), [runtime]
