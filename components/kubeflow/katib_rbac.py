"""What Katib's controller may do when trials are PyTorchJobs, in one namespace: a part of the vendor's role.

The vendor's ClusterRole may make pods' owners, roles and service accounts and read and change every Secret, in every
namespace: who may do that is root of the cluster. Its caches are of the whole cluster, as the manager is made without
namespaces (Katib 0.19, cmd/katib-controller/v1beta1/main.go), so what it reads cannot be confined; what it writes can,
to the namespace of the trials. Secrets and webhooks it leaves to cert-manager.
"""

import pulumi_kubernetes as k8s

from components.platform.rights import WATCH, Account, Rules

KINDS = ("experiments", "trials", "suggestions")
OWN = [f"{kind}{part}" for kind in KINDS for part in ("", "/status", "/finalizers")]


def cluster_rules() -> Rules:
    """What it watches everywhere.

    It reads ConfigMaps for katib-config alone, but through its cache (pkg/util/v1beta1/katibconfig/config.go). Without
    a cache of claims it reconciles nothing (pkg/controller.v1beta1/suggestion/suggestion_controller.go), and without
    one of namespaces its webhook takes no Experiment (pkg/webhook/v1beta1/experiment/validation_webhook.go).
    """
    rule = k8s.rbac.v1.PolicyRuleArgs
    core = ["configmaps", "namespaces", "persistentvolumeclaims", "services", "serviceaccounts"]
    return [
        rule(api_groups=["kubeflow.org"], resources=[*KINDS, "pytorchjobs"], verbs=WATCH),
        rule(api_groups=[""], resources=core, verbs=WATCH),
        rule(api_groups=["apps"], resources=["deployments"], verbs=WATCH),
        rule(api_groups=["rbac.authorization.k8s.io"], resources=["roles", "rolebindings"], verbs=WATCH),
    ]


def trials_rules() -> Rules:
    """What it makes in the namespace of the trials: their jobs, algorithms' services, and for early stopping a role.

    Who makes a role must have what is in it: all of trials (pkg/controller.v1beta1/suggestion/composer, DesiredRBAC).
    """
    rule = k8s.rbac.v1.PolicyRuleArgs
    return [
        rule(api_groups=["kubeflow.org"], resources=OWN, verbs=["*"]),
        rule(api_groups=["kubeflow.org"], resources=["pytorchjobs"], verbs=["create", "delete"]),
        rule(api_groups=["apps"], resources=["deployments"], verbs=["create", "delete"]),
        rule(api_groups=[""], resources=["services"], verbs=["create", "delete"]),
        rule(api_groups=[""], resources=["serviceaccounts"], verbs=["create"]),
        rule(api_groups=["rbac.authorization.k8s.io"], resources=["roles", "rolebindings"], verbs=["create"]),
        rule(api_groups=[""], resources=["events"], verbs=["create", "patch", "update"]),
    ]


class KatibAccount(Account):
    """The account of the controller."""
