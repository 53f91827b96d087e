"""Kyverno's admission controller while its pod runs, with the rights of its pod's account.

Source: kyverno v1.19.1, cmd/kyverno/main.go (flags, what makes it ready), pkg/controllers/certmanager and pkg/tls (the
authority and the pair in two Secrets), pkg/controllers/webhook/controller.go (one configuration for all policies, their
status), pkg/webhooks/resource/ivpol/handler.go (how it refuses). Policies of other kinds have no effect here. Its keys
are elliptic, and replicas do alike without electing one: each writes what all would.
"""

import base64
import json
import ssl
from collections.abc import Mapping
from typing import Any

from rehearsal import places
from rehearsal.cluster.pages import Answer, Request, texts
from rehearsal.cluster.pki import Authority
from rehearsal.images.kyverno.policies import Object, refusal, webhook
from rehearsal.images.kyverno.signed import is_here, is_signed
from rehearsal.kube.client import ApiError, Unreachable
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.process import client
from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, Program

API, KIND = "policies.kyverno.io/v1", "ImageValidatingPolicy"
REGISTRATION, CONFIGURATION = "admissionregistration.k8s.io/v1", "kyverno-resource-validating-webhook-cfg"
MANAGED = {"webhook.kyverno.io/managed-by": "kyverno"}
LOOK_SECONDS, INIT_SECONDS = 0.5, 2.0


def run(launch: Launch) -> Program:
    """The controller of admission; others of Kyverno's do nothing here."""
    return Controller(launch) if any(word.startswith("--caSecretName=") for word in launch.argv) else Program()


def prepares(launch: Launch) -> Program:
    """What runs before it removes leftovers of older versions (cmd/kyverno-init); there are none."""
    return Ends(launch.now + INIT_SECONDS / TIME_SCALE, Exit(0))


class Controller(Answering):
    """Keeps the webhook of the policies, and answers it."""

    def __init__(self, launch: Launch) -> None:
        self._flags = dict(word.lstrip("-").partition("=")[::2] for word in launch.argv)
        self._kube = client(launch)
        self._port, self._authority = int(self._flags.get("webhookServerPort", "9443")), ""
        self._policies: dict[str, Object] = {}
        super().__init__(launch, {int(self._flags.get("metricsPort", "8000")): texts({"/metrics": str})})
        self._task = f"kyverno {launch.pod_name} {launch.now}"
        launch.world.tasks.run(self._task, self._look)

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:
        """Its probes are pages of the webhooks' server."""
        if port == self._port and self._authority:
            return None
        return super().refuses(probe, port, now)

    def listens(self, port: int, now: float) -> bool:
        return (port == self._port and bool(self._authority)) or super().listens(port, now)

    def _look(self) -> float:
        try:
            if not self._authority:
                self._start()
            self._reconcile()
        except (ApiError, Unreachable) as error:
            self._launch.log(f"failed to reconcile: {error}")
        return LOOK_SECONDS

    # -- certificate

    def _start(self) -> None:
        namespace = self._launch.namespace
        host = f"{self._launch.env['KYVERNO_SVC']}.{namespace}.svc"
        authority, pair = self._flags["caSecretName"], self._flags["tlsSecretName"]
        found = self._secret(authority), self._secret(pair)
        if not all(found):
            made = Authority("*.kyverno.svc")
            served = made.server(host, dns=(host, host.removesuffix(".svc")))
            self._keep(authority, {"tls.crt": made.certificate, "tls.key": served.key})
            self._keep(pair, {"tls.crt": served.certificate, "tls.key": served.key})
            found = self._secret(authority), self._secret(pair)
        for name in ("tls.crt", "tls.key"):
            places.write(self._launch.directory / name, base64.b64decode(found[1][name]))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self._launch.directory / "tls.crt", self._launch.directory / "tls.key")
        where = (namespace, self._launch.pod_name, self._port)
        self._launch.world.backends.answer(*where, self._review, tls=tls)
        self._authority = found[0]["tls.crt"]
        self._launch.wake()

    def _secret(self, name: str) -> dict[str, str]:
        found = self._kube.get("v1", "Secret", name, self._launch.namespace) or {}
        data: dict[str, str] = found.get("data") or {}
        return data

    def _keep(self, name: str, files: Mapping[str, bytes]) -> None:
        """Another replica that was first has the pair that all take."""
        data = {key: base64.b64encode(content).decode() for key, content in files.items()}
        labels = {"cert.kyverno.io/managed-by": "kyverno"}
        meta = {"name": name, "namespace": self._launch.namespace, "labels": labels}
        kind = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls"}
        try:
            self._kube.create({**kind, "metadata": meta, "data": data})
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    # -- policies

    def _reconcile(self) -> None:
        self._policies = {each["metadata"]["name"]: each for each in self._kube.list(API, KIND)}
        service = {"namespace": self._launch.namespace, "name": self._launch.env["KYVERNO_SVC"], "port": 443}
        of_all = self._configured().get("namespaceSelector") or {}
        wanted = [webhook(each, service, self._authority, of_all) for _, each in sorted(self._policies.items())]
        held = self._kube.get(REGISTRATION, "ValidatingWebhookConfiguration", CONFIGURATION)
        meta = {"name": CONFIGURATION, "labels": MANAGED}
        whole = {"apiVersion": REGISTRATION, "kind": "ValidatingWebhookConfiguration", "metadata": meta}
        if held is None:
            self._kube.create({**whole, "webhooks": wanted})
        elif _differ(held.get("webhooks") or [], wanted):
            self._kube.patch(REGISTRATION, "ValidatingWebhookConfiguration", CONFIGURATION, None, {"webhooks": wanted})
        for each in self._policies.values():
            if not ((each.get("status") or {}).get("conditionStatus") or {}).get("ready"):
                self._tell(each)

    def _configured(self) -> Mapping[str, Any]:
        """`webhooks` of its ConfigMap (pkg/config/config.go)."""
        found = self._kube.get("v1", "ConfigMap", self._launch.env["INIT_CONFIG"], self._launch.namespace) or {}
        configured: Mapping[str, Any] = json.loads((found.get("data") or {}).get("webhooks") or "{}")
        return configured

    def _tell(self, policy: Object) -> None:
        status = {"status": {"conditionStatus": {"ready": True, "message": ""}}}
        self._kube.patch(API, KIND, policy["metadata"]["name"], None, status, "status")

    # -- admission

    def _review(self, request: Request) -> Answer:
        """An AdmissionReview's answer; none over a connection that has outlived the process."""
        if not self._authority:
            return Answer("", 503, headers={"Connection": "close"})
        review = json.loads(request.body)["request"]
        name = request.path.rpartition("/")[2]
        policy = self._policies.get(name)
        said = refusal(policy, review["object"], self._is_signed) if policy and review.get("object") else None
        answer: Object = {"uid": review["uid"], "allowed": said is None}
        if said:
            self._launch.log(said)
            answer["status"] = {"status": "Failure", "message": said}
        shown = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}
        return Answer(json.dumps(shown), 200, "application/json")

    def _is_signed(self, image: str, attestor: Mapping[str, Any]) -> bool:
        """A registry on this machine is asked. Others cannot be: what they have is taken as signed, and said."""
        if not is_here(image):
            self._launch.log(f"{image}: taken as signed, its registry is out of the rehearsal's reach")
            return True
        key = (attestor["cosign"].get("key") or {}).get("data")
        return key is not None and is_signed(image, str(key))

    def stop(self) -> None:
        self._authority = ""
        self._launch.world.tasks.cancel(self._task)
        self._launch.world.backends.remove(self._launch.namespace, self._launch.pod_name, [self._port])
        super().stop()


def _differ(held: list[Object], wanted: list[Object]) -> bool:
    """What the API server adds to a webhook and its rules is no difference."""
    return len(held) != len(wanted) or any(
        mine.get(key) != value
        for mine, each in zip(held, wanted, strict=True)
        for key, value in {**each, "rules": [{"scope": "*", **rule} for rule in each["rules"]]}.items()
        if key != "clientConfig"
    )
