"""What a follow-up's account may do: make the jobs of that follow-up, and write down how they ended.

RBAC cannot say which jobs an account makes, and who makes a job runs anything as any account of the namespace. An
admission policy says the rest: label, account and image of what it makes are the follow-up's own.
"""

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

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
    rbac, admission, meta = k8s.rbac.v1, k8s.admissionregistration.v1, k8s.meta.v1.ObjectMetaArgs
    made = k8s.core.v1.ServiceAccount(
        owner.named("asker"),
        k8s.core.v1.ServiceAccountInitArgs(metadata=meta(name=name, namespace=namespace)),
        owner.child(),
    )
    policy = admission.ValidatingAdmissionPolicy(
        owner.named("policy"),
        admission.ValidatingAdmissionPolicyInitArgs(
            metadata=meta(name=f"{own}-jobs"),
            spec=admission.ValidatingAdmissionPolicySpecArgs(
                failure_policy="Fail",
                match_constraints=admission.MatchResourcesArgs(
                    resource_rules=[
                        admission.NamedRuleWithOperationsArgs(
                            api_groups=["kubeflow.org"],
                            api_versions=["v1"],
                            operations=["CREATE"],
                            resources=["pytorchjobs"],
                        )
                    ]
                ),
                match_conditions=[
                    admission.MatchConditionArgs(
                        name="follow-up",
                        expression=pulumi.Output.format(
                            "request.userInfo.username == 'system:serviceaccount:{0}:{1}'", namespace, name
                        ),
                    )
                ],
                validations=[
                    admission.ValidationArgs(expression=expression, message=message)
                    for message, expression in rules(own, account, image).items()
                ],
            ),
        ),
        owner.child(),
    )
    bound = admission.ValidatingAdmissionPolicyBinding(
        owner.named("policy-binding"),
        admission.ValidatingAdmissionPolicyBindingInitArgs(
            metadata=meta(name=f"{own}-jobs"),
            spec=admission.ValidatingAdmissionPolicyBindingSpecArgs(
                policy_name=policy.metadata.name.apply(str), validation_actions=["Deny"]
            ),
        ),
        owner.child(),
    )
    role = rbac.Role(
        owner.named("rights"),
        rbac.RoleInitArgs(
            metadata=meta(name=name, namespace=namespace),
            rules=[
                rbac.PolicyRuleArgs(
                    api_groups=["kubeflow.org"], resources=["pytorchjobs"], verbs=["get", "list", "create"]
                ),
                rbac.PolicyRuleArgs(
                    api_groups=[""], resources=["configmaps"], resource_names=[own], verbs=["get", "patch"]
                ),
            ],
        ),
        owner.child(depends_on=[bound]),
    )
    binding = rbac.RoleBinding(
        owner.named("binding"),
        rbac.RoleBindingInitArgs(
            metadata=meta(name=name, namespace=namespace),
            role_ref=rbac.RoleRefArgs(
                api_group="rbac.authorization.k8s.io", kind="Role", name=role.metadata.name.apply(str)
            ),
            subjects=[rbac.SubjectArgs(kind="ServiceAccount", name=name, namespace=namespace)],
        ),
        owner.child(),
    )
    return pulumi.Output.all(made.metadata.name, binding.id).apply(lambda known: str(known[0]))
