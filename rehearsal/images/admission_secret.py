"""The script `gen-admission-secret.sh` of Volcano's webhook image: makes the certificate of its admission webhooks.

Source: volcano.sh/volcano 1.14.1, installer/dockerfile/webhook-manager/gen-admission-secret.sh. It makes an authority
named like the Service's address, a serving certificate of that authority for the Service's three names, and keeps both
with the key in a Secret, which it creates, or changes if it is there. The webhooks write the authority into their own
configurations when they start (cmd/webhook-manager/app/util.go, addCaCertForWebhook). Its RSA keys are elliptic here.
"""

import base64
from collections.abc import Sequence

from rehearsal.cluster.pki import Authority
from rehearsal.kube.client import Kube
from rehearsal.kubelet.process import job
from rehearsal.kubelet.program import Launch, Program

SCRIPT = "gen-admission-secret.sh"
SECONDS = 5.0
_OPTIONS = ("--service", "--secret", "--namespace")


def run(launch: Launch) -> Program:
    """Makes the Secret with the pod's own rights; the process ends a moment later, with the API server's refusal."""
    return job(launch, SECONDS, lambda kube: _keep(kube, **arguments(launch.argv[1:])))


def arguments(words: Sequence[str]) -> dict[str, str]:
    """The script's options. Raises ValueError in its words for one that is missing. Pure."""
    given = dict(zip(words[::2], words[1::2], strict=False))
    for option in _OPTIONS[:2]:
        if not given.get(option):
            raise ValueError(f"'{option}' must be specified")
    return {option.removeprefix("--"): given.get(option) or "default" for option in _OPTIONS}


def certificates(service: str, namespace: str) -> dict[str, bytes]:
    """The Secret's three files, by name."""
    address = f"{service}.{namespace}.svc"
    authority = Authority(address)
    pair = authority.server(address, dns=(service, f"{service}.{namespace}", address))
    return {"tls.key": pair.key, "tls.crt": pair.certificate, "ca.crt": authority.certificate}


def _keep(kube: Kube, service: str, secret: str, namespace: str) -> str:
    data = {name: base64.b64encode(content).decode() for name, content in certificates(service, namespace).items()}
    if kube.get("v1", "Secret", secret, namespace) is None:
        meta = {"name": secret, "namespace": namespace}
        kube.create({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": meta, "data": data})
        return f"secret/{secret} created"
    patch = [{"op": "replace", "path": f"/data/{name}", "value": value} for name, value in data.items()]
    kube.patch("v1", "Secret", secret, namespace, patch, content_type="application/json-patch+json")
    return f"The secret {secret} -n {namespace} already exists. Will update it."
