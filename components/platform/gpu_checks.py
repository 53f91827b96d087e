"""Pods that check a pool's GPUs: that nodes have as many as planned, and that a pod can use one (J07, J08).

The GPU Operator's validator tries the driver on every node before this, with a pod that goes past the device plugin
(assets/state-operator-validation: WITH_WORKLOAD is false for the plugin). Left to see is whether an ordinary pod of the
pool gets a GPU, and how many GPUs and cards each node should offer, which the operator does not know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name
from components.platform.confinement import NOBODY, confined
from components.platform.jobs import one_off_job
from components.platform.kubectl import KubectlJobArgs, kubectl_job, rights
from components.platform.pods import toleration_args
from components.platform.taints import GPU_PRODUCT_KEY, GPU_RESOURCE, POOL_KEY, Taint

ADDS = "/usr/bin/vectorAdd"
"""The CUDA sample in the GPU Operator's image, which its nodes have already: its validator runs it too."""
PATIENCE_SECONDS = 300
COUNT_MINUTES, SMOKE_MINUTES = 10, 15


@dataclass(frozen=True, kw_only=True)
class GpuChecksArgs:
    """`offered` is what each node of the pool has to offer, by resource; another `revision` is counted anew.

    `image` is kubectl's, `smoke_image` the GPU Operator's. `after` are the pool's nodes and what shows that GPUs work.
    """

    namespace: pulumi.Input[str]
    pool: str
    gpu_product: str
    taints: Sequence[Taint]
    offered: Mapping[str, int]
    image: str
    smoke_image: str
    revision: str
    after: Sequence[pulumi.Resource]


def counting(pool: str, resource: str, count: int) -> list[str]:
    """A call of kubectl that succeeds when each node of the pool offers so many, and else names those that do not."""
    escaped = resource.replace(".", r"\.")
    return [
        "wait",
        f"--for=jsonpath={{.status.allocatable.{escaped}}}={count}",
        f"--timeout={PATIENCE_SECONDS}s",
        "nodes",
        f"-l={POOL_KEY}={pool}",
    ]


class GpuChecks(Component):
    """Computes on one GPU of a pool, and counts what its nodes offer. `works` is what exists after the first.

    A node that offers too little makes the deployment fail by its name; what fits on the others runs all the same.
    """

    works: k8s.batch.v1.Job

    def __init__(self, name: str, args: GpuChecksArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        job = KubectlJobArgs(
            namespace=args.namespace,
            image=args.image,
            rights=[rights("", "nodes", ("get", "list", "watch"))],
            commands={
                f"{resource.rpartition('/')[2]}-count": counting(args.pool, resource, count)
                for resource, count in args.offered.items()
            },
            minutes=COUNT_MINUTES,
            revision=args.revision,
            after=args.after,
        )
        kubectl_job(self, "count", job)
        self.works = self._smoke(args)
        self.register_outputs({})

    def _smoke(self, args: GpuChecksArgs) -> k8s.batch.v1.Job:
        """Once in the life of a pool's nodes: later its GPUs belong to whoever holds them, and a change would wait."""
        core = k8s.core.v1
        one = {GPU_RESOURCE: "1"}
        container = core.ContainerArgs(
            name="smoke",
            image=args.smoke_image,
            command=[ADDS],
            termination_message_policy="FallbackToLogsOnError",
            security_context=confined(user=NOBODY, writes=False),
            resources=core.ResourceRequirementsArgs(
                requests={"cpu": "100m", "memory": "256Mi", **one}, limits={"memory": "1Gi", **one}
            ),
        )
        return k8s.batch.v1.Job(
            self.named("smoke"),
            one_off_job(
                name=physical_name(self.pulumi_resource_name, args.gpu_product.lower().replace(".", "-"), limit=63),
                namespace=args.namespace,
                account=None,
                steps=[container],
                node_selector={POOL_KEY: args.pool, GPU_PRODUCT_KEY: args.gpu_product},
                tolerations=toleration_args(args.taints),
                automount=False,
                backoff_limit=2,
                seconds=SMOKE_MINUTES * 60,
            ),
            self.child(
                depends_on=args.after,
                ignore_changes=["spec"],
                custom_timeouts=pulumi.CustomTimeouts(create=f"{SMOKE_MINUTES}m", update=f"{SMOKE_MINUTES}m"),
            ),
        )
