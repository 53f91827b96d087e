"""What the training operator may do when it runs PyTorchJobs alone, and in one namespace: a third of the vendor's role.

The vendor's ClusterRole also serves MPI, TensorFlow, XGBoost, Paddle and JAX jobs (pods/exec, roles, service accounts,
every Secret of the cluster), in every namespace: who may make pods where privileged ones are is root on every node.
With `--namespace` its caches ask for that one only. The certificate rotator has a cache of its own, of the operator's
own namespace (cert-controller pkg/rotator, addNamespacedCache).
"""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

WATCH = ["get", "list", "watch"]
OWN = ["create", "delete", *WATCH, "patch", "update"]


def cluster_rules(webhook: str) -> list[k8s.rbac.v1.PolicyRuleArgs]:
    """Rights that cannot be confined to a namespace: the rotator writes its CA into the webhook's configuration.

    A list cannot be confined to a name either (Kubernetes documentation, Using RBAC Authorization).
    """
    rule = k8s.rbac.v1.PolicyRuleArgs
    kinds = {"api_groups": ["admissionregistration.k8s.io"], "resources": ["validatingwebhookconfigurations"]}
    return [rule(**kinds, verbs=WATCH), rule(**kinds, resource_names=[webhook], verbs=["update"])]


def jobs_rules() -> list[k8s.rbac.v1.PolicyRuleArgs]:
    """Rights in the namespace of the jobs."""
    rule = k8s.rbac.v1.PolicyRuleArgs
    return [
        rule(api_groups=["kubeflow.org"], resources=["pytorchjobs"], verbs=OWN),
        rule(api_groups=["kubeflow.org"], resources=["pytorchjobs/status"], verbs=["get", "patch", "update"]),
        rule(api_groups=["kubeflow.org"], resources=["pytorchjobs/finalizers"], verbs=["update"]),
        rule(api_groups=[""], resources=["pods", "events"], verbs=OWN),
        rule(api_groups=[""], resources=["services"], verbs=["create", "delete", *WATCH]),
        rule(api_groups=["scheduling.volcano.sh"], resources=["podgroups"], verbs=OWN),
        # The controller watches autoscalers from its start, elastic jobs or not.
        rule(api_groups=["autoscaling"], resources=["horizontalpodautoscalers"], verbs=OWN),
    ]


def namespace_rules(certificate: str) -> list[k8s.rbac.v1.PolicyRuleArgs]:
    """Rights in the operator's own namespace: its certificate's Secret, and a lease if it elects a leader."""
    rule = k8s.rbac.v1.PolicyRuleArgs
    return [
        rule(api_groups=[""], resources=["secrets"], verbs=["list", "watch"]),
        rule(api_groups=[""], resources=["secrets"], resource_names=[certificate], verbs=["get", "update"]),
        rule(api_groups=["coordination.k8s.io"], resources=["leases"], verbs=["create", "get", "update"]),
    ]


@dataclass(frozen=True, kw_only=True)
class OperatorAccountArgs:
    """The operator runs as `account` in `namespace`, for jobs of the namespace `jobs`. `certificate` is its Secret."""

    account: str
    namespace: pulumi.Input[str]
    jobs: pulumi.Input[str]
    certificate: str
    webhook: str


class OperatorAccount(Component):
    """ServiceAccount with its roles. `name` resolves when the roles are bound."""

    name: pulumi.Output[str]

    def __init__(self, name: str, args: OperatorAccountArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._args = args
        account = k8s.core.v1.ServiceAccount(
            self.named("account"),
            k8s.core.v1.ServiceAccountInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=args.account, namespace=args.namespace)
            ),
            self.child(),
        )
        bound = [
            self._everywhere(cluster_rules(args.webhook)),
            self._within("local", args.namespace, namespace_rules(args.certificate)),
            self._within("jobs", args.jobs, jobs_rules()),
        ]
        self.name = pulumi.Output.all(account.metadata.name, *bound).apply(lambda known: str(known[0]))
        self.register_outputs({"name": self.name})

    def _everywhere(self, rules: list[k8s.rbac.v1.PolicyRuleArgs]) -> pulumi.Output[str]:
        metadata = k8s.meta.v1.ObjectMetaArgs(name=self._args.account)
        role = k8s.rbac.v1.ClusterRole(
            self.named("rights"), k8s.rbac.v1.ClusterRoleInitArgs(metadata=metadata, rules=rules), self.child()
        )
        reference = _reference("ClusterRole", role.metadata.name.apply(str))
        return k8s.rbac.v1.ClusterRoleBinding(
            self.named("binding"),
            k8s.rbac.v1.ClusterRoleBindingInitArgs(metadata=metadata, role_ref=reference, subjects=[self._subject()]),
            self.child(),
        ).id

    def _within(
        self, where: str, namespace: pulumi.Input[str], rules: list[k8s.rbac.v1.PolicyRuleArgs]
    ) -> pulumi.Output[str]:
        metadata = k8s.meta.v1.ObjectMetaArgs(name=self._args.account, namespace=namespace)
        role = k8s.rbac.v1.Role(
            self.named(f"{where}-rights"), k8s.rbac.v1.RoleInitArgs(metadata=metadata, rules=rules), self.child()
        )
        reference = _reference("Role", role.metadata.name.apply(str))
        return k8s.rbac.v1.RoleBinding(
            self.named(f"{where}-binding"),
            k8s.rbac.v1.RoleBindingInitArgs(metadata=metadata, role_ref=reference, subjects=[self._subject()]),
            self.child(),
        ).id

    def _subject(self) -> k8s.rbac.v1.SubjectArgs:
        return k8s.rbac.v1.SubjectArgs(kind="ServiceAccount", name=self._args.account, namespace=self._args.namespace)


def _reference(kind: str, name: pulumi.Input[str]) -> k8s.rbac.v1.RoleRefArgs:
    return k8s.rbac.v1.RoleRefArgs(api_group="rbac.authorization.k8s.io", kind=kind, name=name)
