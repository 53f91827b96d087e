"""Evaluations and exports of a run: a job of one node on each new checkpoint, or on the last one.

A CronJob without a GPU asks; it makes a PyTorchJob when there is a checkpoint that nobody looked at. So no GPU is taken
to find out that there is nothing to do, and what was done is known to Kubernetes, not to the deployment.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.accounts import service_account
from components.platform.confinement import confined, confined_values
from components.platform.jobs import repeated_job, schedule
from components.platform.node_files import node_files
from components.platform.pods import SHM, PodShape
from components.platform.scripted import IDENTITY
from components.platform.taints import GPU_PRODUCT_KEY, POOL_KEY, Taint, tolerations
from components.training.follow_up_rights import allow
from components.training.pod import CONTAINER, MEASURED, RUN_KEY, noted
from components.training.saving import CHECKPOINTS, saves

RESULTS = "/results"
ASKS_KEY = "gpucluster/asks-for"
"""Label of the pods that ask, by which they reach the API server: the follow-up's name."""

FOLLOW_UP_KEY = "gpucluster/follow-up"
SCRIPTS, TEMPLATE = "/opt/gpucluster/follow-up", "job.json"


def follow_up_files() -> dict[str, str]:
    """Modules of what asks, by name: its own, what knows checkpoints, and what speaks with the API server."""
    return node_files("follow_up/ask.py", "staging/pumping.py", "trainer/saves.py", "gates/publish.py")


@dataclass(frozen=True, kw_only=True)
class FollowUpArgs:
    """The follow-up `name` of `run`, on a node of the pool, in `image`; `asker` is an image with Python.

    It is looked for `every_seconds`, or with `after_end` once that run has ended. `granted` resolves when its pods have
    their rights at `results_uri`. `labels` and `lineage` say what its jobs are made of.
    """

    run: str
    name: str
    namespace: pulumi.Input[str]
    image: str
    asker: str
    script: Sequence[str]
    shape: PodShape
    pool: str
    gpu_product: str
    taints: Sequence[Taint]
    queue: pulumi.Input[str]
    priority: pulumi.Input[str]
    granted: pulumi.Input[str]
    checkpoint_claim: pulumi.Input[str]
    results_uri: pulumi.Input[str]
    after_end: bool
    every_seconds: int
    deadline_seconds: int
    keep_seconds: int
    after: Sequence[pulumi.Resource]
    files: Mapping[str, str]
    measured: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    lineage: Mapping[str, str] = field(default_factory=dict)

    @property
    def own(self) -> str:
        """The name of its objects, and the beginning of its jobs' names."""
        return f"{self.run}-{self.name}"


def job(args: FollowUpArgs, account: pulumi.Input[str]) -> dict[str, Any]:
    """The PyTorchJob without its checkpoint. One that fails is not tried again: its script would fail again."""
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {
            "labels": {**args.labels, FOLLOW_UP_KEY: args.own},
            "annotations": noted(args.lineage),
        },
        "spec": {
            "nprocPerNode": str(args.shape.gpus),
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "restartPolicy": "Never", "template": _pod(args, account)}
            },
            "runPolicy": {
                "cleanPodPolicy": "Running",
                "activeDeadlineSeconds": args.deadline_seconds,
                "ttlSecondsAfterFinished": args.keep_seconds,
                "schedulingPolicy": {"minAvailable": 1, "queue": args.queue, "priorityClass": args.priority},
            },
        },
    }


def _pod(args: FollowUpArgs, account: pulumi.Input[str]) -> dict[str, Any]:
    """It reads the run's checkpoints and writes to a directory of its own. It has no need of the fabric."""
    env: dict[str, pulumi.Input[str]] = {
        "CHECKPOINT_PATH": CHECKPOINTS,
        "RESULTS_DIR": RESULTS,
        "RESULTS_URI": args.results_uri,
    }
    claim = {"persistentVolumeClaim": {"claimName": args.checkpoint_claim}}
    return {
        "metadata": {"labels": {**args.labels, RUN_KEY: args.own}},
        "spec": {
            "schedulerName": "volcano",
            "priorityClassName": args.priority,
            "serviceAccountName": account,
            "nodeSelector": {POOL_KEY: args.pool, GPU_PRODUCT_KEY: args.gpu_product},
            **({"affinity": MEASURED} if args.measured else {}),
            "tolerations": tolerations(args.taints),
            "containers": [
                {
                    "name": CONTAINER,
                    "image": args.image,
                    "command": ["torchrun"],
                    "args": list(args.script),
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                    "env": [{"name": name, "value": value} for name, value in env.items()],
                    "resources": args.shape.resources(),
                    "securityContext": confined_values(),
                    "volumeMounts": [
                        {
                            "name": "checkpoints",
                            "mountPath": CHECKPOINTS,
                            "subPath": saves(args.run),
                            "readOnly": True,
                        },
                        {"name": "checkpoints", "mountPath": RESULTS, "subPath": f"results/{args.run}/{args.name}"},
                        {"name": "shm", "mountPath": SHM},
                    ],
                }
            ],
            "volumes": [
                {"name": "checkpoints", **claim},
                {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{args.shape.shm_mib}Mi"}},
            ],
        },
    }


class FollowUp(Component):
    """What asks, and its rights. Jobs are made as the run goes on, and go with the ConfigMap of what was done."""

    def __init__(self, name: str, args: FollowUpArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core = k8s.core.v1
        account = service_account(self, args.own, args.namespace, args.granted)
        done = core.ConfigMap(
            self.named("done"),
            core.ConfigMapInitArgs(metadata=_meta(args.own, args.namespace)),
            self.child(ignore_changes=["data"]),
        )
        manifest = pulumi.Output.json_dumps(job(args, account), indent=1)
        script = core.ConfigMap(
            self.named("script"),
            core.ConfigMapInitArgs(
                metadata=_meta(f"{args.own}-script", args.namespace), data={**args.files, TEMPLATE: manifest}
            ),
            self.child(),
        )
        asks = f"{args.own}-asks"
        allowed = allow(self, asks, args.namespace, args.own, account=args.own, image=args.image)
        k8s.batch.v1.CronJob(
            self.named("schedule"),
            repeated_job(
                name=asks,
                namespace=args.namespace,
                schedule=f"*/{args.every_seconds // 60} * * * *" if args.after_end else schedule(args.every_seconds),
                pod=_asker(args, allowed, script.metadata.name.apply(str)),
                backoff_limit=1,
                # The hashes of a checkpoint of some TB take their time.
                seconds=max(args.every_seconds, 4 * 3600),
            ),
            self.child(depends_on=[done, *args.after]),
        )
        self.register_outputs({"name": args.own})


def _asker(
    args: FollowUpArgs, account: pulumi.Input[str], script: pulumi.Input[str]
) -> k8s.core.v1.PodTemplateSpecArgs:
    """It runs where ordinary pods do, and marks the checkpoint that is looked at, so that it is not pruned."""
    core = k8s.core.v1
    words = [
        f"--identity={IDENTITY}",
        f"--name={args.own}",
        f"--checkpoints={CHECKPOINTS}",
        f"--job={SCRIPTS}/{TEMPLATE}",
        *([f"--after={args.run}"] if args.after_end else []),
    ]
    amounts = {"cpu": "1", "memory": "256Mi"}
    return core.PodTemplateSpecArgs(
        metadata=k8s.meta.v1.ObjectMetaArgs(labels={ASKS_KEY: args.own}),
        spec=core.PodSpecArgs(
            service_account_name=account,
            restart_policy="Never",
            containers=[
                core.ContainerArgs(
                    name="ask",
                    image=args.asker,
                    command=["python3", f"{SCRIPTS}/ask.py"],
                    args=words,
                    env=[core.EnvVarArgs(name="PYTHONDONTWRITEBYTECODE", value="1")],
                    termination_message_policy="FallbackToLogsOnError",
                    resources=core.ResourceRequirementsArgs(limits=amounts, requests=amounts),
                    security_context=confined(writes=False),
                    volume_mounts=[
                        core.VolumeMountArgs(name="script", mount_path=SCRIPTS, read_only=True),
                        core.VolumeMountArgs(name="checkpoints", mount_path=CHECKPOINTS, sub_path=saves(args.run)),
                    ],
                )
            ],
            volumes=[
                core.VolumeArgs(name="script", config_map=core.ConfigMapVolumeSourceArgs(name=script)),
                core.VolumeArgs(
                    name="checkpoints",
                    persistent_volume_claim=core.PersistentVolumeClaimVolumeSourceArgs(
                        claim_name=args.checkpoint_claim
                    ),
                ),
            ],
        ),
    )


def _meta(name: str, namespace: pulumi.Input[str]) -> k8s.meta.v1.ObjectMetaArgs:
    return k8s.meta.v1.ObjectMetaArgs(name=name, namespace=namespace)
