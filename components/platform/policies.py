"""Admission policies for one service account: CEL restricts changes that RBAC cannot narrow."""

from collections.abc import Mapping

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component


def admitted(
    owner: Component,
    name: str,
    account: tuple[pulumi.Input[str], str],
    condition: str,
    requests: k8s.admissionregistration.v1.NamedRuleWithOperationsArgs,
    rules: Mapping[str, str],
    *,
    role: str = "",
) -> pulumi.Resource:
    """Register the policy `name` and its binding as children of `owner`, called by `role` too; what shows it is bound.

    `account` is a namespace and a name there, whose `requests` must satisfy all `rules`: expressions by the sentence
    that a refusal shows. `condition` names the question whose requests they are.
    """
    admission, meta = k8s.admissionregistration.v1, k8s.meta.v1.ObjectMetaArgs
    namespace, user = account
    policy = admission.ValidatingAdmissionPolicy(
        owner.named(f"{role}policy"),
        admission.ValidatingAdmissionPolicyInitArgs(
            metadata=meta(name=name),
            spec=admission.ValidatingAdmissionPolicySpecArgs(
                failure_policy="Fail",
                match_constraints=admission.MatchResourcesArgs(resource_rules=[requests]),
                match_conditions=[
                    admission.MatchConditionArgs(
                        name=condition,
                        expression=pulumi.Output.format(
                            "request.userInfo.username == 'system:serviceaccount:{0}:{1}'", namespace, user
                        ),
                    )
                ],
                validations=[
                    admission.ValidationArgs(expression=expression, message=message)
                    for message, expression in rules.items()
                ],
            ),
        ),
        owner.child(),
    )
    return admission.ValidatingAdmissionPolicyBinding(
        owner.named(f"{role}policy-binding"),
        admission.ValidatingAdmissionPolicyBindingInitArgs(
            metadata=meta(name=name),
            spec=admission.ValidatingAdmissionPolicyBindingSpecArgs(
                policy_name=policy.metadata.name.apply(str), validation_actions=["Deny"]
            ),
        ),
        owner.child(),
    )
