"""Gates: tests of a pool's nodes before runs are scheduled there, and again every week (P16-P19, LF04).

It is an indexed Job with a pod for each node: the deployment waits for it, a CronJob can repeat it, and its pods find
the first of them by name, which is all that NCCL needs to meet. A PyTorchJob is neither waited for nor repeated, and
who may make those may run anything. A node that fails is no failure of the Job: it is labelled and tainted, and what is
left goes on.
"""

import json
from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name
from components.platform.jobs import REPLACED_UNLESS_DONE
from components.platform.taints import GATE_KEY
from components.training.gate_expiry import expires
from components.training.gate_pods import PORT, GateArgs, demanded, job_spec, newcomers_spec
from components.training.gate_rights import allow

SUNDAYS = "0 3 * * 0"
NOT_AWAITED = {"pulumi.com/skipAwait": "true"}
"""Pulumi would wait for pods behind a Service, which here come after it (pulumi-kubernetes, await/service.go)."""

HELD = "gpucluster/holds"
"""Names the claim that the Job's pods mount. A claim that is replaced waits for every pod that mounts it, also for
those that have ended (Kubernetes, pvc_protection_controller.go), so the Job goes with it, though `spec` is ignored."""


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
                metadata=self._meta(
                    physical_name(own, args.gpu_product.lower().replace(".", "-"), limit=52),
                    args,
                    {**REPLACED_UNLESS_DONE, HELD: args.claim},
                ),
                spec=spec,  # type: ignore[arg-type]
            ),
            self.child(
                depends_on=[*args.after, *files],
                # Once in the life of a pool's nodes: later they belong to whoever holds them, and a change would wait.
                ignore_changes=["spec"],
                custom_timeouts=pulumi.CustomTimeouts(create=f"{args.seconds}s", update=f"{args.seconds}s"),
            ),
        )
        k8s.apps.v1.DaemonSet(
            self.named("newcomers"),
            k8s.apps.v1.DaemonSetInitArgs(
                metadata=self._meta(f"{own}-newcomers", args),
                spec=newcomers_spec(args, own, account),  # type: ignore[arg-type]
            ),
            self.child(depends_on=[self.measured]),
        )
        expires(self, own, args, self.measured)
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

    def _meta(self, name: str, args: GateArgs, annotations: Mapping[str, pulumi.Input[str]] | None = None) -> Any:
        return k8s.meta.v1.ObjectMetaArgs(
            name=name, namespace=args.namespace, annotations=dict(annotations) if annotations else None
        )
