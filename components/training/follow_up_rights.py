"""Permissions of a follow-up: create its own jobs, and record how they ended.

RBAC cannot say which jobs an account makes, and who makes a job runs anything as any account of the namespace. An
admission policy says the rest: label, account and image of what it makes are the follow-up's own.
"""

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.policies import admitted
from components.platform.rights import account_of, given_within, named_once

_SPECS = "object.spec.pytorchReplicaSpecs"


def rules(own: str, account: str, image: str) -> dict[str, str]:
    """Expressions of CEL that a new job must satisfy, by the sentence that a refusal shows."""
    pod = f"{_SPECS}[kind].template.spec"
    return {
        f"its label gpucluster/follow-up is {own}": (
            "has(object.metadata.labels) && 'gpucluster/follow-up' in object.metadata.labels "
            f"&& object.metadata.labels['gpucluster/follow-up'] == '{own}'"
        ),
        f"its pods run as {account}": (
            f"{_SPECS}.all(kind, has({pod}.serviceAccountName) && {pod}.serviceAccountName == '{account}')"
        ),
        f"its containers are of image {image}": (
            f"{_SPECS}.all(kind, !has({pod}.initContainers) && {pod}.containers.all(each, each.image == '{image}'))"
        ),
    }


def allow(
    owner: Component, name: str, namespace: pulumi.Input[str], own: str, *, account: str, image: str
) -> pulumi.Output[str]:
    """The account `name` of what makes the jobs of `own`. It resolves when it has its rights, and no others."""
    rule = k8s.rbac.v1.PolicyRuleArgs
    made = account_of(owner, "asker", name, namespace)
    jobs = k8s.admissionregistration.v1.NamedRuleWithOperationsArgs(
        api_groups=["kubeflow.org"], api_versions=["v1"], operations=["CREATE"], resources=["pytorchjobs"]
    )
    bound = admitted(owner, f"{own}-jobs", (namespace, name), "follow-up", jobs, rules(own, account, image))
    rights = [
        rule(api_groups=["kubeflow.org"], resources=["pytorchjobs"], verbs=["get", "list", "create"]),
        rule(api_groups=[""], resources=["configmaps"], resource_names=[own], verbs=["get", "patch"]),
    ]
    return named_once(made, [given_within(owner, name, namespace, (namespace, rights), after=[bound])])
