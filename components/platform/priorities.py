"""Priority classes: who gives way to whom (A08). Inference answers people now; experiments can wait."""

from collections.abc import Mapping

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

PRIORITIES = {
    "inference": (100_000, "Serves people: never preempted by training"),
    "training": (10_000, "Planned training runs"),
    "experiments": (1_000, "Whatever can be stopped and started again"),
}


class Priorities(Component):
    """PriorityClasses by name."""

    names: Mapping[str, pulumi.Output[str]]

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.names = {
            each: k8s.scheduling.v1.PriorityClass(
                self.named(each),
                metadata=k8s.meta.v1.ObjectMetaArgs(name=each),
                value=value,
                description=description,
                global_default=False,
                preemption_policy="PreemptLowerPriority",
                opts=self.child(),
            ).metadata.name.apply(str)
            for each, (value, description) in PRIORITIES.items()
        }
        self.register_outputs({"priorities": sorted(self.names)})
