"""The key of an external tracker, as a Secret in the runs' namespace."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

SECRET, KEY = "tracking-key", "key"


@dataclass(frozen=True, kw_only=True)
class TrackingKeyArgs:
    """The key, and the namespace of the runs that tell the tracker."""

    namespace: pulumi.Input[str]
    key: pulumi.Input[str]


class TrackingKey(Component):
    """The key under KEY. `secret` resolves to the Secret's name."""

    secret: pulumi.Output[str]

    def __init__(self, name: str, args: TrackingKeyArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        kept = k8s.core.v1.Secret(
            self.named("secret"),
            metadata=k8s.meta.v1.ObjectMetaArgs(name=SECRET, namespace=args.namespace),
            string_data={KEY: pulumi.Output.secret(args.key)},
            opts=self.child(),
        )
        self.secret = kept.metadata.name.apply(str)
        self.register_outputs({"secret": self.secret})
