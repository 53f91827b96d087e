"""Volcano queues: shares of the cluster by weight, with an optional cap in GPUs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.taints import GPU_RESOURCE


@dataclass(frozen=True, kw_only=True)
class QueueSpec:
    """A queue. What a `reclaimable` queue uses beyond its share is taken back when others ask for theirs."""

    name: str
    weight: int
    gpus: int | None = None
    reclaimable: bool = True


@dataclass(frozen=True, kw_only=True)
class QueuesArgs:
    """`scheduler` is what shows that Volcano admits queues."""

    queues: Sequence[QueueSpec]
    scheduler: pulumi.Resource


class Queues(Component):
    """Queues by name."""

    names: Mapping[str, pulumi.Output[str]]

    def __init__(self, name: str, args: QueuesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.names = {spec.name: self._create(spec, args.scheduler) for spec in args.queues}
        self.register_outputs({"queues": sorted(self.names)})

    def _create(self, spec: QueueSpec, scheduler: pulumi.Resource) -> pulumi.Output[str]:
        body: dict[str, object] = {"weight": spec.weight, "reclaimable": spec.reclaimable}
        if spec.gpus is not None:
            body["capability"] = {GPU_RESOURCE: str(spec.gpus)}
        queue = k8s.apiextensions.CustomResource(
            self.named(spec.name),
            api_version="scheduling.volcano.sh/v1beta1",
            kind="Queue",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=spec.name),
            spec=body,
            opts=self.child(depends_on=[scheduler]),
        )
        return queue.id.apply(lambda _: spec.name)
