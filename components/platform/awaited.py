"""What `up` waits for, so that what it promises is there when it ends: a controller's word on its object.

pulumi-kubernetes, await logic: the annotation `pulumi.com/waitFor`; other kinds are done as soon as they are stored.
"""

from typing import Literal

_CONDITIONS = {
    "Certificate": "condition=Ready",
    "ExternalSecret": "condition=Ready",
    "Gateway": "condition=Programmed",
    # Each gateway that has the route says so by itself (Gateway API, RouteParentStatus).
    "HTTPRoute": 'jsonpath={.status.parents[*].conditions[?@.type=="Accepted"].status}=True',
    # Kyverno says so once the API server asks it about what the policy is about (pkg/controllers/webhook).
    "ImageValidatingPolicy": "jsonpath={.status.conditionStatus.ready}=true",
    "SecretStore": "condition=Ready",
}


def awaited(
    kind: Literal["Certificate", "ExternalSecret", "Gateway", "HTTPRoute", "ImageValidatingPolicy", "SecretStore"],
) -> dict[str, str]:
    """The annotation by which an object of a kind is done when its controller says that it works."""
    return {"pulumi.com/waitFor": _CONDITIONS[kind]}
