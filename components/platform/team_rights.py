"""What people of a team may do in its namespace, and which queue its pods go into, whoever makes them.

Kubernetes' own roles do not fit: `edit` may change network policies and act as any service account, `admin` may bind
roles (Kubernetes documentation, "Using RBAC Authorization", user-facing roles). Here nobody of a team touches policies,
quotas, limits or rights.
"""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.taints import GPU_RESOURCE

TEAM_KEY, QUEUE_KEY = "gpucluster/team", "gpucluster/queue"
"""Labels of a team's namespace: its name, and the Volcano queue that is its own."""

LOOK, CHANGE = ("get", "list", "watch"), ("create", "update", "patch", "delete")
Right = tuple[str, Sequence[str], Sequence[str]]
_SEEN: Sequence[Right] = (
    ("", ("pods", "pods/log", "services", "configmaps", "persistentvolumeclaims", "events", "serviceaccounts"), LOOK),
    ("", ("resourcequotas", "limitranges", "endpoints"), LOOK),
    ("apps", ("deployments", "statefulsets", "replicasets"), LOOK),
    ("batch", ("jobs", "cronjobs"), LOOK),
    ("batch.volcano.sh", ("jobs",), LOOK),
    ("scheduling.volcano.sh", ("podgroups",), LOOK),
    ("networking.k8s.io", ("networkpolicies",), LOOK),
    ("kubeflow.org", ("experiments", "suggestions", "trials", "pytorchjobs", "scheduledworkflows"), LOOK),
    ("argoproj.io", ("workflows",), LOOK),
)
_RUN: Sequence[Right] = (
    ("", ("pods", "configmaps", "persistentvolumeclaims"), CHANGE),
    ("", ("pods/exec", "pods/attach", "pods/portforward"), ("create", "get")),
    ("", ("secrets",), (*LOOK, *CHANGE)),
    ("batch", ("jobs", "cronjobs"), CHANGE),
    ("batch.volcano.sh", ("jobs",), CHANGE),
)
_OPERATE: Sequence[Right] = (
    ("", ("services", "serviceaccounts"), CHANGE),
    ("", ("pods/eviction",), ("create",)),
    ("", ("pods", "configmaps", "persistentvolumeclaims", "secrets"), ("deletecollection",)),
    ("apps", ("deployments", "statefulsets"), CHANGE),
    ("apps", ("deployments/scale", "statefulsets/scale"), ("get", "update", "patch")),
    ("autoscaling", ("horizontalpodautoscalers",), (*LOOK, *CHANGE)),
    ("policy", ("poddisruptionbudgets",), (*LOOK, *CHANGE)),
)
RIGHTS: Mapping[str, Sequence[Right]] = {
    "viewer": _SEEN,
    "trainer": (*_SEEN, *_RUN),
    "operator": (*_SEEN, *_RUN, *_OPERATE),
}


class TeamRights(Component):
    """The roles of people of teams, and the policy that keeps a team's pods in its queue."""

    roles: Mapping[str, pulumi.Output[str]]

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.roles = {role: self._role(role, rights) for role, rights in RIGHTS.items()}
        self._keep_in_queue()
        self.register_outputs({"roles": sorted(self.roles)})

    def _role(self, role: str, rights: Sequence[Right]) -> pulumi.Output[str]:
        made = k8s.rbac.v1.ClusterRole(
            self.named(role),
            metadata=k8s.meta.v1.ObjectMetaArgs(name=f"gpucluster:team-{role}"),
            rules=[
                k8s.rbac.v1.PolicyRuleArgs(api_groups=[group], resources=list(resources), verbs=list(verbs))
                for group, resources, verbs in rights
            ],
            opts=self.child(),
        )
        return made.metadata.name.apply(str)

    def _keep_in_queue(self) -> None:
        """Source: Kubernetes documentation, "Validating Admission Policy" (namespaceObject, messageExpression)."""
        admission = k8s.admissionregistration.v1
        policy = admission.ValidatingAdmissionPolicy(
            self.named("queue-policy"),
            admission.ValidatingAdmissionPolicyInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name="gpucluster-team-queues"),
                spec=admission.ValidatingAdmissionPolicySpecArgs(
                    failure_policy="Fail",
                    match_constraints=admission.MatchResourcesArgs(
                        namespace_selector=k8s.meta.v1.LabelSelectorArgs(
                            match_expressions=[
                                k8s.meta.v1.LabelSelectorRequirementArgs(key=QUEUE_KEY, operator="Exists")
                            ]
                        ),
                        resource_rules=[
                            _rules("scheduling.volcano.sh", "v1beta1", "podgroups"),
                            _rules("batch.volcano.sh", "v1alpha1", "jobs"),
                            _rules("", "v1", "pods"),
                        ],
                    ),
                    validations=[
                        admission.ValidationArgs(
                            expression=f"request.resource.resource == 'pods' || (has(object.spec.queue) && "
                            f"object.spec.queue == {_OWN})",
                            message_expression=f"'what this team runs goes into its own queue, ' + {_OWN}",
                        ),
                        admission.ValidationArgs(
                            expression="request.resource.resource != 'pods' || object.spec.schedulerName == 'volcano' "
                            f"|| !({_ASKS})",
                            message="a pod that asks for GPUs is scheduled by Volcano, by the team's queue: "
                            "set schedulerName to volcano",
                        ),
                    ],
                ),
            ),
            self.child(),
        )
        admission.ValidatingAdmissionPolicyBinding(
            self.named("queue-binding"),
            admission.ValidatingAdmissionPolicyBindingInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name="gpucluster-team-queues"),
                spec=admission.ValidatingAdmissionPolicyBindingSpecArgs(
                    policy_name=policy.metadata.name, validation_actions=["Deny"]
                ),
            ),
            self.child(),
        )


_OWN = f"namespaceObject.metadata.labels['{QUEUE_KEY}']"


def _asking(containers: str) -> str:
    """Whether one of these containers asks for a GPU: quotas and schedulers read limits."""
    limits = "has(c.resources) && has(c.resources.limits)"
    return f"(has({containers}) && {containers}.exists(c, {limits} && '{GPU_RESOURCE}' in c.resources.limits))"


_ASKS = f"{_asking('object.spec.containers')} || {_asking('object.spec.initContainers')}"


def _rules(group: str, version: str, resource: str) -> k8s.admissionregistration.v1.NamedRuleWithOperationsArgs:
    return k8s.admissionregistration.v1.NamedRuleWithOperationsArgs(
        api_groups=[group], api_versions=[version], resources=[resource], operations=["CREATE", "UPDATE"]
    )
