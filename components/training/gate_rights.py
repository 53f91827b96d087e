"""Permissions of a gate's pods: record their findings on their own node, and nothing else.

RBAC can let an account patch nodes, all of them and all of each. An admission policy says the rest: a pod's token names
its node (authentication.kubernetes.io/node-name, since Kubernetes 1.32), and of that the gate's own labels and taint
alone may change.
"""

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.policies import admitted
from components.platform.rights import account_of, given_everywhere, given_within, named_once
from components.platform.taints import GATE_KEY, POOL_KEY

_NODE = "authentication.kubernetes.io/node-name"


def rules(pool: str, *, own_node: bool = True) -> dict[str, str]:
    """Expressions of CEL that a change of a node must satisfy, by the sentence that a refusal shows.

    With `own_node` it is the one that the pod runs on.
    """
    own, others = f"key.startsWith('{GATE_KEY}')", f"taint.key != '{GATE_KEY}'"
    taints = f"(has({{}}.spec.taints) ? {{}}.spec.taints : []).filter(taint, {others})"
    new, old = taints.replace("{}", "object"), taints.replace("{}", "oldObject")
    labels, before = "object.metadata.labels", "oldObject.metadata.labels"
    here = {
        "a gate changes the node that its pod runs on": (
            f"'{_NODE}' in request.userInfo.extra && request.userInfo.extra['{_NODE}'][0] == object.metadata.name"
        )
    }
    return {
        **(here if own_node else {}),
        f"the node belongs to pool {pool}": f"'{POOL_KEY}' in {before} && {before}['{POOL_KEY}'] == '{pool}'",
        f"of the labels it changes those that begin with {GATE_KEY}": (
            f"{labels}.all(key, {own} || (key in {before} && {before}[key] == {labels}[key]))"
            f" && {before}.all(key, {own} || key in {labels})"
        ),
        f"of the rest it changes the taint {GATE_KEY}": (
            f"{new} == {old} && has(object.spec.unschedulable) == has(oldObject.spec.unschedulable)"
        ),
    }


def allow(
    owner: Component,
    name: str,
    pool: str,
    namespace: pulumi.Input[str],
    config_map: pulumi.Input[str] | None = None,
    *,
    role: str = "",
    own_node: bool = True,
) -> pulumi.Output[str]:
    """The account `name` of a pool's gate. Its name resolves when it has its rights, and no others.

    What is registered for nodes is called by `role` too. Without `own_node` it changes any node of the pool, and may
    list them.
    """
    account = account_of(owner, f"{role}account", name, namespace)
    changes = k8s.admissionregistration.v1.NamedRuleWithOperationsArgs(
        api_groups=[""], api_versions=["v1"], operations=["UPDATE"], resources=["nodes"]
    )
    bound = admitted(
        owner, f"{name}-node", (namespace, name), "gate", changes, rules(pool, own_node=own_node), role=role
    )
    verbs = ["get", "patch"] if own_node else ["get", "list", "patch"]
    nodes = k8s.rbac.v1.PolicyRuleArgs(api_groups=[""], resources=["nodes"], verbs=verbs)
    names = (f"{role}node-rights", f"{role}node-binding")
    given: list[pulumi.CustomResource] = [given_everywhere(owner, name, namespace, [nodes], names=names, after=[bound])]
    if config_map is not None:
        verdicts = k8s.rbac.v1.PolicyRuleArgs(
            api_groups=[""], resources=["configmaps"], resource_names=[config_map], verbs=["patch"]
        )
        given.append(given_within(owner, name, namespace, (namespace, [verdicts])))
    return named_once(account, given)
