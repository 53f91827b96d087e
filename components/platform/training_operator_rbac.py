"""What the training operator may do when it runs PyTorchJobs alone, and in one namespace: a third of the vendor's role.

The vendor's ClusterRole also serves MPI, TensorFlow, XGBoost, Paddle and JAX jobs (pods/exec, roles, service accounts,
every Secret of the cluster), in every namespace: who may make pods where privileged ones are is root on every node.
With `--namespace` its caches ask for that one only; it takes no second one, so that an operator of several watches all,
and still writes in its own alone. The certificate rotator has a cache of its own, of the operator's
own namespace (cert-controller pkg/rotator, addNamespacedCache).
"""

import pulumi_kubernetes as k8s

from components.platform.rights import WATCH, Account, Rules

OWN = ["create", "delete", *WATCH, "patch", "update"]


def cluster_rules(webhook: str) -> Rules:
    """Rights that cannot be confined to a namespace: the rotator writes its CA into the webhook's configuration.

    A list cannot be confined to a name either (Kubernetes documentation, Using RBAC Authorization).
    """
    rule = k8s.rbac.v1.PolicyRuleArgs
    kinds = {"api_groups": ["admissionregistration.k8s.io"], "resources": ["validatingwebhookconfigurations"]}
    return [rule(**kinds, verbs=WATCH), rule(**kinds, resource_names=[webhook], verbs=["update"])]


def watching_rules() -> Rules:
    """What an operator of several namespaces has in its caches (cmd/training-operator.v1/main.go: `namespace`)."""
    rule = k8s.rbac.v1.PolicyRuleArgs
    return [
        rule(api_groups=["kubeflow.org"], resources=["pytorchjobs"], verbs=WATCH),
        rule(api_groups=[""], resources=["pods", "services"], verbs=WATCH),
        rule(api_groups=["scheduling.volcano.sh"], resources=["podgroups"], verbs=WATCH),
        rule(api_groups=["autoscaling"], resources=["horizontalpodautoscalers"], verbs=WATCH),
    ]


def jobs_rules() -> Rules:
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


def namespace_rules(certificate: str) -> Rules:
    """Rights in the operator's own namespace: its certificate's Secret, and a lease if it elects a leader."""
    rule = k8s.rbac.v1.PolicyRuleArgs
    return [
        rule(api_groups=[""], resources=["secrets"], verbs=["list", "watch"]),
        rule(api_groups=[""], resources=["secrets"], resource_names=[certificate], verbs=["get", "update"]),
        rule(api_groups=["coordination.k8s.io"], resources=["leases"], verbs=["create", "get", "update"]),
    ]


class OperatorAccount(Account):
    """The account of the operator."""
