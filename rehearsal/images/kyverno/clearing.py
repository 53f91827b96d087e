"""The Jobs that run before Kyverno's release goes: its controllers end, then webhooks.

Source: kyverno v1.19.1, cmd/readiness-checker/main.go. `delete-webhooks` lists the validating configurations, and
deletes ValidatingAdmissionPolicies of their names, so that the configurations stay; here as there.
"""

from collections.abc import Sequence

from rehearsal.images.metrics import flag
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.kubelet.process import client
from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, Program

REGISTRATION = "admissionregistration.k8s.io/v1"
MANAGED = {"webhook.kyverno.io/managed-by": "kyverno"}
SECONDS = 2.0


def run(launch: Launch) -> Program:
    """Does its work with the pod's own rights; it ends with an error where it may not list what it looks for."""
    command, words = (launch.argv[0] if launch.argv else ""), launch.argv[1:]
    result = Exit(0)
    try:
        kube = client(launch)
        if command == "scale-deploy":
            scaled(kube, words)
        elif command == "delete-webhooks":
            cleared(kube)
    except (ApiError, Unreachable) as error:
        launch.log(f"Failed to fetch: {error}")
        result = Exit(1, str(error))
    return Ends(launch.now + SECONDS / TIME_SCALE, result)


def scaled(kube: Kube, words: Sequence[str]) -> None:
    """Deployments of a namespace, which is `kyverno` unless a flag says another, to no replicas."""
    namespace = flag(words, "--namespace", "kyverno")
    for each in kube.list("apps/v1", "Deployment", namespace):
        if (each["metadata"].get("labels") or {}).get("app.kubernetes.io/part-of") == "kyverno":
            kube.patch("apps/v1", "Deployment", each["metadata"]["name"], namespace, {"spec": {"replicas": 0}})


def cleared(kube: Kube) -> None:
    """The mutating configurations go."""
    for each in kube.list(REGISTRATION, "MutatingWebhookConfiguration"):
        if MANAGED.items() <= (each["metadata"].get("labels") or {}).items():
            kube.delete(each)
    kube.list(REGISTRATION, "ValidatingWebhookConfiguration")
