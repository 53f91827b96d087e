"""What the programs of Kubeflow Pipelines and their steps may do: parts of the vendor's roles, in one namespace.

The vendor's `pipeline-runner` may read every Secret and do anything with pods, volumes, jobs and all of kubeflow.org,
so that any step is root of the namespace. A Workflow has one account for all of its pods, and no task of a compiled
pipeline can name another (backend/src/v2/driver/k8s.go), so here that account can do what every step needs, and the
token of another account, which may make runs' jobs, is a Secret that a task has to mount.
"""

import pulumi_kubernetes as k8s

from components.platform.rights import WATCH, Account, Rules

ARGO, SERVER, AGENT, SCHEDULED, UI, RUNNER, STARTER = (
    "argo",
    "ml-pipeline",
    "ml-pipeline-persistenceagent",
    "ml-pipeline-scheduledworkflow",
    "ml-pipeline-ui",
    "pipeline-runner",
    "pipeline-starter",
)
"""Accounts. The last one is ours: it may make the jobs of runs."""

LAUNCHER = "kfp-launcher"
"""The ConfigMap in which driver and launcher find the object store (backend/src/v2/config/env.go)."""

_CHANGE = ["create", *WATCH, "update", "patch", "delete"]


def _rule(group: str, resources: list[str], verbs: list[str], *names: str) -> k8s.rbac.v1.PolicyRuleArgs:
    return k8s.rbac.v1.PolicyRuleArgs(
        api_groups=[group], resources=resources, verbs=verbs, resource_names=list(names) or None
    )


def argo_rules() -> Rules:
    """Argo's controller. It ends a container by a command in it. Volumes, budgets of disruption and Secrets are of
    Workflows that no compiled pipeline is, and nobody makes CronWorkflows."""
    return [
        _rule("coordination.k8s.io", ["leases"], ["create", "get", "update"]),
        _rule("", ["pods", "pods/exec"], _CHANGE),
        _rule("", ["configmaps"], WATCH),
        _rule("", ["serviceaccounts"], ["get", "list"]),
        _rule("", ["events"], ["create", "patch"]),
        _rule(
            "argoproj.io",
            [
                "workflows",
                "workflows/finalizers",
                "workflowtasksets",
                "workflowtasksets/finalizers",
                "workflowartifactgctasks",
            ],
            _CHANGE,
        ),
        _rule("argoproj.io", ["workflowtemplates", "workflowtemplates/finalizers"], WATCH),
        _rule("argoproj.io", ["workflowtaskresults"], ["list", "watch", "deletecollection"]),
        _rule("argoproj.io", ["cronworkflows", "cronworkflows/finalizers"], WATCH),
    ]


def server_rules() -> Rules:
    """The API server: it makes Workflows, and reads their pods' logs."""
    return [
        _rule("", ["pods", "pods/log"], ["get", "list", "delete"]),
        _rule("argoproj.io", ["workflows"], _CHANGE),
        _rule("kubeflow.org", ["scheduledworkflows"], ["create", "get", "list", "update", "patch", "delete"]),
        _rule("kubeflow.org", ["scheduledworkflows/finalizers"], ["update"]),
        _rule("", ["configmaps"], ["get"], LAUNCHER),
    ]


def agent_rules() -> Rules:
    """What tells the API server how Workflows get on."""
    return [
        _rule("argoproj.io", ["workflows"], WATCH),
        _rule("kubeflow.org", ["scheduledworkflows"], WATCH),
    ]


def scheduled_rules() -> Rules:
    """What starts runs by the clock."""
    return [
        _rule("argoproj.io", ["workflows"], _CHANGE),
        _rule("kubeflow.org", ["scheduledworkflows", "scheduledworkflows/finalizers"], _CHANGE),
        _rule("", ["events"], ["create", "patch"]),
    ]


def ui_rules() -> Rules:
    """The UI: pods' logs and events. It reads no Secret."""
    return [
        _rule("", ["pods", "pods/log"], ["get"]),
        _rule("", ["events"], ["list"]),
        _rule("argoproj.io", ["workflows"], ["get", "list"]),
    ]


def runner_rules(secrets: list[str]) -> Rules:
    """Every pod of a pipeline: Argo's executor keeps a result, driver and launcher look at their pod, at their Workflow
    and at where files go, with the `secrets` of an object store that has keys."""
    return [
        _rule("argoproj.io", ["workflowtaskresults"], ["create", "patch"]),
        _rule("argoproj.io", ["workflows"], ["get"]),
        _rule("", ["pods"], ["get"]),
        _rule("", ["configmaps"], ["get"], LAUNCHER),
        *([_rule("", ["secrets"], ["get"], *secrets)] if secrets else []),
    ]


def starter_rules() -> Rules:
    """What makes runs' jobs in their namespace, waits for them, and reads what their pods said."""
    return [
        _rule("kubeflow.org", ["pytorchjobs"], ["create", "get", "delete"]),
        _rule("", ["pods"], ["get", "list"]),
        _rule("", ["pods/log"], ["get"]),
    ]


class PipelinesAccount(Account):
    """An account with rights in one namespace and none elsewhere."""
