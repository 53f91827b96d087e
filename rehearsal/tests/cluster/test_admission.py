"""The API server reaches an admission webhook that a pod serves behind a Service."""

import base64
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.cluster.pki import Authority
from rehearsal.kube.client import ApiError, Kube
from rehearsal.testing.answering import Asked, Said, answering
from rehearsal.tests.cluster.conftest import Trial, eventually, node

pytestmark = pytest.mark.engine


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[tuple[int, bytes, list[str]]]:
    """A validating webhook's process: its port, its CA, the names it was asked about. It denies the name bad."""
    asked: list[str] = []

    def answer(request: Asked) -> Said:
        review = request.content
        name = review["request"]["name"]
        asked.append(name)
        response = {"uid": review["request"]["uid"], "allowed": name != "bad", "status": {"message": "it is bad"}}
        content = {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
        return Said(content, headers={"Content-Type": "application/json"})

    authority = Authority("hook")
    pair = authority.server("hook", ["hook.hooks.svc"])
    (tmp_path / "crt").write_bytes(pair.certificate)
    (tmp_path / "key").write_bytes(pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    with answering(answer, tls=context) as where:
        yield int(where.partition(":")[2]), authority.certificate, asked


def hook_objects(ca: bytes) -> list[dict[str, Any]]:
    """A Service `hook`, its pod `hook-0`, and the configuration that has ConfigMaps of namespace hooks validated."""
    where = {"namespace": "hooks"}
    service = {"ports": [{"name": "https", "port": 443, "targetPort": 9443}], "selector": {"app": "hook"}}
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 9443}]}
    client = {"service": {"namespace": "hooks", "name": "hook"}, "caBundle": base64.b64encode(ca).decode()}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    webhook = {
        "name": "hook.example.com",
        "clientConfig": client,
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "hooks"}},
        "objectSelector": {"matchLabels": {"hooked": "yes"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "timeoutSeconds": 5,
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hooks"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook", **where}, "spec": service},
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "hook-0", **where, "labels": {"app": "hook"}},
            "spec": {"nodeName": "hook-node", "containers": [container]},
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "hook"},
            "webhooks": [webhook],
        },
    ]


def config_map(name: str) -> dict[str, Any]:
    labels = {"hooked": "yes"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "hooks", "labels": labels}}


def test_a_webhook_behind_a_cluster_ip_service_is_reached_and_only_while_its_pod_is_ready(
    trial: Trial, kube: Kube, hook: tuple[int, bytes, list[str]]
) -> None:
    port, ca, asked = hook
    kube.create(node("hook-node"))
    for each in hook_objects(ca):
        if each["kind"] == "Pod":
            eventually(lambda: kube.get("v1", "ServiceAccount", "default", "hooks"))
        kube.create(each)

    def refusal(name: str) -> str:
        """Why the ConfigMap is refused; empty while it is let through (the configuration takes a moment to be seen)."""
        try:
            kube.create(config_map(name), dry_run=True)
        except ApiError as error:
            return f"{error.code} {error}"
        return ""

    assert 'failed calling webhook "hook.example.com"' in eventually(lambda: refusal("early"))
    assert asked == []

    running = {
        "phase": "Running",
        "podIP": "10.0.7.7",
        "podIPs": [{"ip": "10.0.7.7"}],
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "ContainersReady", "status": "True"}],
    }
    kube.patch("v1", "Pod", "hook-0", "hooks", {"status": running}, subresource="status")
    trial.plane.backends.add("hooks", "hook-0", 9443, port)
    eventually(lambda: not refusal("good"))
    assert set(asked) == {"good"}
    assert "it is bad" in refusal("bad")

    trial.plane.backends.remove("hooks", "hook-0", [9443])
    kube.delete(hook_objects(ca)[-1])
