"""The image kube-webhook-certgen: `create` makes the certificate of admission webhooks, `patch` tells the API server.

Source: jkroepke/kube-webhook-certgen (a continuation of ingress-nginx's), cmd/create.go, cmd/patch.go, pkg/k8s/k8s.go.
A Secret with `ca.crt`, `cert` and `key` is made unless it is there; its authority is applied, with force, to every
webhook of the configurations of one name, and the failure policy `Fail` if that is asked for.
"""

import base64
from collections.abc import Sequence
from typing import Any

from rehearsal.cluster.pki import Authority
from rehearsal.images.metrics import flag
from rehearsal.kube.client import Kube
from rehearsal.kubelet.process import job
from rehearsal.kubelet.program import Launch, Program

SECONDS = 5.0
AUTHORITY, MANAGER = "ca.crt", "kube-webhook-certgen"
_KINDS = {"validating": "ValidatingWebhookConfiguration", "mutating": "MutatingWebhookConfiguration"}
_REGISTRATION = "admissionregistration.k8s.io/v1"


def run(launch: Launch) -> Program:
    """Does its work with the pod's own rights; the process ends a moment later, with the API server's refusal."""
    command = launch.argv[0] if launch.argv else ""
    return job(launch, SECONDS, lambda kube: work(kube, command, launch.argv[1:]))


def work(kube: Kube, command: str, argv: Sequence[str]) -> str:
    """What it says at the end. Raises ValueError for a command it does not know, ApiError, Unreachable."""
    namespace, secret = flag(argv, "--namespace", ""), flag(argv, "--secret-name", "")
    if command == "create":
        return _create(kube, namespace, secret, flag(argv, "--host", "").split(","))
    if command == "patch":
        return _patch(kube, namespace, secret, argv)
    raise ValueError(f'unknown command "{command}" for "kube-webhook-certgen"')


def _create(kube: Kube, namespace: str, secret: str, hosts: Sequence[str]) -> str:
    if kube.get("v1", "Secret", secret, namespace) is not None:
        return "secret already exists"
    authority = Authority("nil1")
    pair = authority.server(hosts[0], dns=tuple(hosts))
    files = {AUTHORITY: authority.certificate, "cert": pair.certificate, "key": pair.key}
    data = {name: base64.b64encode(content).decode() for name, content in files.items()}
    meta = {"name": secret, "namespace": namespace}
    kube.create({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": meta, "data": data})
    return f"created secret {namespace}/{secret}"


def _patch(kube: Kube, namespace: str, secret: str, argv: Sequence[str]) -> str:
    found = kube.get("v1", "Secret", secret, namespace)
    if found is None:
        raise ValueError(f"failed to patch webhooks: no secret with '{secret}' in '{namespace}'")
    name, policy = flag(argv, "--webhook-name", ""), flag(argv, "--patch-failure-policy", "")
    for prefix, kind in _KINDS.items():
        if flag(argv, f"--patch-{prefix}", "true") == "true":
            _tell(kube, kind, name, found["data"][AUTHORITY], policy)
    return f"patched hook(s) of {name}"


def _tell(kube: Kube, kind: str, name: str, authority: str, policy: str) -> None:
    """Puts the authority into each webhook of one configuration. Raises ValueError if there is no such one."""
    found: dict[str, Any] | None = kube.get(_REGISTRATION, kind, name)
    if found is None:
        raise ValueError(f'failed to patch webhooks: {kind} "{name}" not found')
    told = {"clientConfig": {"caBundle": authority}, **({"failurePolicy": policy} if policy == "Fail" else {})}
    webhooks = [{"name": each["name"], **told} for each in found.get("webhooks") or []]
    body = {"apiVersion": _REGISTRATION, "kind": kind, "metadata": {"name": name}, "webhooks": webhooks}
    kube.apply(body, MANAGER, force=True)
