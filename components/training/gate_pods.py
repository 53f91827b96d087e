"""The pods of a gate, which measure a node alone or all nodes together, and their configuration."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pulumi

from components.platform.confinement import confined_values
from components.platform.node_files import node_files
from components.platform.pods import SHM, PodShape
from components.platform.scripted import IDENTITY
from components.platform.taints import GATE_KEY, GPU_PRODUCT_KEY, POOL_KEY, Taint, tolerations
from components.training.trainer import trainer_files

SCRIPTS, PLAN_DIRECTORY, FILES = "/opt/gpucluster/gates", "/etc/gpucluster/gate", "/gate"
PORT = 29_400
NEWCOMERS_KEY = "gpucluster/gate-newcomers"
KEPT_WHOLE = 256
"""Nodes whose verdicts fit whole in the ConfigMap of 1 MiB, 2.2 KB each, half as much again where much fails."""
BENCHMARK_STEPS, BENCHMARK_SECONDS = 25, 300
"""Of training: a step takes about a second, and the model's weights are made up first (assumed)."""


def gate_files(*, trains: bool = False) -> dict[str, str]:
    """Modules of the gate by name, and those of the trainer where nodes train."""
    return {**(trainer_files() if trains else {}), **node_files("gates/*.py")}


@dataclass(frozen=True, kw_only=True)
class GateTest:
    """An operation on a message of so many `bytes`, by `nodes` nodes, and its rates of bus bandwidth in GB/s."""

    test: str
    operation: str
    nodes: int
    bytes: int
    warn: float | None
    fail: float | None


@dataclass(frozen=True, kw_only=True)
class GatePairs:
    """Cards measured in pairs of nodes by `program`, `rounds` times with another one, in `seconds`.

    They pass from `warn` on and fail below `fail`, Gb/s; more than `latency_us` warns.
    """

    program: str
    warn: float | None
    fail: float | None
    latency_us: float | None
    rounds: int
    seconds: int


@dataclass(frozen=True, kw_only=True)
class GateBenchmark:
    """Training on one node: `words` of the trainer, the `model`, and the rate to expect in tokens per second."""

    model: str
    words: Sequence[str]
    tokens_per_s: float


@dataclass(frozen=True, kw_only=True)
class GateArgs:
    """A gate of `nodes` pods of `shape` on the pool's nodes, in the `image` of what is to run there.

    Each GPU has `links` of NVLink, 0 where nobody counts them, and copies with its `host` and each `peer` of its node
    at the GB/s of `copies`, where that says any. All ranks must use `provider` by `devices` of a node; without a fabric
    there are neither these nor `pairs`.
    `storage_mib` go to the claim and back, whose rates for a node are `write_gb_per_s` and `read_gb_per_s`. `files` are
    the script's, by name. It ends after `seconds`. `after` is what shows that GPUs work. A verdict holds for
    `expiry_days`, which a pod of the image `asker` enforces; without it they do not expire. With `benchmark` each node
    trains, too.
    """

    pool: str
    gpu_product: str
    taints: Sequence[Taint]
    namespace: pulumi.Input[str]
    nodes: int
    image: str
    shape: PodShape
    env: Mapping[str, str]
    files: Mapping[str, str]
    provider: str | None
    devices: int | None
    tests: Sequence[GateTest]
    pairs: GatePairs | None
    storage_mib: int
    write_gb_per_s: float | None
    read_gb_per_s: float | None
    claim: pulumi.Input[str]
    priority: pulumi.Input[str]
    seconds: int
    weekly: bool
    after: Sequence[pulumi.Resource]
    asker: str
    expiry_days: int | None = None
    links: int = 0
    copies: Mapping[str, float] = field(default_factory=dict)
    benchmark: GateBenchmark | None = None


def demanded(args: GateArgs) -> dict[str, Any]:
    """The file that the script reads."""
    plan = {
        "pool": args.pool,
        "gpus": args.shape.gpus,
        "links": args.links,
        "provider": args.provider,
        "devices": args.devices,
        "seconds": args.seconds // 2,
        "tests": [asdict(each) for each in args.tests],
        "pairs": asdict(args.pairs) if args.pairs else None,
        "storage": {
            "directory": FILES,
            "mib": args.storage_mib,
            "write_gb_per_s": args.write_gb_per_s,
            "read_gb_per_s": args.read_gb_per_s,
        },
    }
    if args.copies:
        plan["copies"] = dict(args.copies)
    if args.benchmark:
        plan["benchmark"] = _benchmark(args.benchmark, args.shape.gpus)
    return {"digest": digest(plan, args.image), **plan}


def _benchmark(asked: GateBenchmark, gpus: int) -> dict[str, Any]:
    """What a node starts, whose rate is the median of its steps."""
    begin = ["torchrun", "--standalone", f"--nproc-per-node={gpus}", f"{SCRIPTS}/train.py"]
    return {
        "model": asked.model,
        "words": [*begin, *asked.words, f"--steps={BENCHMARK_STEPS}"],
        "tokens_per_s": round(asked.tokens_per_s),
        "seconds": BENCHMARK_SECONDS,
    }


def digest(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


def container(args: GateArgs, name: str, *, alone: bool = False) -> dict[str, Any]:
    """The only one: it has all GPUs and cards of its node, which it measures `alone` or with the others."""
    network = args.shape.network
    values = {**network.env, **network.between, **args.env}
    fields = {
        "NODE_NAME": "spec.nodeName",
        **({} if alone else {"GATE_JOB": "metadata.labels['batch.kubernetes.io/job-name']"}),
    }
    return {
        "name": "gate",
        "image": args.image,
        "command": ["python3", f"{SCRIPTS}/gate.py"],
        "args": [
            f"--plan={PLAN_DIRECTORY}/plan.json",
            f"--identity={IDENTITY}",
            f"--config-map={name}-verdicts",
            *(["--brief"] if args.nodes > KEPT_WHOLE else []),
            *([] if alone else [f"--peer=$(GATE_JOB)-0.{name}:{PORT}"]),
        ],
        "env": [
            *({"name": each, "valueFrom": {"fieldRef": {"fieldPath": path}}} for each, path in fields.items()),
            *({"name": each, "value": value} for each, value in sorted(values.items())),
        ],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": args.shape.resources(),
        "securityContext": confined_values(capabilities=network.capabilities),
        "volumeMounts": [
            {"name": "scripts", "mountPath": SCRIPTS, "readOnly": True},
            {"name": "plan", "mountPath": PLAN_DIRECTORY, "readOnly": True},
            {"name": "files", "mountPath": FILES, "subPath": "gates"},
            {"name": "shm", "mountPath": SHM},
        ],
    }


def job_spec(args: GateArgs, name: str, account: pulumi.Input[str]) -> dict[str, Any]:
    """Spec of the Job, as the weekly one has it too."""
    return {
        "completionMode": "Indexed",
        "completions": args.nodes,
        "parallelism": args.nodes,
        "backoffLimit": args.nodes,
        "activeDeadlineSeconds": args.seconds,
        "template": {
            "metadata": _metadata(args, {GATE_KEY: args.pool}),
            "spec": {
                "subdomain": name,
                "restartPolicy": "Never",
                "containers": [container(args, name)],
                **_pod(args, name, account),
            },
        },
    }


def newcomers_spec(args: GateArgs, name: str, account: pulumi.Input[str]) -> dict[str, Any]:
    """Spec of the DaemonSet that measures a node without a label, each alone: one that is new, or was replaced."""
    unmeasured = {"matchExpressions": [{"key": GATE_KEY, "operator": "DoesNotExist"}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [unmeasured]}}
    labels = {NEWCOMERS_KEY: args.pool}
    return {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": _metadata(args, labels),
            "spec": {
                "affinity": {"nodeAffinity": affinity},
                "containers": [container(args, name, alone=True)],
                **_pod(args, name, account),
            },
        },
    }


def _metadata(args: GateArgs, labels: Mapping[str, str]) -> dict[str, Any]:
    annotations = args.shape.network.annotations
    return {"labels": dict(labels), **({"annotations": dict(annotations)} if annotations else {})}


def _pod(args: GateArgs, name: str, account: pulumi.Input[str]) -> dict[str, Any]:
    """It tolerates its own taint: a node that is mended passes again."""
    own = {"key": GATE_KEY, "operator": "Exists", "effect": "NoSchedule"}
    return {
        "serviceAccountName": account,
        "priorityClassName": args.priority,
        "nodeSelector": {POOL_KEY: args.pool, GPU_PRODUCT_KEY: args.gpu_product},
        "tolerations": [*tolerations(args.taints), own],
        "volumes": [
            {"name": "scripts", "configMap": {"name": f"{name}-scripts"}},
            {"name": "plan", "configMap": {"name": f"{name}-plan"}},
            {"name": "files", "persistentVolumeClaim": {"claimName": args.claim}},
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{args.shape.shm_mib}Mi"}},
        ],
    }
