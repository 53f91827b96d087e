"""A service account and its permissions, for the whole cluster or for single namespaces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

Rules = list[k8s.rbac.v1.PolicyRuleArgs]
Within = tuple[pulumi.Input[str], Rules]
"""A namespace, and the rights there."""

WATCH = ["get", "list", "watch"]
"""Verbs of whoever keeps a copy of what is there."""


@dataclass(frozen=True, kw_only=True)
class AccountArgs:
    """`account` of `namespace` with rights `everywhere`, and `within` namespaces, as `granted` takes them."""

    account: str
    namespace: pulumi.Input[str]
    everywhere: Rules = field(default_factory=list)
    within: Mapping[str, Within] = field(default_factory=dict)


class Account(Component):
    """A service account with its roles. `name` resolves when the roles are bound."""

    name: pulumi.Output[str]

    def __init__(self, name: str, args: AccountArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.name = granted(self, args.account, args.namespace, args.everywhere, args.within)
        self.register_outputs({"name": self.name})


def granted(
    owner: Component,
    account: str,
    namespace: pulumi.Input[str],
    everywhere: Rules,
    within: Mapping[str, Within],
    after: Sequence[pulumi.Resource] = (),
) -> pulumi.Output[str]:
    """Register the account with its roles as children of `owner`; its name, once the roles are bound.

    `within` names the rights of a namespace by what the namespace is to the owner, as `local`, and by an empty name
    where there are no others. Those of the whole cluster come `after` what narrows them.
    """
    made = account_of(owner, "account", account, namespace)
    bound: list[pulumi.CustomResource] = []
    if everywhere:
        bound.append(given_everywhere(owner, account, namespace, everywhere, after=after))
    for role, each in within.items():
        names = (f"{role}-rights", f"{role}-binding") if role else ("rights", "binding")
        bound.append(given_within(owner, account, namespace, each, names=names))
    return named_once(made, bound)


def account_of(owner: Component, role: str, name: str, namespace: pulumi.Input[str]) -> k8s.core.v1.ServiceAccount:
    """Register the account `name` as the child `role` of `owner`, without rights."""
    metadata = k8s.meta.v1.ObjectMetaArgs(name=name, namespace=namespace)
    return k8s.core.v1.ServiceAccount(
        owner.named(role), k8s.core.v1.ServiceAccountInitArgs(metadata=metadata), owner.child()
    )


def named_once(account: k8s.core.v1.ServiceAccount, bound: Sequence[pulumi.CustomResource]) -> pulumi.Output[str]:
    """The account's name, which resolves when its roles are bound."""
    return pulumi.Output.all(account.metadata.name, *(each.id for each in bound)).apply(lambda known: str(known[0]))


def given_everywhere(
    owner: Component,
    account: str,
    namespace: pulumi.Input[str],
    rules: Rules,
    *,
    names: tuple[str, str] = ("rights", "binding"),
    after: Sequence[pulumi.Resource] = (),
) -> k8s.rbac.v1.ClusterRoleBinding:
    """Register `rules` of the whole cluster for an account, as children of `owner` by these `names`, `after` those;
    their binding.
    """
    metadata = k8s.meta.v1.ObjectMetaArgs(name=account)
    role = k8s.rbac.v1.ClusterRole(
        owner.named(names[0]),
        k8s.rbac.v1.ClusterRoleInitArgs(metadata=metadata, rules=rules),
        owner.child(depends_on=list(after)),
    )
    return k8s.rbac.v1.ClusterRoleBinding(
        owner.named(names[1]),
        metadata=metadata,
        role_ref=_reference("ClusterRole", role.metadata.name.apply(str)),
        subjects=_subjects(account, namespace),
        opts=owner.child(),
    )


def given_within(
    owner: Component,
    account: str,
    namespace: pulumi.Input[str],
    within: Within,
    *,
    names: tuple[str, str] = ("rights", "binding"),
    after: Sequence[pulumi.Resource] = (),
) -> k8s.rbac.v1.RoleBinding:
    """The same in one namespace, which need not be the account's own."""
    place, rules = within
    metadata = k8s.meta.v1.ObjectMetaArgs(name=account, namespace=place)
    role = k8s.rbac.v1.Role(
        owner.named(names[0]),
        k8s.rbac.v1.RoleInitArgs(metadata=metadata, rules=rules),
        owner.child(depends_on=list(after)),
    )
    return k8s.rbac.v1.RoleBinding(
        owner.named(names[1]),
        metadata=metadata,
        role_ref=_reference("Role", role.metadata.name.apply(str)),
        subjects=_subjects(account, namespace),
        opts=owner.child(),
    )


def _subjects(account: str, namespace: pulumi.Input[str]) -> list[k8s.rbac.v1.SubjectArgs]:
    return [k8s.rbac.v1.SubjectArgs(kind="ServiceAccount", name=account, namespace=namespace)]


def _reference(kind: str, name: pulumi.Input[str]) -> k8s.rbac.v1.RoleRefArgs:
    return k8s.rbac.v1.RoleRefArgs(api_group="rbac.authorization.k8s.io", kind=kind, name=name)
