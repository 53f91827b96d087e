"""Namespaces with their Pod Security level, shares of GPUs and default limits (J06, KJ20)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.pinned_memory import LABEL, LEVEL
from components.platform.taints import GPU_RESOURCE

PodSecurity = Literal["privileged", "baseline", "restricted"]

# What a container gets that asks for nothing, so that it cannot take a node's whole memory.
DEFAULT_REQUEST = {"cpu": "250m", "memory": "256Mi"}
DEFAULT_LIMIT = {"cpu": "2", "memory": "2Gi"}


@dataclass(frozen=True, kw_only=True)
class NamespaceSpec:
    """A namespace. With `pins_memory` it is `privileged` to Pod Security, and a policy of its own holds its pods to
    `baseline` and IPC_LOCK (`pinned_memory`). `gpus` are those that pods of a priority class may have in it, and `most`
    is a quota of all pods; with `limits` containers get default requests.

    A class that others give way to has no share here, or one that is all there is for it: a quota forbids a pod before
    any scheduler sees it, and who is forbidden preempts nobody.
    """

    name: str
    pod_security: PodSecurity
    pins_memory: bool = False
    gpus: Mapping[str, int] = field(default_factory=dict)
    most: Mapping[str, str] = field(default_factory=dict)
    limits: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class NamespacesArgs:
    """`after` are what outlives the namespaces: what removes the volumes of claims in them, say."""

    namespaces: Sequence[NamespaceSpec]
    after: Sequence[pulumi.Resource] = ()


class Namespaces(Component):
    """Namespaces by name. A name resolves when its quota and limits are in force."""

    names: Mapping[str, pulumi.Output[str]]

    def __init__(self, name: str, args: NamespacesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.names = {spec.name: self._create(spec, args.after) for spec in args.namespaces}
        self.register_outputs({"namespaces": sorted(self.names)})

    def _create(self, spec: NamespaceSpec, after: Sequence[pulumi.Resource]) -> pulumi.Output[str]:
        namespace = k8s.core.v1.Namespace(
            self.named(spec.name),
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=spec.name,
                labels={
                    "pod-security.kubernetes.io/enforce": spec.pod_security,
                    "pod-security.kubernetes.io/warn": spec.pod_security,
                    **({LABEL: LEVEL} if spec.pins_memory else {}),
                    **spec.labels,
                },
            ),
            opts=self.child(depends_on=list(after), custom_timeouts=pulumi.CustomTimeouts(delete="15m")),
        )
        name = namespace.metadata.name.apply(str)
        rules = [self._limit(spec, name)] if spec.limits else []
        rules += [self._restrict(spec, name, priority, gpus) for priority, gpus in spec.gpus.items()]
        rules += [self._quota(spec, name)] if spec.most else []
        return pulumi.Output.all(name, *rules).apply(lambda known: str(known[0]))

    def _limit(self, spec: NamespaceSpec, namespace: pulumi.Output[str]) -> pulumi.Output[str]:
        return k8s.core.v1.LimitRange(
            self.named(f"{spec.name}-limits"),
            metadata=k8s.meta.v1.ObjectMetaArgs(name="defaults", namespace=namespace),
            spec=k8s.core.v1.LimitRangeSpecArgs(
                limits=[
                    k8s.core.v1.LimitRangeItemArgs(
                        type="Container", default=DEFAULT_LIMIT, default_request=DEFAULT_REQUEST
                    )
                ]
            ),
            opts=self.child(),
        ).id

    def _quota(self, spec: NamespaceSpec, namespace: pulumi.Output[str]) -> pulumi.Output[str]:
        return k8s.core.v1.ResourceQuota(
            self.named(f"{spec.name}-quota"),
            k8s.core.v1.ResourceQuotaInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name="most", namespace=namespace),
                spec=k8s.core.v1.ResourceQuotaSpecArgs(hard=spec.most),
            ),
            self.child(),
        ).id

    def _restrict(
        self, spec: NamespaceSpec, namespace: pulumi.Output[str], priority: str, gpus: int
    ) -> pulumi.Output[str]:
        core = k8s.core.v1
        of_the_class = core.ScopedResourceSelectorRequirementArgs(
            scope_name="PriorityClass", operator="In", values=[priority]
        )
        return core.ResourceQuota(
            self.named(f"{spec.name}-{priority}-quota"),
            core.ResourceQuotaInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=f"gpus-{priority}", namespace=namespace),
                spec=core.ResourceQuotaSpecArgs(
                    # Kubernetes counts extended resources in quotas under the prefix `requests.` only.
                    hard={f"requests.{GPU_RESOURCE}": str(gpus)},
                    scope_selector=core.ScopeSelectorArgs(match_expressions=[of_the_class]),
                ),
            ),
            self.child(),
        ).id
