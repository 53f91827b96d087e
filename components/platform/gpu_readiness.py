"""The gate behind the GPU Operator: workloads come when its ClusterPolicy says that the nodes' GPUs work (K02).

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


def steps(gpu_nodes: bool) -> dict[str, list[str]]:
    """Calls of kubectl that succeed one after the other when the GPUs of all nodes work.

    The operator's state is `ready` as well before it has found a GPU node, and in the moment before its parts have
    pods. So where there are to be GPU nodes, it must have made its parts first, which it does when it finds one, and
    the validator, which tries driver, toolkit and device plugin, must have passed on each.
    """
    patience = "--timeout=300s"
    ready = {
        "ready": ["wait", "--for=jsonpath={.status.state}=ready", patience, f"clusterpolicies.nvidia.com/{POLICY}"]
    }
    if not gpu_nodes:
        return ready
    return {
        "found": ["wait", "--for=create", patience, f"daemonset/{VALIDATOR}"],
        "validated": ["rollout", "status", patience, f"daemonset/{VALIDATOR}"],
        **ready,
    }


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
            commands=steps(args.gpu_nodes),
            minutes=MINUTES,
            revision=args.revision,
            after=args.operator,
        )
        self.ready = kubectl_job(self, "wait", job)
        self.register_outputs({})
