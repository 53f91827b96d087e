"""Waits until the GPU Operator's ClusterPolicy is ready, before workloads are created (K02).

Without it, `up` would blame the gangs and servers that wait for GPUs, and not the operator that knows why there are
none.
"""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.kubectl import KubectlJobArgs, kubectl_job, rights

POLICY, VALIDATOR = "cluster-policy", "nvidia-operator-validator"
"""What the chart and the operator name them."""
READ = ("get", "list", "watch")
MINUTES = 50


PATIENCE = "--timeout=300s"
READY = ["wait", "--for=jsonpath={.status.state}=ready", PATIENCE, f"clusterpolicies.nvidia.com/{POLICY}"]
VALIDATED = ["rollout", "status", PATIENCE, f"daemonset/{VALIDATOR}"]
FOUND = ["wait", "--for=create", PATIENCE, f"daemonset/{VALIDATOR}"]
"""Calls of kubectl that succeed when the GPUs of all nodes work.

The operator's state is `ready` as well before it has found a GPU node, and in the moment before its parts have pods. So
where there are to be GPU nodes, it must have made its parts first, which it does when it finds one; then the validator,
which tries driver, toolkit and device plugin, must have passed on each as well.
"""


@dataclass(frozen=True, kw_only=True)
class GpuReadinessArgs:
    """`gpu_nodes` says whether GPU nodes are asked for now; another `revision` of the operator is waited for anew."""

    namespace: pulumi.Input[str]
    image: str
    gpu_nodes: bool
    revision: str
    operator: pulumi.Resource


class GpuReadiness(Component):
    """Waits for the operator's parts on every GPU node that is there. `ready` is what exists when they run.

    It comes after the operator and after no pool: one that cannot be filled keeps nothing from running on the others.
    """

    ready: k8s.batch.v1.Job

    def __init__(self, name: str, args: GpuReadinessArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        job = KubectlJobArgs(
            namespace=args.namespace,
            image=args.image,
            rights=[
                rights("nvidia.com", "clusterpolicies", READ, [POLICY]),
                rights("apps", "daemonsets", READ, [VALIDATOR]),
            ],
            first={"found": FOUND} if args.gpu_nodes else {},
            commands={"validated": VALIDATED, "ready": READY} if args.gpu_nodes else {"ready": READY},
            minutes=MINUTES,
            revision=args.revision,
            after=[args.operator],
        )
        self.ready = kubectl_job(self, "wait", job)
        self.register_outputs({})
