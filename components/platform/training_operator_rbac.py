"""What the training operator may do when it runs PyTorchJobs alone: a third of what the vendor's role allows.

The vendor's ClusterRole also serves MPI, TensorFlow, XGBoost, Paddle and JAX jobs (pods/exec, roles, service accounts,
every Secret of the cluster). The certificate rotator reads and writes Secrets of its own namespace only.
"""

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

WATCH = ["get", "list", "watch"]
OWN = ["create", "delete", *WATCH, "patch", "update"]


def cluster_rules() -> list[k8s.rbac.v1.PolicyRuleArgs]:
    """Rights that cannot be confined to a namespace: jobs may be in any."""
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
        # The rotator writes its CA into the webhook's configuration.
        rule(
            api_groups=["admissionregistration.k8s.io"],
            resources=["validatingwebhookconfigurations"],
            verbs=[*WATCH, "update"],
        ),
    ]


def namespace_rules(certificate: str) -> list[k8s.rbac.v1.PolicyRuleArgs]:
    """Rights in the operator's own namespace: its certificate's Secret, and a lease if it elects a leader."""
    rule = k8s.rbac.v1.PolicyRuleArgs
    return [
        rule(api_groups=[""], resources=["secrets"], verbs=["list", "watch"]),
        rule(api_groups=[""], resources=["secrets"], resource_names=[certificate], verbs=["get", "update"]),
        rule(api_groups=["coordination.k8s.io"], resources=["leases"], verbs=["create", "get", "update"]),
    ]


class OperatorAccount(Component):
    """ServiceAccount with its roles. `name` resolves when the roles are bound."""

    name: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        account: str,
        namespace: pulumi.Input[str],
        certificate: str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(name, opts)
        local = k8s.meta.v1.ObjectMetaArgs(name=account, namespace=namespace)
        subjects = [k8s.rbac.v1.SubjectArgs(kind="ServiceAccount", name=account, namespace=namespace)]
        service_account = k8s.core.v1.ServiceAccount(
            self.named("account"), k8s.core.v1.ServiceAccountInitArgs(metadata=local), self.child()
        )
        cluster_role = k8s.rbac.v1.ClusterRole(
            self.named("rights"),
            k8s.rbac.v1.ClusterRoleInitArgs(metadata=k8s.meta.v1.ObjectMetaArgs(name=account), rules=cluster_rules()),
            self.child(),
        )
        bound_everywhere = k8s.rbac.v1.ClusterRoleBinding(
            self.named("binding"),
            k8s.rbac.v1.ClusterRoleBindingInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=account),
                role_ref=_reference("ClusterRole", cluster_role.metadata.name.apply(str)),
                subjects=subjects,
            ),
            self.child(),
        )
        role = k8s.rbac.v1.Role(
            self.named("local-rights"),
            k8s.rbac.v1.RoleInitArgs(metadata=local, rules=namespace_rules(certificate)),
            self.child(),
        )
        bound_here = k8s.rbac.v1.RoleBinding(
            self.named("local-binding"),
            k8s.rbac.v1.RoleBindingInitArgs(
                metadata=local, role_ref=_reference("Role", role.metadata.name.apply(str)), subjects=subjects
            ),
            self.child(),
        )
        self.name = pulumi.Output.all(service_account.metadata.name, bound_everywhere.id, bound_here.id).apply(
            lambda known: str(known[0])
        )
        self.register_outputs({"name": self.name})


def _reference(kind: str, name: pulumi.Input[str]) -> k8s.rbac.v1.RoleRefArgs:
    return k8s.rbac.v1.RoleRefArgs(api_group="rbac.authorization.k8s.io", kind=kind, name=name)
