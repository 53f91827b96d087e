"""What measures a pool's nodes before runs come to them, and again every week (P16-P19, LF04).

It is an indexed Job with a pod for each node: the deployment waits for it, a CronJob can repeat it, and its pods find
the first of them by name, which is all that NCCL needs to meet. A PyTorchJob is neither waited for nor repeated, and
who may make those may run anything. A node that fails is no failure of the Job: it is labelled and tainted, and what is
left goes on.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name
from components.platform.jobs import REPLACED_UNLESS_DONE
from components.platform.pods import SHM, PodShape
from components.platform.taints import GATE_KEY, GPU_PRODUCT_KEY, POOL_KEY, Taint, tolerations
from components.training.gate_rights import allow

SCRIPTS, PLAN_DIRECTORY, FILES = "/opt/gpucluster/gates", "/etc/gpucluster/gate", "/gate"
IDENTITY = "/var/run/secrets/kubernetes.io/serviceaccount"
PORT = 29_400
SUNDAYS = "0 3 * * 0"
NOT_AWAITED = {"pulumi.com/skipAwait": "true"}
"""Pulumi would wait for pods behind a Service, which here come after it (pulumi-kubernetes, await/service.go)."""

_SOURCE = Path(__file__).parents[2] / "node" / "gates"


@cache
def gate_files() -> dict[str, str]:
    """Modules of the gate by name."""
    return {each.name: each.read_text(encoding="utf-8") for each in sorted(_SOURCE.glob("*.py"))}


@dataclass(frozen=True, kw_only=True)
class GateTest:
    """An operation on a message of `size` bytes, by `nodes` nodes, and its rates of bus bandwidth in GB/s."""

    test: str
    operation: str
    nodes: int
    size: int
    warn: float | None
    fail: float | None


@dataclass(frozen=True, kw_only=True)
class GateArgs:
    """A gate of `nodes` pods of `shape` on the pool's nodes, in the `image` of what is to run there.

    All ranks must use `provider` by `devices` of a node. `storage_mib` go to the claim and back, whose rates for a node
    are `write_gb_per_s` and `read_gb_per_s`. `files` are the script's, by name. It ends after `seconds`. `after` is
    what shows that GPUs work.
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
    provider: str
    devices: int | None
    tests: Sequence[GateTest]
    storage_mib: int
    write_gb_per_s: float | None
    read_gb_per_s: float | None
    claim: pulumi.Input[str]
    priority: pulumi.Input[str]
    seconds: int
    weekly: bool
    after: Sequence[pulumi.Resource]


def demanded(args: GateArgs) -> dict[str, Any]:
    """The file that the script reads."""
    plan = {
        "pool": args.pool,
        "gpus": args.shape.gpus,
        "provider": args.provider,
        "devices": args.devices,
        "seconds": args.seconds // 2,
        "tests": [
            {
                "test": each.test,
                "operation": each.operation,
                "nodes": each.nodes,
                "bytes": each.size,
                "warn": each.warn,
                "fail": each.fail,
            }
            for each in args.tests
        ],
        "storage": {
            "directory": FILES,
            "mib": args.storage_mib,
            "write_gb_per_s": args.write_gb_per_s,
            "read_gb_per_s": args.read_gb_per_s,
        },
    }
    return {"digest": _digest(plan, args.image), **plan}


def _digest(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


def container(args: GateArgs, name: str) -> dict[str, Any]:
    """The only one: it has all GPUs and cards of its node."""
    network = args.shape.network
    values = {**network.env, **network.between, **args.env}
    fields = {
        "NODE_NAME": "spec.nodeName",
        "GATE_JOB": "metadata.labels['batch.kubernetes.io/job-name']",
    }
    return {
        "name": "gate",
        "image": args.image,
        "command": ["python3", f"{SCRIPTS}/gate.py"],
        "args": [
            f"--plan={PLAN_DIRECTORY}/plan.json",
            f"--identity={IDENTITY}",
            f"--config-map={name}-verdicts",
            f"--peer=$(GATE_JOB)-0.{name}:{PORT}",
        ],
        "env": [
            *({"name": each, "valueFrom": {"fieldRef": {"fieldPath": path}}} for each, path in fields.items()),
            *({"name": each, "value": value} for each, value in sorted(values.items())),
        ],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": args.shape.resources(),
        **({"securityContext": {"capabilities": {"add": list(network.capabilities)}}} if network.capabilities else {}),
        "volumeMounts": [
            {"name": "scripts", "mountPath": SCRIPTS, "readOnly": True},
            {"name": "plan", "mountPath": PLAN_DIRECTORY, "readOnly": True},
            {"name": "files", "mountPath": FILES, "subPath": "gates"},
            {"name": "shm", "mountPath": SHM},
        ],
    }


def job_spec(args: GateArgs, name: str, account: pulumi.Input[str]) -> dict[str, Any]:
    """Spec of the Job, as the weekly one has it too. It tolerates its own taint: a node that is mended passes again."""
    network = args.shape.network
    own = {"key": GATE_KEY, "operator": "Exists", "effect": "NoSchedule"}
    return {
        "completionMode": "Indexed",
        "completions": args.nodes,
        "parallelism": args.nodes,
        "backoffLimit": args.nodes,
        "activeDeadlineSeconds": args.seconds,
        "template": {
            "metadata": {
                "labels": {GATE_KEY: args.pool},
                **({"annotations": dict(network.annotations)} if network.annotations else {}),
            },
            "spec": {
                "serviceAccountName": account,
                "subdomain": name,
                "restartPolicy": "Never",
                "priorityClassName": args.priority,
                "nodeSelector": {POOL_KEY: args.pool, GPU_PRODUCT_KEY: args.gpu_product},
                "tolerations": [*tolerations(args.taints), own],
                "containers": [container(args, name)],
                "volumes": [
                    {"name": "scripts", "configMap": {"name": f"{name}-scripts"}},
                    {"name": "plan", "configMap": {"name": f"{name}-plan"}},
                    {"name": "files", "persistentVolumeClaim": {"claimName": args.claim}},
                    {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{args.shape.shm_mib}Mi"}},
                ],
            },
        },
    }


class Gate(Component):
    """The measurement. `measured` is what exists after the first one: each node that answered has its verdict."""

    measured: k8s.batch.v1.Job

    def __init__(self, name: str, args: GateArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core, own, plan = k8s.core.v1, f"gate-{args.pool}", demanded(args)
        kept = self._config_map("verdicts", own, args)
        files = [
            self._config_map("scripts", own, args, args.files),
            self._config_map("plan", own, args, {"plan.json": json.dumps(plan, indent=1)}),
            core.Service(
                self.named("service"),
                core.ServiceInitArgs(
                    metadata=self._meta(own, args, NOT_AWAITED),
                    spec=core.ServiceSpecArgs(
                        cluster_ip="None",
                        selector={GATE_KEY: args.pool},
                        publish_not_ready_addresses=True,
                        ports=[core.ServicePortArgs(name="meeting", port=PORT)],
                    ),
                ),
                self.child(),
            ),
        ]
        account = allow(self, own, args.pool, args.namespace, kept.metadata.name.apply(str))
        spec = job_spec(args, own, account)
        self.measured = k8s.batch.v1.Job(
            self.named("job"),
            k8s.batch.v1.JobInitArgs(
                # A Job's template cannot change, so other tests or another image are another Job.
                metadata=self._meta(
                    physical_name(own, _digest(plan, args.nodes), limit=52), args, REPLACED_UNLESS_DONE
                ),
                spec=spec,  # type: ignore[arg-type]
            ),
            self.child(
                depends_on=[*args.after, *files],
                custom_timeouts=pulumi.CustomTimeouts(create=f"{args.seconds}s", update=f"{args.seconds}s"),
            ),
        )
        if args.weekly:
            self._weekly(own, args, spec)
        self.register_outputs({"verdicts": f"{own}-verdicts"})

    def _weekly(self, own: str, args: GateArgs, spec: Mapping[str, Any]) -> None:
        k8s.batch.v1.CronJob(
            self.named("weekly"),
            k8s.batch.v1.CronJobInitArgs(
                metadata=self._meta(f"{own}-weekly", args),
                spec=k8s.batch.v1.CronJobSpecArgs(
                    schedule=SUNDAYS,
                    concurrency_policy="Forbid",
                    successful_jobs_history_limit=1,
                    failed_jobs_history_limit=1,
                    job_template=k8s.batch.v1.JobTemplateSpecArgs(spec=spec),  # type: ignore[arg-type]
                ),
            ),
            self.child(depends_on=[self.measured]),
        )

    def _config_map(
        self, role: str, own: str, args: GateArgs, data: Mapping[str, str] | None = None
    ) -> k8s.core.v1.ConfigMap:
        return k8s.core.v1.ConfigMap(
            self.named(role),
            k8s.core.v1.ConfigMapInitArgs(metadata=self._meta(f"{own}-{role}", args), data=data and dict(data)),
            self.child(),
        )

    def _meta(self, name: str, args: GateArgs, annotations: Mapping[str, str] | None = None) -> Any:
        return k8s.meta.v1.ObjectMetaArgs(
            name=name, namespace=args.namespace, annotations=dict(annotations) if annotations else None
        )
