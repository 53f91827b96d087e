"""Teams: a namespace each, with its people's rights, its quota and the label of its queue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.namespaces import DEFAULT_LIMIT, DEFAULT_REQUEST
from components.platform.taints import GPU_RESOURCE
from components.platform.team_rights import QUEUE_KEY, TEAM_KEY


@dataclass(frozen=True, kw_only=True)
class TeamSpec:
    """A team. Groups are those of people, by their role; `storage_gib` are the volumes of its claims together.

    Pods of the priority classes `withheld` get no GPU here. All of the groups read in the namespaces of `read`, by what
    these are for.
    """

    name: str
    namespace: str
    queue: pulumi.Input[str]
    gpus: int
    storage_gib: int
    groups: Mapping[str, Sequence[str]]
    withheld: Sequence[str] = ()
    read: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TeamsArgs:
    """`roles` are the names of the cluster roles, by a person's role."""

    teams: Sequence[TeamSpec]
    roles: Mapping[str, pulumi.Input[str]]


class Teams(Component):
    """The namespaces, by the team's name. A name resolves when quota, limits and rights are in force."""

    namespaces: Mapping[str, pulumi.Output[str]]

    def __init__(self, name: str, args: TeamsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.namespaces = {spec.name: self._create(spec, args.roles) for spec in args.teams}
        self.register_outputs({"teams": sorted(self.namespaces)})

    def _create(self, spec: TeamSpec, roles: Mapping[str, pulumi.Input[str]]) -> pulumi.Output[str]:
        labels = {
            TEAM_KEY: spec.name,
            QUEUE_KEY: spec.queue,
            "pod-security.kubernetes.io/enforce": "baseline",
            "pod-security.kubernetes.io/warn": "baseline",
        }
        namespace = k8s.core.v1.Namespace(
            self.named(spec.name),
            k8s.core.v1.NamespaceInitArgs(metadata=k8s.meta.v1.ObjectMetaArgs(name=spec.namespace, labels=labels)),
            self.child(custom_timeouts=pulumi.CustomTimeouts(delete="15m")),
        )
        name = namespace.metadata.name.apply(str)
        made = [self._limits(spec, name), self._quota(spec, name)]
        made += [self._withhold(spec, name, priority) for priority in spec.withheld]
        made += [self._bind(spec, name, role, groups, roles[role]) for role, groups in spec.groups.items()]
        everybody = sorted({group for groups in spec.groups.values() for group in groups})
        made += [self._bind(spec, there, what, everybody, roles["viewer"]) for what, there in spec.read.items()]
        return pulumi.Output.all(name, *made).apply(lambda known: str(known[0]))

    def _limits(self, spec: TeamSpec, namespace: pulumi.Output[str]) -> pulumi.Output[str]:
        item = k8s.core.v1.LimitRangeItemArgs(type="Container", default=DEFAULT_LIMIT, default_request=DEFAULT_REQUEST)
        return k8s.core.v1.LimitRange(
            self.named(f"{spec.name}-limits"),
            metadata=k8s.meta.v1.ObjectMetaArgs(name="defaults", namespace=namespace),
            spec=k8s.core.v1.LimitRangeSpecArgs(limits=[item]),
            opts=self.child(),
        ).id

    def _quota(self, spec: TeamSpec, namespace: pulumi.Output[str]) -> pulumi.Output[str]:
        """GPUs and volumes of the team; load balancers and ports of nodes would be ways in past the network rules."""
        hard = {
            f"requests.{GPU_RESOURCE}": str(spec.gpus),
            "requests.storage": f"{spec.storage_gib}Gi",
            "services.loadbalancers": "0",
            "services.nodeports": "0",
        }
        return k8s.core.v1.ResourceQuota(
            self.named(f"{spec.name}-quota"),
            metadata=k8s.meta.v1.ObjectMetaArgs(name="team", namespace=namespace),
            spec=k8s.core.v1.ResourceQuotaSpecArgs(hard=hard),
            opts=self.child(),
        ).id

    def _withhold(self, spec: TeamSpec, namespace: pulumi.Output[str], priority: str) -> pulumi.Output[str]:
        core = k8s.core.v1
        of_the_class = core.ScopedResourceSelectorRequirementArgs(
            scope_name="PriorityClass", operator="In", values=[priority]
        )
        return core.ResourceQuota(
            self.named(f"{spec.name}-{priority}-quota"),
            core.ResourceQuotaInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=f"gpus-{priority}", namespace=namespace),
                spec=core.ResourceQuotaSpecArgs(
                    hard={f"requests.{GPU_RESOURCE}": "0"},
                    scope_selector=core.ScopeSelectorArgs(match_expressions=[of_the_class]),
                ),
            ),
            self.child(),
        ).id

    def _bind(
        self,
        spec: TeamSpec,
        namespace: pulumi.Input[str],
        role: str,
        groups: Sequence[str],
        cluster_role: pulumi.Input[str],
    ) -> pulumi.Output[str]:
        rbac = k8s.rbac.v1
        return rbac.RoleBinding(
            self.named(f"{spec.name}-{role}"),
            rbac.RoleBindingInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=f"team-{role}", namespace=namespace),
                role_ref=rbac.RoleRefArgs(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=cluster_role),
                subjects=[
                    rbac.SubjectArgs(api_group="rbac.authorization.k8s.io", kind="Group", name=each) for each in groups
                ],
            ),
            self.child(),
        ).id
