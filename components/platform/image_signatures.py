"""Kyverno: pods of some namespaces are admitted with signed images only, and gangs as a whole or not at all.

Values of its chart 3.9 (Kyverno 1.19). Of its controllers the one for admission alone is there, and the API server asks
it about the namespaces that are named and no others: while it is down, those take no new pods, and the rest of the
cluster, its own namespace and kube-system among it, does not notice. Sources: kyverno v1.19.1, charts/kyverno/
values.yaml; pkg/controllers/webhook/validating.go, resolveNamespaceSelector; pkg/cel/autogen/extraction.go.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.awaited import awaited

ACCOUNT = "kyverno-admission-controller"
"""The service account of what checks."""
POLICY = "signed-images"
READY_MINUTES = "5m"
CONTROLLERS = (
    "cronjobs",
    "daemonsets",
    "deployments",
    "jobs",
    "replicasets",
    "statefulsets",
    "pytorchjobs.v1.kubeflow.org",
    "mpijobs.v2beta1.kubeflow.org",
)
"""What makes pods here. A job is refused where its pods would be, so that no part of a gang waits for the rest."""
_IMAGES = ("containers", "initContainers", "ephemeralContainers")


def kyverno_values(
    account: pulumi.Input[str], namespaces: Sequence[str], *, replicas: int, cpu_millicores: int, memory_mib: int
) -> dict[str, Any]:
    """Values of the `kyverno` chart. `account` is what checks, which resolves when it may read the registry."""
    memory = f"{memory_mib}Mi"
    off = {"enabled": False}
    return {
        "admissionController": {
            "replicas": replicas,
            "rbac": {"serviceAccount": {"name": account}},
            "container": {
                "resources": {"requests": {"cpu": f"{cpu_millicores}m", "memory": memory}, "limits": {"memory": memory}}
            },
            "serviceMonitor": {"enabled": True},
        },
        "backgroundController": off,
        "cleanupController": off,
        "reportsController": off,
        "config": {"webhooks": {"namespaceSelector": _among(namespaces)}},
        "features": {
            "admissionReports": off,
            "backgroundScan": off,
            "generateValidatingAdmissionPolicy": off,
            "policyReports": off,
            "validatingAdmissionPolicyReports": off,
        },
    }


@dataclass(frozen=True, kw_only=True)
class Signer:
    """Who signs: the owner of a public `key`, PEM, or who is `identity` at `issuer`, as a certificate says."""

    key: str | None = None
    issuer: str | None = None
    identity: str | None = None

    def attestor(self) -> dict[str, Any]:
        """As a policy has it. A key is trusted by itself; a certificate by the log that has seen it in its time."""
        if self.key is not None:
            return {"key": {"data": self.key}, "ctlog": {"insecureIgnoreTlog": True, "insecureIgnoreSCT": True}}
        return {
            "keyless": {"identities": [{"issuer": self.issuer, "subject": self.identity}]},
            "ctlog": {"url": "https://rekor.sigstore.dev"},
        }


@dataclass(frozen=True, kw_only=True)
class ImageSignaturesArgs:
    """`namespaces` are names. `after` has the controller and its definitions. `providers` are clouds whose registries
    it signs in to.
    """

    namespaces: Sequence[str]
    signer: Signer
    timeout_seconds: int
    providers: Sequence[str]
    after: pulumi.Resource


class ImageSignatures(Component):
    """The policy. `enforced` resolves when the API server asks about every new pod of the namespaces."""

    enforced: pulumi.Output[str]

    def __init__(self, name: str, args: ImageSignaturesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        made = k8s.apiextensions.CustomResource(
            self.named("policy"),
            api_version="policies.kyverno.io/v1",
            kind="ImageValidatingPolicy",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=POLICY, annotations=awaited("ImageValidatingPolicy")),
            spec=policy(args),
            opts=self.child(
                depends_on=[args.after],
                custom_timeouts=pulumi.CustomTimeouts(create=READY_MINUTES, update=READY_MINUTES),
            ),
        )
        self.enforced = made.id.apply(lambda _: POLICY)
        self.register_outputs({"policy": self.enforced})


def policy(args: ImageSignaturesArgs) -> dict[str, Any]:
    """The spec: any image, by digest, with the signer's signature, or neither pod nor job. Pure."""
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]}
    return {
        "failurePolicy": "Fail",
        "validationActions": ["Deny"],
        "webhookConfiguration": {"timeoutSeconds": args.timeout_seconds},
        "evaluation": {"background": {"enabled": False}},
        "matchConstraints": {"namespaceSelector": _among(args.namespaces), "resourceRules": [pods]},
        "autogen": {"podControllers": {"controllers": list(CONTROLLERS)}},
        "matchImageReferences": [{"glob": "*"}],
        # What is admitted is what was written: a digest in place of a tag would be a change behind its owner's back.
        "validationConfigurations": {"mutateDigest": False, "verifyDigest": True, "required": True},
        **({"credentials": {"providers": list(args.providers)}} if args.providers else {}),
        "attestors": [{"name": "signer", "cosign": args.signer.attestor()}],
        "validations": [
            {
                "expression": f"images.{each}.map(image, verifyImageSignatures(image, [attestors.signer]))"
                ".all(count, count > 0)",
                "message": f"{each}: an image lacks the signature that supply.signatures asks for",
            }
            for each in _IMAGES
        ],
    }


def _among(namespaces: Sequence[str]) -> Mapping[str, Any]:
    names = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(namespaces)}
    return {"matchExpressions": [names]}
