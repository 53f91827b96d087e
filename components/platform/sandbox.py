"""The RuntimeClass of pods that run untrusted code: in gVisor, on the nodes that have it.

The API server's admission gives such a pod the class' node selector, and refuses one of a class that is not there.
Source: Kubernetes documentation, "Runtime Class"; gVisor user guide, "Containerd Quick Start".
"""

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

CLASS, HANDLER = "gvisor", "runsc"
SANDBOX_KEY = "gpucluster/sandbox"
"""Label of nodes that have it, whose value is the class."""


class Sandbox(Component):
    """The class `gvisor`."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        made = k8s.node.v1.RuntimeClass(
            self.named("class"),
            metadata=k8s.meta.v1.ObjectMetaArgs(name=CLASS),
            handler=HANDLER,
            scheduling=k8s.node.v1.SchedulingArgs(node_selector={SANDBOX_KEY: CLASS}),
            opts=self.child(),
        )
        self.register_outputs({"class": made.metadata.name})
