"""Conditions of custom resources that `up` waits for.

pulumi-kubernetes, await logic: the annotation `pulumi.com/waitFor`; other kinds are done as soon as they are stored.
"""

from typing import Literal

_CONDITIONS = {
    "Certificate": "condition=Ready",
    "EC2NodeClass": "condition=Ready",
    "ExternalSecret": "condition=Ready",
    "Gateway": "condition=Programmed",
    # Each gateway that has the route says so by itself (Gateway API, RouteParentStatus).
    "HTTPRoute": 'jsonpath={.status.parents[*].conditions[?@.type=="Accepted"].status}=True',
    "NodePool": "condition=Ready",
    # Kyverno says so once the API server asks it about what the policy is about (pkg/controllers/webhook).
    "ImageValidatingPolicy": "jsonpath={.status.conditionStatus.ready}=true",
    # KEDA says so when its HPA is there (controllers/keda/scaledobject_controller.go).
    "ScaledObject": "condition=Ready",
    "SecretStore": "condition=Ready",
}


Kind = Literal[
    "Certificate",
    "EC2NodeClass",
    "ExternalSecret",
    "Gateway",
    "HTTPRoute",
    "ImageValidatingPolicy",
    "NodePool",
    "ScaledObject",
    "SecretStore",
]


def awaited(kind: Kind) -> dict[str, str]:
    """The annotation by which an object of a kind is done when its controller says that it works."""
    return {"pulumi.com/waitFor": _CONDITIONS[kind]}
