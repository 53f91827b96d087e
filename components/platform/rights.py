"""A service account and its rights, whoever runs as it: some everywhere, some in one namespace each."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

Rules = list[k8s.rbac.v1.PolicyRuleArgs]
Within = tuple[pulumi.Input[str], Rules]
"""A namespace, and the rights there."""

WATCH = ["get", "list", "watch"]
"""Verbs of whoever keeps a copy of what is there."""


def granted(
    owner: Component, account: str, namespace: pulumi.Input[str], everywhere: Rules, within: Mapping[str, Within]
) -> pulumi.Output[str]:
    """Register the account with its roles as children of `owner`; its name, once the roles are bound.

    `within` names the rights of a namespace by what the namespace is to the owner, as `local`.
    """
    meta = k8s.meta.v1.ObjectMetaArgs
    made = k8s.core.v1.ServiceAccount(
        owner.named("account"),
        k8s.core.v1.ServiceAccountInitArgs(metadata=meta(name=account, namespace=namespace)),
        owner.child(),
    )
    subjects = [k8s.rbac.v1.SubjectArgs(kind="ServiceAccount", name=account, namespace=namespace)]
    bound = [
        _everywhere(owner, meta(name=account), everywhere, subjects),
        *(
            _within(owner, role, meta(name=account, namespace=place), rules, subjects)
            for role, (place, rules) in within.items()
        ),
    ]
    return pulumi.Output.all(made.metadata.name, *bound).apply(lambda known: str(known[0]))


def _everywhere(
    owner: Component,
    metadata: k8s.meta.v1.ObjectMetaArgs,
    rules: Rules,
    subjects: Sequence[k8s.rbac.v1.SubjectArgs],
) -> pulumi.Output[str]:
    role = k8s.rbac.v1.ClusterRole(
        owner.named("rights"), k8s.rbac.v1.ClusterRoleInitArgs(metadata=metadata, rules=rules), owner.child()
    )
    reference = _reference("ClusterRole", role.metadata.name.apply(str))
    return k8s.rbac.v1.ClusterRoleBinding(
        owner.named("binding"),
        k8s.rbac.v1.ClusterRoleBindingInitArgs(metadata=metadata, role_ref=reference, subjects=list(subjects)),
        owner.child(),
    ).id


def _within(
    owner: Component,
    where: str,
    metadata: k8s.meta.v1.ObjectMetaArgs,
    rules: Rules,
    subjects: Sequence[k8s.rbac.v1.SubjectArgs],
) -> pulumi.Output[str]:
    role = k8s.rbac.v1.Role(
        owner.named(f"{where}-rights"), k8s.rbac.v1.RoleInitArgs(metadata=metadata, rules=rules), owner.child()
    )
    reference = _reference("Role", role.metadata.name.apply(str))
    return k8s.rbac.v1.RoleBinding(
        owner.named(f"{where}-binding"),
        k8s.rbac.v1.RoleBindingInitArgs(metadata=metadata, role_ref=reference, subjects=list(subjects)),
        owner.child(),
    ).id


def _reference(kind: str, name: pulumi.Input[str]) -> k8s.rbac.v1.RoleRefArgs:
    return k8s.rbac.v1.RoleRefArgs(api_group="rbac.authorization.k8s.io", kind=kind, name=name)
