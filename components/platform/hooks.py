"""What the API server is told of each webhook of the operators that have no chart: where it is, and how it is asked."""

from typing import TypedDict

import pulumi
import pulumi_kubernetes as k8s

SECONDS = 10
"""How long one may take, as Kubernetes' own default says: whoever makes the object waits for it (S25g)."""


class Asked(TypedDict):
    """Arguments that a validating and a mutating webhook have in common."""

    admission_review_versions: list[str]
    client_config: k8s.admissionregistration.v1.WebhookClientConfigArgs
    failure_policy: str
    side_effects: str
    timeout_seconds: int


def asked(service: str, namespace: pulumi.Input[str], path: str) -> Asked:
    """A webhook behind port 443 of a Service, without which nothing that it is asked of is made."""
    hook = k8s.admissionregistration.v1
    return Asked(
        admission_review_versions=["v1"],
        client_config=hook.WebhookClientConfigArgs(
            service=hook.ServiceReferenceArgs(name=service, namespace=namespace, path=path, port=443)
        ),
        failure_policy="Fail",
        side_effects="None",
        timeout_seconds=SECONDS,
    )
