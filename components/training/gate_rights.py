"""What a gate's pods may do: say what they found of the node that they run on, and nothing else.

RBAC can let an account patch nodes, all of them and all of each. An admission policy says the rest: a pod's token names
its node (authentication.kubernetes.io/node-name, since Kubernetes 1.32), and of that the gate's own labels and taint
alone may change.
"""

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
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

    What is registered is called by `role` too. Without `own_node` it changes any node of the pool, and may list them.
    """
    core, rbac, admission = k8s.core.v1, k8s.rbac.v1, k8s.admissionregistration.v1
    meta = k8s.meta.v1.ObjectMetaArgs
    account = core.ServiceAccount(
        owner.named(f"{role}account"),
        core.ServiceAccountInitArgs(metadata=meta(name=name, namespace=namespace)),
        owner.child(),
    )
    policy = admission.ValidatingAdmissionPolicy(
        owner.named(f"{role}policy"),
        admission.ValidatingAdmissionPolicyInitArgs(
            metadata=meta(name=f"{name}-node"),
            spec=admission.ValidatingAdmissionPolicySpecArgs(
                failure_policy="Fail",
                match_constraints=admission.MatchResourcesArgs(
                    resource_rules=[
                        admission.NamedRuleWithOperationsArgs(
                            api_groups=[""], api_versions=["v1"], operations=["UPDATE"], resources=["nodes"]
                        )
                    ]
                ),
                match_conditions=[
                    admission.MatchConditionArgs(
                        name="gate",
                        expression=pulumi.Output.format(
                            "request.userInfo.username == 'system:serviceaccount:{0}:{1}'", namespace, name
                        ),
                    )
                ],
                validations=[
                    admission.ValidationArgs(expression=expression, message=message)
                    for message, expression in rules(pool, own_node=own_node).items()
                ],
            ),
        ),
        owner.child(),
    )
    bound = admission.ValidatingAdmissionPolicyBinding(
        owner.named(f"{role}policy-binding"),
        admission.ValidatingAdmissionPolicyBindingInitArgs(
            metadata=meta(name=f"{name}-node"),
            spec=admission.ValidatingAdmissionPolicyBindingSpecArgs(
                policy_name=policy.metadata.name.apply(str), validation_actions=["Deny"]
            ),
        ),
        owner.child(),
    )
    subjects = [rbac.SubjectArgs(kind="ServiceAccount", name=name, namespace=namespace)]
    group = "rbac.authorization.k8s.io"
    nodes = rbac.ClusterRole(
        owner.named(f"{role}node-rights"),
        rbac.ClusterRoleInitArgs(
            metadata=meta(name=name),
            rules=[
                rbac.PolicyRuleArgs(
                    api_groups=[""],
                    resources=["nodes"],
                    verbs=["get", "patch"] if own_node else ["get", "list", "patch"],
                )
            ],
        ),
        owner.child(depends_on=[bound]),
    )
    given = [
        rbac.ClusterRoleBinding(
            owner.named(f"{role}node-binding"),
            rbac.ClusterRoleBindingInitArgs(
                metadata=meta(name=name),
                role_ref=rbac.RoleRefArgs(api_group=group, kind="ClusterRole", name=nodes.metadata.name.apply(str)),
                subjects=subjects,
            ),
            owner.child(),
        ).id,
    ]
    if config_map is not None:
        verdicts = rbac.Role(
            owner.named(f"{role}rights"),
            rbac.RoleInitArgs(
                metadata=meta(name=name, namespace=namespace),
                rules=[
                    rbac.PolicyRuleArgs(
                        api_groups=[""], resources=["configmaps"], resource_names=[config_map], verbs=["patch"]
                    )
                ],
            ),
            owner.child(),
        )
        given.append(
            rbac.RoleBinding(
                owner.named(f"{role}binding"),
                rbac.RoleBindingInitArgs(
                    metadata=meta(name=name, namespace=namespace),
                    role_ref=rbac.RoleRefArgs(api_group=group, kind="Role", name=verdicts.metadata.name.apply(str)),
                    subjects=subjects,
                ),
                owner.child(),
            ).id
        )
    return pulumi.Output.all(account.metadata.name, *given).apply(lambda known: str(known[0]))
