"""kubectl inside the cluster: a Job with an account and rights of its own, done when its commands have succeeded."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name
from components.platform.jobs import one_off_job


@dataclass(frozen=True, kw_only=True)
class KubectlJobArgs:
    """`commands` of kubectl by name, one after the other; where one fails all are tried again, six times.

    `rights` are what they need, in the whole cluster. Another `revision` is another Job, as are other commands
    or another image: a Job's template cannot change. `minutes` is how long the engine waits. `after` is what lets pods
    run.
    """

    namespace: pulumi.Input[str]
    image: str
    rights: Sequence[k8s.rbac.v1.PolicyRuleArgs]
    commands: Mapping[str, Sequence[str]]
    minutes: int
    revision: str = ""
    after: pulumi.Resource | None = None


def rights(
    group: str, resources: str, verbs: Sequence[str], names: Sequence[str] | None = None
) -> k8s.rbac.v1.PolicyRuleArgs:
    """A rule of RBAC. `names` limits `list` and `watch` too, which kubectl opens for one object by its name."""
    return k8s.rbac.v1.PolicyRuleArgs(
        api_groups=[group],
        resources=[resources],
        verbs=list(verbs),
        resource_names=list(names) if names is not None else None,
    )


def kubectl_job(parent: Component, role: str, args: KubectlJobArgs) -> k8s.batch.v1.Job:
    """The Job as `role` of a component with no other one; account and rights are named like the component."""
    account, binding = _account(parent, args)
    said = " ".join([args.image, args.revision, *(word for words in args.commands.values() for word in words)])
    version = hashlib.sha256(said.encode()).hexdigest()[:8]
    return k8s.batch.v1.Job(
        parent.named(role),
        one_off_job(
            name=physical_name(parent.pulumi_resource_name, version, limit=63),
            namespace=args.namespace,
            account=account,
            steps=[_container(name, args.image, arguments) for name, arguments in args.commands.items()],
            backoff_limit=6,
        ),
        parent.child(
            depends_on=[binding, *([args.after] if args.after else [])],
            custom_timeouts=pulumi.CustomTimeouts(create=f"{args.minutes}m", update=f"{args.minutes}m"),
        ),
    )


def _account(parent: Component, args: KubectlJobArgs) -> tuple[pulumi.Output[str], pulumi.Resource]:
    name = parent.pulumi_resource_name
    account = k8s.core.v1.ServiceAccount(
        parent.named("account"),
        k8s.core.v1.ServiceAccountInitArgs(metadata=k8s.meta.v1.ObjectMetaArgs(name=name, namespace=args.namespace)),
        parent.child(),
    )
    role = k8s.rbac.v1.ClusterRole(
        parent.named("rights"),
        k8s.rbac.v1.ClusterRoleInitArgs(metadata=k8s.meta.v1.ObjectMetaArgs(name=name), rules=list(args.rights)),
        parent.child(),
    )
    binding = k8s.rbac.v1.ClusterRoleBinding(
        parent.named("binding"),
        k8s.rbac.v1.ClusterRoleBindingInitArgs(
            metadata=k8s.meta.v1.ObjectMetaArgs(name=name),
            role_ref=k8s.rbac.v1.RoleRefArgs(
                api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=role.metadata.name.apply(str)
            ),
            subjects=[k8s.rbac.v1.SubjectArgs(kind="ServiceAccount", name=name, namespace=args.namespace)],
        ),
        parent.child(),
    )
    return account.metadata.name.apply(str), binding


def _container(name: str, image: str, arguments: Sequence[str]) -> k8s.core.v1.ContainerArgs:
    return k8s.core.v1.ContainerArgs(
        name=name,
        image=image,
        command=["kubectl"],
        args=list(arguments),
        termination_message_policy="FallbackToLogsOnError",
        security_context=k8s.core.v1.SecurityContextArgs(
            allow_privilege_escalation=False,
            read_only_root_filesystem=True,
            run_as_non_root=True,
            run_as_user=65532,
            capabilities=k8s.core.v1.CapabilitiesArgs(drop=["ALL"]),
            seccomp_profile=k8s.core.v1.SeccompProfileArgs(type="RuntimeDefault"),
        ),
        resources=k8s.core.v1.ResourceRequirementsArgs(
            requests={"cpu": "50m", "memory": "64Mi"}, limits={"memory": "256Mi"}
        ),
    )
