"""Namespaces with their Pod Security level, quota and default limits (J06, KJ20)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.taints import GPU_RESOURCE

PodSecurity = Literal["privileged", "baseline", "restricted"]

# What a container gets that asks for nothing, so that it cannot take a node's whole memory.
DEFAULT_REQUEST = {"cpu": "250m", "memory": "256Mi"}
DEFAULT_LIMIT = {"cpu": "2", "memory": "2Gi"}


@dataclass(frozen=True, kw_only=True)
class NamespaceSpec:
    """A namespace. `gpus` is its quota of GPUs (None: no quota); with `limits` containers get default requests."""

    name: str
    pod_security: PodSecurity
    gpus: int | None = None
    limits: bool = False


@dataclass(frozen=True, kw_only=True)
class NamespacesArgs:
    namespaces: Sequence[NamespaceSpec]


class Namespaces(Component):
    """Namespaces by name. A name resolves when its quota and limits are in force."""

    names: Mapping[str, pulumi.Output[str]]

    def __init__(self, name: str, args: NamespacesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.names = {spec.name: self._create(spec) for spec in args.namespaces}
        self.register_outputs({"namespaces": sorted(self.names)})

    def _create(self, spec: NamespaceSpec) -> pulumi.Output[str]:
        namespace = k8s.core.v1.Namespace(
            self.named(spec.name),
            k8s.core.v1.NamespaceInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(
                    name=spec.name,
                    labels={
                        "pod-security.kubernetes.io/enforce": spec.pod_security,
                        "pod-security.kubernetes.io/warn": spec.pod_security,
                    },
                )
            ),
            self.child(custom_timeouts=pulumi.CustomTimeouts(delete="15m")),
        )
        name = namespace.metadata.name.apply(str)
        rules = [self._limit(spec, name)] if spec.limits else []
        if spec.gpus is not None:
            rules.append(self._restrict(spec, name, spec.gpus))
        return pulumi.Output.all(name, *rules).apply(lambda known: str(known[0]))

    def _limit(self, spec: NamespaceSpec, namespace: pulumi.Output[str]) -> pulumi.Output[str]:
        return k8s.core.v1.LimitRange(
            self.named(f"{spec.name}-limits"),
            k8s.core.v1.LimitRangeInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name="defaults", namespace=namespace),
                spec=k8s.core.v1.LimitRangeSpecArgs(
                    limits=[
                        k8s.core.v1.LimitRangeItemArgs(
                            type="Container", default=DEFAULT_LIMIT, default_request=DEFAULT_REQUEST
                        )
                    ]
                ),
            ),
            self.child(),
        ).id

    def _restrict(self, spec: NamespaceSpec, namespace: pulumi.Output[str], gpus: int) -> pulumi.Output[str]:
        return k8s.core.v1.ResourceQuota(
            self.named(f"{spec.name}-quota"),
            k8s.core.v1.ResourceQuotaInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name="gpus", namespace=namespace),
                # Kubernetes counts extended resources in quotas under the prefix `requests.` only.
                spec=k8s.core.v1.ResourceQuotaSpecArgs(hard={f"requests.{GPU_RESOURCE}": str(gpus)}),
            ),
            self.child(),
        ).id
