"""The pod of a training run: its devices, data and environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pulumi

from components.platform.confinement import confined_values
from components.platform.pods import SHM, PodShape
from components.platform.taints import GATE_KEY, GPU_PRODUCT_KEY, POOL_KEY, tolerations
from components.training import copier
from components.training.saving import CHECKPOINTS, DATA, LOCAL, grace_seconds, saves, told
from components.training.staging import PLACE, SCRIPTS, container, name_of
from monitoring.run_metrics import PORT_NAME, PORT_VARIABLE

if TYPE_CHECKING:
    from components.training.job import SecretValue, TrainingJobArgs

CONTAINER = "pytorch"
"""The operator's webhook refuses a replica without a container of this name (KJ01)."""

MEASURED: Mapping[str, Any] = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": GATE_KEY, "operator": "In", "values": ["pass", "warn"]}]}
            ]
        }
    }
}
"""Nodes that a gate was content with; a new one is measured first."""

RECORDED = 20_000
"""Collectives that a rank remembers (aws-samples' training jobs have as many)."""

RUN_KEY = "gpucluster/run"
"""Label of a run's pods: its name."""


def noted(lineage: Mapping[str, str]) -> dict[str, str]:
    """The words about what a job is made of, as its annotations."""
    return {f"gpucluster/{key}": value for key, value in lineage.items()}


def affinity(run: str, *, measured: bool, near: str | None) -> dict[str, Any]:
    """Where the pods of a run belong: on nodes that passed their gate, and by a label of nodes `near` each other.

    The training operator writes all of its PodGroups' specs and knows no networkTopology (training-operator v1.9.3,
    pkg/controller.v1/common/job.go), nor does mpi-operator. So each pod prefers the nodes near those that the run has.
    """
    pods: dict[str, Any] = {"topologyKey": near, "labelSelector": {"matchLabels": {RUN_KEY: run}}}
    together = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": pods}]}
    return {**(MEASURED if measured else {}), **({"podAffinity": together} if near else {})}


def telling(port: int | None) -> dict[str, pulumi.Input[str]]:
    """What the script finds in its environment of where to tell of itself."""
    return {} if port is None else {PORT_VARIABLE: str(port)}


def recorder(ranks: int) -> dict[str, pulumi.Input[str]]:
    """NCCL's flight recorder: what each rank waited for when PyTorch's watchdog gave a collective up, beside the saves.

    The watchdog does so after ten minutes by itself, and ends the process. Names of before PyTorch 2.10, which later
    ones read too (torch/csrc/distributed/c10d, FlightRecorder.hpp, NCCLUtils.cpp: DebugInfoWriter).
    """
    if ranks < 2:
        return {}
    return {
        "TORCH_NCCL_TRACE_BUFFER_SIZE": str(RECORDED),
        "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": f"{CHECKPOINTS}/nccl-trace-rank-",
    }


def environment(
    shape: PodShape,
    nodes: int,
    extra: Mapping[str, pulumi.Input[str]],
    secrets: Mapping[str, SecretValue] | None = None,
) -> list[dict[str, Any]]:
    """Environment of a rank: warnings of NCCL, what the fabric needs, between nodes too, and what the run adds."""
    between = shape.network.between if nodes > 1 else {}
    env: dict[str, pulumi.Input[str]] = {"NCCL_DEBUG": "WARN", **shape.network.env, **between, **extra}
    plain = [{"name": name, "value": value} for name, value in sorted(env.items())]
    kept = [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": each.name, "key": each.key}}}
        for name, each in sorted((secrets or {}).items())
    ]
    return [*plain, *kept]


def pod_template(
    args: TrainingJobArgs, account: pulumi.Input[str], config_maps: Mapping[str, str] | None = None, *, first: bool
) -> dict[str, Any]:
    """Pod template of a replica; `config_maps` go by the directories where their files lie. Where it may be the `first`
    rank's, the port on which that one tells of the run has a name, by which it is scraped.

    `/dev/shm` is memory, limited below the pod's own limit (AA06).

    Of the shared file system a run sees the directories of its own data and checkpoints, and no other's (LF14).
    """
    claims = {"checkpoints": (args.checkpoint_claim, False)}
    mounts: list[dict[str, Any]] = [{"name": "checkpoints", "mountPath": CHECKPOINTS, "subPath": saves(args.run)}]
    saving, network = told(args.saving) if args.saving else {}, args.shape.network
    staged = args.data if args.staging != "none" else None
    if args.data:
        claims["data"] = (args.data.claim, True)
        mounts.append(
            {"name": "local", "mountPath": DATA, "subPath": f"{PLACE}/{name_of(staged.path)}", "readOnly": True}
            if staged
            else {"name": "data", "mountPath": DATA, "subPath": args.data.path, "readOnly": True}
        )
        saving["DATASET_DIR"] = DATA
    saves_there = bool(args.saving and args.saving.local)
    local = [{"name": "local", **args.local}] if args.local and (saves_there or staged) else []
    before: list[dict[str, Any]] = []
    if staged:
        worker, script = not first, (config_maps or {})[SCRIPTS]
        before = [container(args.image, args.shape, staged.path, args.staging, args.nodes, script, worker=worker)]
    shape = args.shape
    if args.saving and (args.saving.sidecar == "local" or (args.saving.sidecar and first)):
        shape, beside = copier.shared(shape)
        files = (config_maps or {})[copier.FILES]
        before.append(copier.container(args.image, beside, args.saving, args.run, args.nodes, files, first=first))
    placed = affinity(args.run, measured=args.measured, near=network.near if args.nodes > 1 else None)
    return {
        "metadata": {
            "labels": {RUN_KEY: args.run},
            **({"annotations": dict(network.annotations)} if network.annotations else {}),
        },
        "spec": {
            "schedulerName": "volcano",
            "priorityClassName": args.priority,
            "serviceAccountName": account,
            "nodeSelector": {POOL_KEY: args.pool, GPU_PRODUCT_KEY: args.gpu_product},
            **({"affinity": placed} if placed else {}),
            "tolerations": tolerations(args.taints),
            **({"terminationGracePeriodSeconds": grace_seconds(args.saving)} if args.saving else {}),
            **({"initContainers": before} if before else {}),
            "containers": [
                {
                    "name": CONTAINER,
                    "image": args.image,
                    "command": ["torchrun"],
                    "args": list(args.script),
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                    "env": environment(
                        args.shape,
                        args.nodes,
                        {
                            **recorder(args.nodes * args.shape.gpus),
                            **saving,
                            **telling(args.metrics_port),
                            **args.env,
                        },
                        args.secrets,
                    ),
                    **(
                        {"ports": [{"name": PORT_NAME, "containerPort": args.metrics_port}]}
                        if args.metrics_port and first
                        else {}
                    ),
                    "resources": shape.resources(),
                    "securityContext": confined_values(capabilities=network.capabilities),
                    "volumeMounts": [
                        *mounts,
                        *([{"name": "local", "mountPath": LOCAL}] if saves_there else []),
                        {"name": "shm", "mountPath": SHM},
                        *(
                            {"name": name, "mountPath": directory, "readOnly": True}
                            for directory, name in (config_maps or {}).items()
                            if directory != copier.FILES
                        ),
                    ],
                }
            ],
            "volumes": [
                *(
                    {"name": name, "persistentVolumeClaim": {"claimName": claim, "readOnly": read_only}}
                    for name, (claim, read_only) in claims.items()
                ),
                {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{args.shape.shm_mib}Mi"}},
                *local,
                *({"name": name, "configMap": {"name": name}} for name in (config_maps or {}).values()),
            ],
        },
    }
